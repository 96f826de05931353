import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { OperationId } from '@mailroom/contract/operations.ts'
import type { ReadBody } from '#http/read-body.ts'
import { bareAddress } from '#platform/email-address.ts'
import { AppError, problem } from '#platform/problem.ts'

const IDEMPOTENCY_KEY_LENGTH_MAX = 255

const NAME = 'Idempotency-Key'
const PRINTABLE = /^[\x20-\x7e]*$/

/** Throws `missing_idempotency_key`, or `bad_request` for an invalid key. */
export function readIdempotencyKey(request: IncomingMessage): string {
  const [key = '', ...others] = valuesOf(request)
  if (others.length > 0) throw badKey(HEADER, 'must occur only once')
  return checkKey(key, HEADER)
}

export function checkItemKey(key: unknown): string {
  if (key === undefined || key === null || key === '') {
    throw problem('missing_idempotency_key', `An item needs the field "${FIELD.path}".`, {
      fix: `Give the item a key of its own: ${FIELD.path}.`,
    })
  }
  if (typeof key !== 'string') throw badKey(FIELD, 'must be a string')
  return checkKey(key, FIELD)
}

const HEADER = { path: NAME, label: `The header ${NAME}` }
const FIELD = { path: 'idempotencyKey', label: 'The field "idempotencyKey"' }

function checkKey(key: string, source: typeof HEADER): string {
  if (key === '') throw problem('missing_idempotency_key')
  if (key.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    throw badKey(source, `must have at most ${IDEMPOTENCY_KEY_LENGTH_MAX} characters`)
  }
  if (!PRINTABLE.test(key)) throw badKey(source, 'must contain only printable ASCII characters')
  return key
}

/** In an injected request, only the raw headers keep repeated fields apart. */
function valuesOf({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === NAME.toLowerCase(),
  )
}

function badKey({ path, label }: typeof HEADER, message: string): AppError {
  return new AppError('bad_request', `${label} ${message}.`, { details: [{ path, message }] })
}

export type HashedRequest = {
  readonly operationId: OperationId
  readonly path: Readonly<Record<string, string>>
  readonly body: Exclude<ReadBody, { kind: 'upload' }>
}

/** Ignores the order of fields, the format (form or JSON) and explicit defaults. */
export function hashRequest({ operationId, path, body }: HashedRequest): Uint8Array {
  const hash = createHash('sha256')
  writeValue(hash, operationId)
  writeValue(hash, path)
  if (body.kind === 'message') writeText(hash, 'm', asBase64(body.raw))
  else writeValue(hash, withoutDefaults(body.kind === 'form' ? withContents(body) : body.value))
  return hash.digest()
}

/** Values that mean the same as a missing field of a send, besides null. */
const defaults: Readonly<Record<string, (value: unknown) => boolean>> = {
  includeQuote: (value) => value === true,
  includeAttachments: (value) => value === true,
  replyAll: (value) => value === false,
  cc: isEmptyArray,
  bcc: isEmptyArray,
  attachments: isEmptyArray,
  bodyHtml: (value) => value === '',
  unsubscribe: (value) => value === false,
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function withoutDefaults(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const fields = Object.entries(value).filter(
    ([name, field]) =>
      field !== null && !(Object.hasOwn(defaults, name) && defaults[name]?.(field)),
  )
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNames(name, field)]))
}

const MAILBOX_FIELDS = new Set(['to', 'cc', 'bcc', 'replyTo'])

/** A request that only names its recipients in another way is the same request. */
function withoutNames(field: string, value: unknown): unknown {
  if (!MAILBOX_FIELDS.has(field)) return value
  if (Array.isArray(value)) return value.map((entry) => withoutNames(field, entry))
  return typeof value === 'string' ? bareAddress(value) : value
}

function withContents({ value, contents }: Extract<ReadBody, { kind: 'form' }>): unknown {
  if (contents.length === 0) return value
  const { attachments, ...fields } = value as { attachments: { data: unknown }[] }
  const whole = attachments.map((attachment, index) => ({ ...attachment, data: contents[index] }))
  return { ...fields, attachments: whole }
}

/** Each value begins with its type and length, so that different values hash different texts. */
function writeValue(hash: Hash, value: unknown): void {
  if (typeof value === 'string') {
    writeText(hash, 's', value)
  } else if (value instanceof Uint8Array) {
    writeText(hash, 's', asBase64(value))
  } else if (Array.isArray(value)) {
    hash.update(`a${value.length}:`)
    for (const item of value) writeValue(hash, item)
  } else if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    hash.update(`o${fields.length}:`)
    for (const [name, field] of fields) {
      writeText(hash, 'k', name)
      writeValue(hash, field)
    }
  } else {
    writeText(hash, 'p', String(value))
  }
}

function asBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

function writeText(hash: Hash, type: string, text: string): void {
  hash.update(`${type}${Buffer.byteLength(text)}:`)
  hash.update(text)
}
