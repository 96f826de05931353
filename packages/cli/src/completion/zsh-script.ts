// The completion for zsh: the tree of commands as lists of words with what each does.

import type { Node, Word } from './command-tree.ts'

export function zshScript(nodes: readonly Node[]): string {
  const lists = nodes.map(({ path, commands, values, options }) => {
    const words = [...commands, ...values, ...options].map(quoted).join(' ')
    return `    '${path.join(' ')}') words_here=(${words}) ;;`
  })
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join('|')
  const valued = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ text, values }) => {
        const words = values.map((value) => `'${value}'`).join(' ')
        return `    '${[...path, text].join(' ')}') words_here=(${words}); [[ -z $words_here ]] && files=1 ;;`
      }),
  )
  return `#compdef mailroom
# Completion of mailroom for zsh: source <(mailroom completion zsh)
_mailroom() {
  local here='' candidate='' files='' i
  local -a words_here
  for (( i = 2; i < CURRENT; i++ )); do
    candidate="\${here:+$here }\${words[i]}"
    case $candidate in (${paths}) here=$candidate ;; esac
  done
  case "\${here:+$here }\${words[CURRENT-1]}" in
${valued.join('\n')}
    *) case $here in
${lists.map((line) => `  ${line}`).join('\n')}
      esac ;;
  esac
  if (( \${#words_here} )); then _describe 'mailroom' words_here || _files
  else _files; fi
}
if [[ -n \${functions[compdef]} ]]; then compdef _mailroom mailroom; fi
if [[ \${funcstack[1]} == _mailroom ]]; then _mailroom "$@"; fi
`
}

/** `word:sentence`, with the colons of the word kept. */
function quoted({ text, sentence }: Word): string {
  const word = text.replaceAll(':', '\\:')
  return sentence === '' ? `'${word}'` : `'${word}:${sentence}'`
}
