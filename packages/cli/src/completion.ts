// Completion scripts for bash, zsh and fish, generated from the commands.

import { clientOperationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { Argument, Command, Option } from 'commander'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

export function printCompletion(program: Command, shell: Shell): void {
  process.stdout.write(scripts[shell](nodesOf(program)))
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

type Word = { readonly text: string; readonly sentence: string }

type Node = {
  readonly path: readonly string[]
  readonly commands: readonly Word[]
  /** The possible values of the first argument, if known. */
  readonly values: readonly Word[]
  readonly options: readonly (Word & {
    readonly takesValue: boolean
    readonly values: readonly string[]
  })[]
}

/** The program itself first, then its commands. */
function nodesOf(program: Command): Node[] {
  return walk(program, [])
}

function walk(command: Command, path: readonly string[]): Node[] {
  const visible = command.createHelp().visibleCommands(command)
  const node: Node = {
    path,
    commands: visible.map((sub) => ({ text: sub.name(), sentence: summaryOf(sub) })),
    values: command.registeredArguments.slice(0, 1).flatMap((one) => valuesOf(command, one)),
    options: command.createHelp().visibleOptions(command).flatMap(optionsOf),
  }
  return [
    node,
    ...visible
      .filter((sub) => command.commands.includes(sub))
      .flatMap((sub) => walk(sub, [...path, sub.name()])),
  ]
}

function summaryOf(command: Command): string {
  return oneLine(command.summary() || command.description())
}

function valuesOf(command: Command, argument: Argument): Word[] {
  if (command.name() === 'api') {
    return clientOperationIds.map((id) => ({
      text: id,
      sentence: oneLine(operationOf(id).summary),
    }))
  }
  return (argument.argChoices ?? []).map((text) => ({ text, sentence: '' }))
}

function optionsOf(option: Option): Node['options'] {
  return [option.short, option.long].flatMap((text) =>
    text === undefined
      ? []
      : [
          {
            text,
            sentence: oneLine(option.description),
            takesValue: option.required || option.optional,
            values: option.argChoices ?? [],
          },
        ],
  )
}

const SENTENCE_LENGTH_MAX = 72

/** The first sentence, without characters that a shell would interpret. */
function oneLine(text: string): string {
  const [first = ''] = text.split(/(?<=[.;:])\s|\n/)
  const plain = first.replaceAll(/['"`\\$\r\n]/g, '')
  return plain.length > SENTENCE_LENGTH_MAX ? `${plain.slice(0, SENTENCE_LENGTH_MAX - 1)}…` : plain
}

function bashScript(nodes: readonly Node[]): string {
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

function zshScript(nodes: readonly Node[]): string {
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

/** `word:sentence`, with colons in the word escaped. */
function quoted({ text, sentence }: Word): string {
  const word = text.replaceAll(':', '\\:')
  return sentence === '' ? `'${word}'` : `'${word}:${sentence}'`
}

function fishScript(nodes: readonly Node[]): string {
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
