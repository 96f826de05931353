// Completion scripts for bash, zsh and fish, generated from the commands.

import { clientOperationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { Argument, Command, Option } from 'commander'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

export function printCompletion(program: Command, shell: Shell): void {
  process.stdout.write(scripts[shell](nodesOf(program)))
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const NAME_KINDS = ['inbox', 'pod', 'domain', 'label'] as const
export type NameKind = (typeof NAME_KINDS)[number]

type Word = { readonly text: string; readonly sentence: string }

type Node = {
  readonly path: readonly string[]
  readonly commands: readonly Word[]
  /** The possible values of the first argument, if known. */
  readonly values: readonly Word[]
  /** The kind of resource that the first argument names; null if its names cannot be completed. */
  readonly named: NameKind | null
  readonly options: readonly (Word & {
    readonly takesValue: boolean
    readonly values: readonly string[]
    readonly named: NameKind | null
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
    // The argument of "create" is a new name.
    named: command.name() === 'create' ? null : kindOf(command.registeredArguments[0]?.name()),
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
            named: kindOf(/<(\w+)>/.exec(option.flags)?.[1]),
          },
        ],
  )
}

function kindOf(placeholder: string | undefined): NameKind | null {
  return NAME_KINDS.find((kind) => placeholder === kind || placeholder === `${kind}s`) ?? null
}

const SENTENCE_LENGTH_MAX = 72

/** The first sentence, without characters that a shell would interpret. */
function oneLine(text: string): string {
  const [first = ''] = text.split(/(?<=[.;:])\s|\n/)
  const plain = first.replaceAll(/['"`\\$\r\n]/g, '')
  return plain.length > SENTENCE_LENGTH_MAX ? `${plain.slice(0, SENTENCE_LENGTH_MAX - 1)}…` : plain
}

function bashScript(nodes: readonly Node[]): string {
  const words = nodes.map(({ path, commands, values, options, named }) => {
    const texts = [...commands, ...values, ...options].map(({ text }) => text)
    return `    '${path.join(' ')}') words='${texts.join(' ')}' named=${named ?? ''} ;;`
  })
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join('|')
  const valued = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ text, values, named }) =>
          `    '${[...path, text].join(' ')}') words='${values.join(' ')}' named=${named ?? ''}; [[ $words ]] || files=1 ;;`,
      ),
  )
  return `# Completion of mailroom for bash: source <(mailroom completion bash)
_mailroom() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous='' path='' candidate words='' files='' named='' i
  local -a profile=()
  (( COMP_CWORD > 0 )) && previous=\${COMP_WORDS[COMP_CWORD-1]}
  for (( i = 1; i < COMP_CWORD; i++ )); do
    candidate=\${path:+$path }\${COMP_WORDS[i]}
    case $candidate in ${paths}) path=$candidate ;; esac
    [[ \${COMP_WORDS[i-1]} != --profile ]] || profile=(--profile "\${COMP_WORDS[i]}")
  done
  case "\${path:+$path }$previous" in
${valued.join('\n')}
    *) case $path in
${words.map((line) => `  ${line}`).join('\n')}
      esac
      case $path in api|completion) ;; *) [[ $current == -* || $path == '' ]] || files=1 ;; esac ;;
  esac
  if [[ $named && $current != -* ]]; then
    files='' words+=" $(mailroom complete $named "\${profile[@]}" 2>/dev/null </dev/null)"
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
  if [[ $files && \${#COMPREPLY[@]} == 0 ]]; then COMPREPLY=( $(compgen -f -- "$current") ); fi
}
# Without this, bash would divide an address at its @.
COMP_WORDBREAKS=\${COMP_WORDBREAKS//@}
complete -o filenames -F _mailroom mailroom
`
}

function zshScript(nodes: readonly Node[]): string {
  const lists = nodes.map(({ path, commands, values, options, named }) => {
    const words = [...commands, ...values, ...options].map(quoted).join(' ')
    return `    '${path.join(' ')}') words_here=(${words}) named=${named ?? ''} ;;`
  })
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join('|')
  const valued = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ text, values, named }) => {
        const words = values.map((value) => `'${value}'`).join(' ')
        return `    '${[...path, text].join(' ')}') words_here=(${words}) named=${named ?? ''} ;;`
      }),
  )
  return `#compdef mailroom
# Completion of mailroom for zsh: source <(mailroom completion zsh)
_mailroom() {
  local here='' candidate='' named='' i
  local -a words_here profile
  for (( i = 2; i < CURRENT; i++ )); do
    candidate="\${here:+$here }\${words[i]}"
    case $candidate in (${paths}) here=$candidate ;; esac
    [[ \${words[i-1]} != --profile ]] || profile=(--profile "\${words[i]}")
  done
  case "\${here:+$here }\${words[CURRENT-1]}" in
${valued.join('\n')}
    *) case $here in
${lists.map((line) => `  ${line}`).join('\n')}
      esac ;;
  esac
  if [[ -n $named && \${words[CURRENT]} != -* ]]; then
    words_here+=(\${(f)"$(mailroom complete $named $profile 2>/dev/null </dev/null)"})
  fi
  if (( \${#words_here} )) && _describe 'mailroom' words_here; then return; fi
  [[ -n $named ]] || _files
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
  const lines = nodes.flatMap(({ path, commands, values, options, named }) => {
    const condition = `-n '__mailroom_at "${path.join(' ')}"'`
    const words = [...commands, ...values].map(
      ({ text, sentence }) =>
        `complete -c mailroom ${condition} -f -a '${text}'${described(sentence)}`,
    )
    if (named !== null) {
      words.push(`complete -c mailroom ${condition} -f -a '(__mailroom_names ${named})'`)
    }
    const flags = options.map(({ text, sentence, takesValue, values: choices, named: kind }) => {
      const name = text.startsWith('--') ? `-l ${text.slice(2)}` : `-s ${text.slice(1)}`
      const known = kind === null ? choices.join(' ') : `(__mailroom_names ${kind})`
      const value = known !== '' ? ` -x -a '${known}'` : takesValue ? ' -r' : ''
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
function __mailroom_names
  set -l tokens (commandline -opc)
  set -l profile
  if set -l at (contains -i -- --profile $tokens)
    set profile --profile $tokens[(math $at + 1)]
  end
  mailroom complete $argv[1] $profile 2>/dev/null </dev/null
end
complete -c mailroom -e
${lines.join('\n')}
`
}

function described(sentence: string): string {
  return sentence === '' ? '' : ` -d '${sentence}'`
}
