// The completion for bash: one function with the tree of commands in it.

import type { Node } from './command-tree.ts'

export function bashScript(nodes: readonly Node[]): string {
  const words = nodes.map(({ path, commands, values, options }) => {
    const texts = [...commands, ...values, ...options].map(({ text }) => text)
    return `    '${path.join(' ')}') words='${texts.join(' ')}' ;;`
  })
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join('|')
  const valued = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ text, values }) =>
          `    '${[...path, text].join(' ')}') words='${values.join(' ')}'; [[ $words ]] || files=1 ;;`,
      ),
  )
  return `# Completion of mailroom for bash: source <(mailroom completion bash)
_mailroom() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous='' path='' candidate words='' files='' i
  (( COMP_CWORD > 0 )) && previous=\${COMP_WORDS[COMP_CWORD-1]}
  for (( i = 1; i < COMP_CWORD; i++ )); do
    candidate=\${path:+$path }\${COMP_WORDS[i]}
    case $candidate in ${paths}) path=$candidate ;; esac
  done
  case "\${path:+$path }$previous" in
${valued.join('\n')}
    *) case $path in
${words.map((line) => `  ${line}`).join('\n')}
      esac
      case $path in api|completion) ;; *) [[ $current == -* || $path == '' ]] || files=1 ;; esac ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
  if [[ $files && \${#COMPREPLY[@]} == 0 ]]; then COMPREPLY=( $(compgen -f -- "$current") ); fi
}
complete -o filenames -F _mailroom mailroom
`
}
