// The fields of an operation as arguments and options, derived from the contract, with the texts of
// the command line.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { MAILBOX } from '@mailroom/contract/text.ts'
import { Failure } from '#base/failure.ts'
import { readDays, readDurationMs, readTime } from '#base/read-input.ts'
import type { Named } from '#base/session.ts'
import { fieldTextOf } from '#texts/texts.ts'
import type { OperationCommand } from './resources.ts'

/**
 * A `time` may be given as a duration from now, and a `past` time as a duration before now. `pairs`
 * are key=value, `headers` are "Name: value", and `files` are paths.
 */
type Form =
  | 'text'
  | 'integer'
  | 'boolean'
  | 'json'
  | 'pairs'
  | 'headers'
  | 'files'
  | 'seconds'
  | 'days'
  | 'time'
  | 'past'

export type Field = {
  readonly name: string
  readonly place: 'path' | 'query' | 'body'
  readonly sentence: string
  readonly isRequired: boolean
  readonly isNullable: boolean
  readonly form: Form
  readonly isList: boolean
  /** The allowed values; null if any text is valid. */
  readonly words: readonly string[] | null
  readonly placeholder: string
  readonly named: Named | null
  /** The long option without its dashes. */
  readonly flag: string
  readonly formerFlag: string | null
  /** The value without the option; null if there is none. */
  readonly byDefault: string | null
}

type FieldSchema = {
  type?: string | string[]
  enum?: unknown[]
  items?: FieldSchema
  description?: string
  format?: string
}

type ObjectSchema = { properties?: Record<string, FieldSchema>; required?: readonly string[] }

/** Options with another name than the field. */
const FLAGS: Readonly<Record<string, string>> = {
  podId: 'pod',
  podIds: 'pod',
  inboxId: 'inbox',
  inboxIds: 'inbox',
  inbox_id: 'inbox',
  catchAllInboxId: 'catch-all',
  threadId: 'thread',
  thread_id: 'thread',
  isRead: 'read',
  is_read: 'read',
  isAutomatic: 'automatic',
  includeQuote: 'quote',
  includeSignature: 'signature',
  subdomainsEnabled: 'subdomains',
  eventTypes: 'events',
  event_types: 'events',
  labels: 'label',
  categories: 'category',
  leaseSeconds: 'lease',
  waitSeconds: 'wait',
  undoSeconds: 'undo',
  retentionDays: 'retention',
  body: 'text',
  bodyHtml: 'html',
  headers: 'header',
  attachments: 'attach',
}

/** Fields whose options had another name, which still works. */
const RENAMED: ReadonlySet<string> = new Set(
  'catchAllInboxId threadId isRead isAutomatic includeQuote subdomainsEnabled labels categories leaseSeconds waitSeconds undoSeconds retentionDays body bodyHtml headers attachments'.split(
    ' ',
  ),
)

const FORMS: Readonly<Record<string, Form>> = {
  leaseSeconds: 'seconds',
  waitSeconds: 'seconds',
  undoSeconds: 'seconds',
  retentionDays: 'days',
  sendAt: 'time',
  expiresAt: 'time',
  snoozedUntil: 'time',
  since: 'past',
  until: 'past',
  metadata: 'pairs',
  headers: 'headers',
  attachments: 'files',
}

const PLACEHOLDERS: Partial<Record<Form, string>> = {
  integer: 'number',
  json: 'json',
  pairs: 'key=value',
  headers: 'header',
  files: 'path',
  seconds: 'time',
  days: 'time',
  time: 'time',
  past: 'time',
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
  const form = FORMS[name] ?? formOf([one.type ?? 'string'].flat())
  const flag = FLAGS[name] ?? kebabOf(name)
  return {
    name,
    place,
    sentence: schema.description ?? '',
    isRequired,
    isNullable: types.includes('null'),
    form,
    isList,
    words,
    placeholder:
      MAILBOX in one ? 'address' : (PLACEHOLDERS[form] ?? flag.split('-').at(-1) ?? flag),
    named: /^(inbox(Ids?|_id)|catchAllInboxId)$/.test(name) ? 'inbox' : null,
    flag,
    formerFlag: RENAMED.has(name) ? kebabOf(name) : null,
    byDefault: null,
  }
}

function formOf(types: readonly string[]): Form {
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

/** The name of an option in commander. */
export function attributeOf(flag: string): string {
  return flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
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
    case 'seconds':
      return text === '0' ? 0 : Math.ceil(readDurationMs(text) / 1_000)
    case 'days':
      return readWholeDays(field, text)
    case 'time':
      return readTime(text, { isPast: false })
    case 'past':
      return readTime(text, { isPast: true })
    case 'pairs':
      return text.startsWith('{') ? readJson(field, text) : readPair(field, text)
    case 'json':
    case 'headers':
    case 'files':
      return readJson(field, text)
    case 'text':
      return text
  }
}

/** A number without a unit is a number of days. */
function readWholeDays(field: Field, text: string): number {
  const days = readDays(/^\d+$/.test(text) ? `${text}d` : text)
  if (Number.isInteger(days)) return days
  throw wrongValue(field, text, 'a number of days, such as 30d')
}

function readJson(field: Field, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw wrongValue(field, text, 'JSON')
  }
}

/** An empty value removes the key where the API allows it. */
function readPair(field: Field, text: string): Record<string, string | null> {
  const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (key === undefined) throw wrongValue(field, text, 'key=value')
  return { [key]: value === '' && field.isNullable ? null : value }
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
  const { arguments: named = {}, isOfInbox = false, defaults = {} } = command
  const fields = ownFieldsOf(command.operation).map((field) => {
    const byDefault = defaults[field.name] ?? null
    return byDefault === null ? field : { ...field, byDefault, isRequired: false }
  })
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

/** The fields of an operation with the texts of the command line. */
export function ownFieldsOf(id: ClientOperationId): Field[] {
  const isChange = operationOf(id).method === 'PATCH'
  return fieldsOf(id).map((field) => {
    const sentence = fieldTextOf(id, field.name) ?? namedTextOf(field) ?? field.sentence
    return { ...field, sentence: [sentence, ...hintsOf(field, isChange)].join(' ') }
  })
}

function namedTextOf({ named, place }: Field): string | null {
  if (place !== 'path' || named === null) return null
  return named === 'inbox'
    ? 'The id or the address of an inbox.'
    : 'The id or the name of a domain.'
}

const HINTS: Partial<Record<Form, string>> = {
  seconds: 'Such as 60s or 5m.',
  days: 'Such as 30d.',
  time: 'A time (2026-11-20T07:19:00Z) or a duration from now (2h).',
  past: 'A time (2026-11-20T07:19:00Z) or a duration before now (2h).',
}

function hintsOf({ form, isNullable, isList, place }: Field, isChange: boolean): string[] {
  const hint = HINTS[form]
  const isCleared = isChange && isNullable && !isList && place === 'body' && form !== 'boolean'
  return [...(hint === undefined ? [] : [hint]), ...(isCleared ? ['"" clears it.'] : [])]
}

/** Values that are a single text in a query, separated by commas, but a list here. */
const JOINED: ReadonlySet<string> = new Set(['event_types', 'labels', 'categories'])

export function isSeveral({ isList, name, form }: Field): boolean {
  return isList || isAppended(form) || JOINED.has(name)
}

/** Whether commas are a part of the option's value. */
export function isAppended(form: Form): boolean {
  return form === 'pairs' || form === 'headers' || form === 'files'
}

/** Reads lines as "Name: value"; JSON is accepted too, as the former option was. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const fields = lines.flatMap((line): [string, string][] => {
    if (line.startsWith('{')) return Object.entries(JSON.parse(line))
    const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(line) ?? []
    if (name !== undefined && value !== undefined) return [[name, value]]
    throw new Failure('usage', `${JSON.stringify(line)} is not "Name: value".`, null)
  })
  if (new Set(fields.map(([name]) => name)).size < fields.length) {
    throw new Failure('usage', 'A header field is given twice.', null)
  }
  return Object.fromEntries(fields)
}
