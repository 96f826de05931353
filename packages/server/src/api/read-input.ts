// What a handler gets of a request: path, query and body of one operation, converted and checked
// against the contract. Validators are compiled when an operation is first called, which keeps the
// start of the process short.

import type { Operation } from '@mailroom/contract/operations/operation.ts'
import { isBodyOptional, type OperationId, operationOf } from '@mailroom/contract/operations.ts'
import type { TObject, TSchema } from '@mailroom/contract/schema.ts'
import { PAGE_SIZE_MAX } from '@mailroom/contract/shapes/page.ts'
import { MAILBOX, TRIMMED } from '@mailroom/contract/shapes/text.ts'
import { explainViolations, type Part, type Violation } from '#http/explain-violations.ts'
import type { ReadBody } from '#http/read-body.ts'
import { bareAddress } from '#platform/email-address.ts'
import { AppError, notFound } from '#platform/problem.ts'
import { readFiles } from './read-files.ts'

/** A compiled schema: whether the value fits; fills in defaults, and leaves findings in `errors`. */
export type Validator = {
  (value: unknown): unknown
  readonly errors?: readonly Violation[] | null
}

export type CompileSchema = (schema: TObject) => Validator

export type RawInput = {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** undefined when the request had none. */
  readonly body: ReadBody | undefined
}

export type CheckedInput = {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/**
 * Throws `bad_request` with the fields that are wrong, `not_found` for a path that names nothing, or
 * `payload_too_large` for more files than can be sent.
 */
export function readInput(id: OperationId, raw: RawInput, compile: CompileSchema): CheckedInput {
  const operation = operationOf(id)
  for (const value of Object.values(raw.path)) {
    // An empty name names nothing, and a database would refuse U+0000 with an exception.
    if (value === '' || value.includes('\0')) throw notFound()
  }
  return {
    path: raw.path,
    query: operation.query ? readQuery(operation.query, raw.query, compile) : {},
    body: readBody(operation, raw.body, compile),
  }
}

function readBody(
  operation: Operation,
  body: ReadBody | undefined,
  compile: CompileSchema,
): unknown {
  const { body: schema, method } = operation
  if (schema === undefined) return undefined
  if (body === undefined && !isBodyOptional(operation)) {
    throw new AppError('bad_request', 'The request needs a body.', {
      details: [{ path: '', message: 'is required' }],
    })
  }
  if (body?.kind === 'message') {
    if (body.raw.length > 0) return body.raw
    throw new AppError('bad_request', 'The message is empty.', {
      details: [{ path: '', message: 'must not be empty' }],
    })
  }
  const dropsNulls = method === 'POST'
  const value = body === undefined ? {} : prepared(schema, body.value, { dropsNulls })
  check(compile(schema), value, 'body')
  return 'attachments' in schema.properties
    ? withFiles(value as BodyWithAttachments, body?.kind === 'form' ? body.contents : null)
    : value
}

/**
 * The value as it is checked: texts trimmed where the contract says so, mailboxes without their names
 * and, where something is made, optional fields that are null left out. Changes it in place.
 */
function prepared(schema: TSchema, value: unknown, options: { dropsNulls: boolean }): unknown {
  if (typeof value === 'string') {
    if (MAILBOX in schema) return bareAddress(value)
    return TRIMMED in schema ? trimBlanks(value) : value
  }
  const { properties, items, required = [] } = schema as Partial<JsonSchema>
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((entry) => prepared(items, entry, options))
  }
  if (typeof value !== 'object' || value === null || properties === undefined) return value
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue
    const field: unknown = Reflect.get(value, name)
    if (field === null && options.dropsNulls && !required.includes(name)) {
      Reflect.deleteProperty(value, name)
    } else Reflect.set(value, name, prepared(property, field, options))
  }
  return value
}

type JsonSchema = {
  readonly properties: Readonly<Record<string, TSchema>>
  readonly items: TSchema
  readonly required: readonly string[]
}

// White space that is no control character: a line end is refused, not dropped.
const BLANK = /[\p{Zs}\ufeff]/u

function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && BLANK.test(text.charAt(start))) start += 1
  while (end > start && BLANK.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

type BodyWithAttachments = { attachments?: Parameters<typeof readFiles>[0] }

function withFiles(
  { attachments = [], ...fields }: BodyWithAttachments,
  contents: readonly Uint8Array[] | null,
): object {
  return { ...fields, attachments: readFiles(attachments, contents) }
}

function readQuery(
  schema: TObject,
  raw: Readonly<Record<string, unknown>>,
  compile: CompileSchema,
): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = queryValue(schema, raw, name)
    if (value === undefined) continue
    if ([value].flat().some((text) => String(text).includes('\0'))) {
      const violation = { instancePath: `/${name}`, params: {}, keyword: '', message: NUL_MESSAGE }
      throw explainViolations([violation], 'query')
    }
    query[name] = prepared(property, converted(value, property), { dropsNulls: false })
  }
  check(compile(schema), query, 'query')
  if (typeof query.limit === 'number') query.limit = Math.min(query.limit, PAGE_SIZE_MAX)
  // Databases count in 64 bits at most; nothing lies beyond this offset anyway.
  if (typeof query.offset === 'number') {
    query.offset = Math.min(query.offset, Number.MAX_SAFE_INTEGER)
  }
  return query
}

/** Of a parameter in any spelling: newer clients write isRead where older ones write is_read. */
function queryValue(
  schema: TObject,
  raw: Readonly<Record<string, unknown>>,
  name: string,
): unknown {
  const spellings = Object.keys(raw).filter(
    (key) => key === name || (plainName(key) === plainName(name) && !(key in schema.properties)),
  )
  const [first, ...others] = spellings.map((key) => raw[key])
  if (others.every((other) => String(other) === String(first))) return first
  const message = `is given more than once, as ${spellings.join(' and ')}, with different values`
  throw explainViolations([{ instancePath: `/${name}`, params: {}, keyword: '', message }], 'query')
}

function plainName(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

const NUL_MESSAGE = 'must not contain the character U+0000'
const WHOLE_NUMBER = /^-?\d+$/

/** Only the plain forms are converted; anything else stays text and fails the check of its type. */
function converted(value: unknown, property: { type?: unknown }): unknown {
  if (property.type === 'array') return [value].flat()
  if (typeof value !== 'string') return value
  if (property.type === 'integer' && WHOLE_NUMBER.test(value)) return Number(value)
  if (property.type === 'boolean' && (value === 'true' || value === 'false')) {
    return value === 'true'
  }
  return value
}

function check(validate: Validator, value: unknown, part: Part): void {
  if (validate(value) !== true) throw explainViolations(validate.errors ?? [], part)
}
