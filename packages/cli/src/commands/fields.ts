// The fields of an operation as arguments and options, derived from the contract.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { MAILBOX } from '@mailroom/contract/text.ts'
import { Failure } from '#base/failure.ts'
import type { Named } from '#base/session.ts'
import type { OperationCommand } from './resources.ts'

export type Field = {
  readonly name: string
  readonly place: 'path' | 'query' | 'body'
  readonly sentence: string
  readonly isRequired: boolean
  readonly isNullable: boolean
  readonly form: 'text' | 'integer' | 'boolean' | 'json'
  readonly isList: boolean
  /** The allowed values; null if any text is valid. */
  readonly words: readonly string[] | null
  readonly placeholder: string
  readonly named: Named | null
  /** The long option without its dashes. */
  readonly flag: string
}

type FieldSchema = {
  type?: string | string[]
  enum?: unknown[]
  items?: FieldSchema
  description?: string
  format?: string
}

type ObjectSchema = { properties?: Record<string, FieldSchema>; required?: readonly string[] }

/** Options that are shorter than the field's name. */
const FLAGS: Readonly<Record<string, string>> = {
  podId: 'pod',
  podIds: 'pod',
  inboxId: 'inbox',
  inboxIds: 'inbox',
  inbox_id: 'inbox',
  thread_id: 'thread',
  is_read: 'read',
  eventTypes: 'events',
  event_types: 'events',
}

/** The fields of an operation: of the path, then the query, then the body. */
export function fieldsOf(id: ClientOperationId): Field[] {
  const { path, parameters = {}, query, body } = operationOf(id)
  const ofPath = Object.entries(parameters).map(([name, description]) => {
    const schema = { type: 'string', description }
    return { ...fieldOf(name, 'path', schema, true), named: namedByPath(path, name) }
  })
  return [...ofPath, ...propertiesOf(query, 'query'), ...propertiesOf(body, 'body')]
}

function propertiesOf(schema: object | undefined, place: 'query' | 'body'): Field[] {
  const { properties = {}, required = [] }: ObjectSchema = schema ?? {}
  return Object.entries(properties).map(([name, property]) => {
    // A query field with a default is required only in the handler's type.
    const isRequired = required.includes(name) && !('default' in property)
    return fieldOf(name, place, property, isRequired)
  })
}

function fieldOf(
  name: string,
  place: Field['place'],
  schema: FieldSchema,
  isRequired: boolean,
): Field {
  const types = [schema.type ?? 'string'].flat()
  const isList = types.includes('array')
  const one = isList ? (schema.items ?? {}) : schema
  const words = one.enum?.filter((word) => typeof word === 'string') ?? null
  return {
    name,
    place,
    sentence: schema.description ?? '',
    isRequired,
    isNullable: types.includes('null'),
    form: formOf([one.type ?? 'string'].flat()),
    isList,
    words,
    placeholder: placeholderOf(name, one),
    named: /^inbox(Ids?|_id)$/.test(name) ? 'inbox' : null,
    flag: FLAGS[name] ?? kebabOf(name),
  }
}

function placeholderOf(name: string, schema: FieldSchema): string {
  const { type } = schema
  if (MAILBOX in schema) return 'address'
  if (type === 'integer') return 'number'
  return (FLAGS[name] ?? kebabOf(name)).split('-').at(-1) ?? name
}

function formOf(types: readonly string[]): Field['form'] {
  if (types.includes('boolean')) return 'boolean'
  if (types.includes('integer') || types.includes('number')) return 'integer'
  return types.includes('object') ? 'json' : 'text'
}

function namedByPath(path: string, name: string): Named | null {
  if (name !== 'id') return null
  if (path.startsWith('/v1/inboxes/')) return 'inbox'
  return path.startsWith('/v1/domains/') ? 'domain' : null
}

function kebabOf(name: string): string {
  return name.replaceAll('_', '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Converts the text to a value of the field's type; throws if it is invalid. */
export function readValue(field: Field, text: string): unknown {
  if (field.isNullable && text === '') return null
  switch (field.form) {
    case 'integer':
      if (/^-?\d{1,15}$/.test(text)) return Number(text)
      throw wrongValue(field, text, 'a whole number')
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true'
      throw wrongValue(field, text, 'true or false')
    case 'json':
      try {
        return JSON.parse(text)
      } catch {
        throw wrongValue(field, text, 'JSON')
      }
    default:
      return text
  }
}

function wrongValue({ name, sentence }: Field, text: string, wanted: string): Failure {
  const message = `${name} must be ${wanted}, not ${JSON.stringify(text)}.`
  return new Failure('usage', message, sentence || null)
}

type OperationArgument = { readonly field: Field; readonly name: string }

export type OperationFields = {
  readonly arguments: readonly OperationArgument[]
  readonly options: readonly Field[]
  readonly ofInbox: Field | null
}

export function arrange(command: OperationCommand): OperationFields {
  const { arguments: named = {}, isOfInbox = false } = command
  const fields = fieldsOf(command.operation)
  const ofInbox = isOfInbox
    ? fields.find(({ place, named }) => place === 'path' && named === 'inbox')
    : undefined
  const rest = fields.filter((field) => field !== ofInbox)
  const isArgument = (field: Field) => field.place === 'path' || field.name in named
  return {
    arguments: rest
      .filter(isArgument)
      .map((field) => ({ field, name: named[field.name] ?? field.named ?? field.name })),
    options: rest.filter((field) => !isArgument(field)),
    ofInbox: ofInbox ?? null,
  }
}

/** Event types are a single text in a query, but a list on the command line. */
export function isSeveral({ isList, name }: Field): boolean {
  return isList || name === 'event_types'
}
