// The completion for fish: a condition on the words before for each word.

import type { Node } from './command-tree.ts'

export function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, values, options }) => {
    const condition = `-n '__mailroom_at "${path.join(' ')}"'`
    const words = [...commands, ...values].map(
      ({ text, sentence }) =>
        `complete -c mailroom ${condition} -f -a '${text}'${described(sentence)}`,
    )
    const flags = options.map(({ text, sentence, takesValue, values: choices }) => {
      const name = text.startsWith('--') ? `-l ${text.slice(2)}` : `-s ${text.slice(1)}`
      const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : ''
      return `complete -c mailroom ${condition} ${name}${value}${described(sentence)}`
    })
    return [...words, ...flags]
  })
  const paths = nodes.map(({ path }) => `'${path.join(' ')}'`).filter((path) => path !== "''")
  return `# Completion of mailroom for fish: mailroom completion fish | source
function __mailroom_at
  set -l here ''
  set -l tokens (commandline -opc)
  for token in $tokens[2..-1]
    set -l candidate (string trim -- "$here $token")
    if contains -- $candidate ${paths.join(' ')}
      set here $candidate
    end
  end
  test "$here" = "$argv[1]"
end
complete -c mailroom -e
${lines.join('\n')}
`
}

function described(sentence: string): string {
  return sentence === '' ? '' : ` -d '${sentence}'`
}
