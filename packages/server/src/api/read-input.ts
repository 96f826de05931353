// Converts and checks path, query and body. Validators are compiled on first use.

import { Readable } from 'node:stream'
import type { Operation } from '@mailroom/contract/operation.ts'
import { isBodyOptional, type OperationId, operationOf } from '@mailroom/contract/operations.ts'
import { PAGE_SIZE_MAX } from '@mailroom/contract/page.ts'
import type { TObject, TSchema } from '@mailroom/contract/schema.ts'
import { AttachmentToSend, FILES_BYTES_MAX } from '@mailroom/contract/sending.ts'
import { MAILBOX, TRIMMED } from '@mailroom/contract/text.ts'
import { explainViolations, type Part, type Violation } from '#http/explain-violations.ts'
import type { GivenFile } from '#http/handler.ts'
import { filesTooLarge, type ReadBody } from '#http/read-body.ts'
import { writtenAddress, writtenMailbox } from '#platform/email-address.ts'
import { AppError, notFound, wrongQuery } from '#platform/problem.ts'
import { fieldOf, isObject, plainName } from './query-names.ts'

/** Fills in defaults and reports violations in `errors`. */
export type Validator = {
  (value: unknown): unknown
  readonly errors?: readonly Violation[] | null
}

export type CompileSchema = (schema: TObject) => Validator

export type RawInput = {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: ReadBody | undefined
}

export type CheckedInput = {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** Throws `bad_request`, `not_found` for an impossible path, or `payload_too_large`. */
export function readInput(id: OperationId, raw: RawInput, compile: CompileSchema): CheckedInput {
  const operation = operationOf(id)
  for (const value of Object.values(raw.path)) {
    // A database would throw at U+0000.
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
  const { body: shown, checkedBody: schema = shown, method } = operation
  if (operation.upload !== undefined) {
    // Without a body, the file is empty; the handler refuses it after it has found the resource.
    return body?.kind === 'upload' ? body.upload : { payload: Readable.from([]), headers: {} }
  }
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
  const value =
    body === undefined || body.kind === 'upload' ? {} : prepared(schema, body.value, { dropsNulls })
  check(compile(schema), value, 'body')
  if (schema === AttachmentToSend) return readFiles([value as CheckedAttachment], null, '')[0]
  return 'attachments' in schema.properties
    ? withFiles(value as BodyWithAttachments, body?.kind === 'form' ? body.contents : null)
    : value
}

/** In place, trims texts, normalizes mailboxes and, with `dropsNulls`, drops optional nulls. */
function prepared(schema: TSchema, value: unknown, options: { dropsNulls: boolean }): unknown {
  if (typeof value === 'string') {
    if (MAILBOX in schema) return writtenMailboxOf(schema, value)
    if (!(TRIMMED in schema)) return value
    // The pattern of a single line has to see and refuse line ends.
    return 'pattern' in schema ? trimBlanks(value) : value.trim()
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

function writtenMailboxOf(schema: TSchema, value: string): string {
  return Reflect.get(schema, MAILBOX) === 'named' ? writtenMailbox(value) : writtenAddress(value)
}

type JsonSchema = {
  readonly properties: Readonly<Record<string, TSchema>>
  readonly items: TSchema
  readonly required: readonly string[]
}

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
    const value = isObject(property) ? queryFields(raw, name) : queryValue(schema, raw, name)
    if (value === undefined) continue
    const texts = isObject(property) ? Object.entries(Object(value)).flat(2) : [value].flat()
    if (texts.some((text) => String(text).includes('\0'))) throw wrongQuery(name, NUL_MESSAGE)
    const values = isObject(property) ? Object.values(Object(value)) : [value]
    const takesMany = 'type' in property && property.type === 'array'
    if (!takesMany && values.some(Array.isArray)) throw wrongQuery(name, REPEATED_MESSAGE)
    query[name] = prepared(property, converted(value, property), { dropsNulls: false })
  }
  check(compile(schema), query, 'query')
  if (typeof query.limit === 'number') query.limit = Math.min(query.limit, PAGE_SIZE_MAX)
  // Databases count in 64 bits.
  if (typeof query.offset === 'number') {
    query.offset = Math.min(query.offset, Number.MAX_SAFE_INTEGER)
  }
  return query
}

/** Accepts `isRead` and `is_read`. */
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
  const spelled = `as ${spellings.join(' and ')}, with different values`
  throw wrongQuery(name, `${REPEATED_MESSAGE}, ${spelled}`)
}

/** Accepts `name.field` and `name[field]`. */
function queryFields(raw: Readonly<Record<string, unknown>>, name: string): unknown {
  if (name in raw) return raw[name]
  const fields = Object.entries(raw).flatMap(([key, value]) => {
    const field = fieldOf(key, name)
    return field === null ? [] : [[field, value] as const]
  })
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}

const NUL_MESSAGE = 'must not contain the character U+0000'
const REPEATED_MESSAGE = 'is given more than once'
const WHOLE_NUMBER = /^-?\d+$/

/** Any other text is left unchanged, and the schema rejects it. */
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

/** The schema requires the fields that `data` and `messageId` need. */
type CheckedAttachment = {
  readonly filename?: string
  readonly contentType?: string
  data?: string
  readonly uploadId?: string
  readonly messageId?: string
  readonly contentId?: string
}

/**
 * Takes the `contents` of a form, or decodes and frees each `data`. Throws `bad_request`, or
 * `payload_too_large` before decoding. `within` is the path of a file outside a list.
 */
function readFiles(
  attachments: readonly CheckedAttachment[],
  contents: readonly Uint8Array[] | null,
  within?: string,
): GivenFile[] {
  const sizes = contents?.map(({ length }) => length) ?? attachments.map(decodedLength)
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0)
  if (totalBytes > FILES_BYTES_MAX) throw filesTooLarge(totalBytes)
  const violations: Violation[] = []
  const files = attachments.map((attachment, index) => {
    const content = contents?.[index] ?? null
    const file = readFile(attachment, content)
    // Frees the text, because the request lasts until the files are on disk.
    attachment.data = ''
    if (typeof file !== 'string') return file
    const [name, message] = FILE_DEFECTS[file]
    const instancePath = `${within ?? `/attachments/${index}`}/${name}`
    violations.push({ keyword: '', instancePath, params: {}, message })
    return null
  })
  if (violations.length > 0) throw explainViolations(violations, 'body')
  return files.filter((file) => file !== null)
}

const FILE_DEFECTS = {
  base64: ['data', 'must be base64 with padding (RFC 4648, section 4), without line breaks'],
  upload: ['uploadId', 'must be the only source of the file, without data and messageId'],
  message: ['messageId', 'must be the only source of the file, without data'],
} as const

function readFile(
  given: CheckedAttachment,
  formContent: Uint8Array | null,
): GivenFile | keyof typeof FILE_DEFECTS {
  const { uploadId, messageId, data, contentId = null } = given
  const { filename = null, contentType = null } = given
  const reference = { filename, contentType, contentId }
  if (uploadId !== undefined) {
    if (data !== undefined || messageId !== undefined) return 'upload'
    return { ...reference, source: { uploadId } }
  }
  if (messageId !== undefined) {
    return data === undefined ? { ...reference, source: { messageId } } : 'message'
  }
  const content = formContent ?? decodeBase64(data ?? '')
  if (content === null) return 'base64'
  return { filename: filename ?? '', contentType: contentType ?? '', contentId, content }
}

function decodedLength({ data = '' }: Pick<CheckedAttachment, 'data'>): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

const OTHER_ALPHABET = /[-_]/

/**
 * Null unless encoding the result yields `text` again, so that no two texts mean the same octets.
 * Node's decoder skips unknown characters, accepts `-` and `_`, misreads non-ASCII and ignores
 * unused last bits.
 */
function decodeBase64(text: string): Uint8Array | null {
  const { length } = text
  if (length % 4 !== 0 || Buffer.byteLength(text) !== length || OTHER_ALPHABET.test(text)) {
    return null
  }
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== decodedLength({ data: text })) return null
  const lastQuantum = bytes.subarray(Math.max(0, Math.ceil(bytes.length / 3) - 1) * 3)
  return lastQuantum.toString('base64') === text.slice(-4) ? bytes : null
}
