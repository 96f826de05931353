// A command that is one operation of the API: its arguments, options and help are made of the contract,
// its results are shown as a table, a list of fields or a sentence.

import type { OperationId } from '@mailroom/contract/operations.ts'
import { type Field, fieldsOf } from './fields.ts'

export type Shown =
  /** Rows of the fields of each entry; on a terminal `optional` ones only where there is room. */
  | {
      readonly kind: 'list'
      readonly columns: readonly string[]
      readonly optional?: readonly string[]
    }
  /** All fields of the answer. */
  | { readonly kind: 'item' }
  /** A sentence, for answers without content; `{}` stands for the last argument. */
  | { readonly kind: 'done'; readonly text: string }
  /** The answer as it came. */
  | { readonly kind: 'content' }
  | { readonly kind: 'domain' }
  | { readonly kind: 'thread' }
  | { readonly kind: 'search' }
  | { readonly kind: 'threads' }

export type OperationCommand = {
  /** Of the command below its group. */
  readonly name: string
  readonly operation: OperationId
  readonly shown: Shown
  /** Names of arguments by field, in the order of the fields; path parameters are arguments anyway. */
  readonly arguments?: Readonly<Record<string, string>>
  /** The inbox of the path is an option, and the only one of the account when left out. */
  readonly isOfInbox?: true
  /** Fields that have no option. */
  readonly without?: readonly string[]
  readonly alias?: string
  /** It cannot be taken back: a person is asked first, and a program has to say --yes. */
  readonly isAsked?: true
  /** Carried out when none of its group is named. */
  readonly isDefault?: true
}

export type OperationArgument = { readonly field: Field; readonly name: string }

export type OperationFields = {
  readonly arguments: readonly OperationArgument[]
  readonly options: readonly Field[]
  readonly ofInbox: Field | null
}

export function arrange(command: OperationCommand): OperationFields {
  const { arguments: named = {}, isOfInbox = false, without = [] } = command
  const fields = fieldsOf(command.operation).filter(({ name }) => !without.includes(name))
  const ofInbox = isOfInbox
    ? fields.find(({ place, named }) => place === 'path' && named === 'inbox')
    : undefined
  const rest = fields.filter((field) => field !== ofInbox)
  const isArgument = (field: Field) => field.place === 'path' || field.name in named
  return {
    arguments: rest
      .filter(isArgument)
      .map((field) => ({ field, name: named[field.name] ?? nameOf(field) })),
    options: rest.filter((field) => !isArgument(field)),
    ofInbox: ofInbox ?? null,
  }
}

function nameOf({ name, named }: Field): string {
  return named ?? name
}

/** Kinds of events go in a query as one text, and are a list to people. */
export function isSeveral({ isList, name }: Field): boolean {
  return isList || name === 'event_types'
}
