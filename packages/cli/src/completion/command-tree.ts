// The commands as a completion needs them: what may follow the words that stand there, and what each of
// it does.

import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { Argument, Command, Option } from 'commander'

export type Word = { readonly text: string; readonly sentence: string }

export type Node = {
  /** The words before it, without the program's name. */
  readonly path: readonly string[]
  readonly commands: readonly Word[]
  /** What the first argument may be, where that is known. */
  readonly values: readonly Word[]
  readonly options: readonly (Word & {
    readonly takesValue: boolean
    readonly values: readonly string[]
  })[]
}

/** The program itself first, then what is below it. */
export function nodesOf(program: Command): Node[] {
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
    return operationIds.map((id) => ({ text: id, sentence: oneLine(operationOf(id).summary) }))
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

/** The first sentence, without what a shell would read. */
function oneLine(text: string): string {
  const [first = ''] = text.split(/(?<=[.;:])\s|\n/)
  const plain = first.replaceAll(/['"`\\$\r\n]/g, '')
  return plain.length > SENTENCE_LENGTH_MAX ? `${plain.slice(0, SENTENCE_LENGTH_MAX - 1)}…` : plain
}
