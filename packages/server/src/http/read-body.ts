// Parses JSON, forms and raw messages. Operations without a body accept any content type.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BodyMediaType, Operation } from '@mailroom/contract/operation.ts'
import { isBodyOptional } from '@mailroom/contract/operations.ts'
import type { TObject } from '@mailroom/contract/schema.ts'
import { FILES_BYTES_MAX } from '@mailroom/contract/sending.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { freeMemory } from '#platform/free-memory.ts'
import { AppError, problem } from '#platform/problem.ts'
import { readStrictJson } from '#platform/strict-json.ts'
import { type BodyHold, collectBody, JSON_BODY_BYTES_MAX } from './collect-body.ts'
import { explainViolations } from './explain-violations.ts'

/** Enough for 25 MiB of files in base64, plus texts. */
export const LARGE_BODY_BYTES_MAX = 36 * 1024 * 1024

export function filesTooLarge(totalBytes: number): AppError {
  const text = `The attachments have ${totalBytes} bytes in total; at most ${FILES_BYTES_MAX} are allowed.`
  return problem('payload_too_large', text, { fix: 'Send fewer or smaller attachments.' })
}

export type Upload = { readonly payload: Readable; readonly headers: IncomingHttpHeaders }

export type ReadBody =
  | { readonly kind: 'json'; readonly value: unknown }
  /** `contents` are the files of `value.attachments`, in which `data` is empty. */
  | { readonly kind: 'form'; readonly value: unknown; readonly contents: readonly Uint8Array[] }
  | { readonly kind: 'message'; readonly raw: Uint8Array }
  | { readonly kind: 'upload'; readonly upload: Upload }

declare module 'fastify' {
  interface FastifyRequest {
    bodyHold: BodyHold | null
  }
}

function bodyBytesMax(operation: Operation): number {
  return operation.hasLargeBody ? LARGE_BODY_BYTES_MAX : JSON_BODY_BYTES_MAX
}

/** Malformed bodies are `bad_request`, other content types `unsupported_media_type`. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  for (const mediaType of ['application/json', 'multipart/form-data', 'message/rfc822'] as const) {
    app.addContentTypeParser(mediaType, (request: FastifyRequest, payload: Readable) =>
      readBody(request, payload, mediaType),
    )
  }
  app.addHook('onSend', async (request) => request.bodyHold?.releaseSlot())
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
    const { operation } = request.routeOptions.config
    if (operation?.upload !== undefined) return uploadOf(request, payload)
    if (!operation?.body) return undefined
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    const isEmpty = length === '0' && coding === undefined
    if (isEmpty && isBodyOptional(operation)) return undefined
    throw wrongMediaType(operation)
  })
}

async function readBody(
  request: FastifyRequest,
  payload: Readable,
  mediaType: BodyMediaType,
): Promise<ReadBody | undefined> {
  const { operation } = request.routeOptions.config
  const { headers, bodyHold } = request
  if (operation?.upload !== undefined) return uploadOf(request, payload)
  if (!operation?.body || bodyHold === null) return undefined
  if (!mediaTypesOf(operation).includes(mediaType)) throw wrongMediaType(operation)
  refuseEncoding(request)
  // The client has already received a timeout response. Injected requests have no real socket.
  if (request.raw.socket.writable === false) throw problem('request_timeout')
  const bytesMax = bodyBytesMax(operation)
  const bytes = await collectBody(payload, { headers, bytesMax, hold: bodyHold })
  // Processing takes several times a body's size.
  await bodyHold.takeSlot()
  // Each step with a large body takes some 50 ms, so other requests run in between.
  if (bytes.length > JSON_BODY_BYTES_MAX) await nextTurn()
  if (mediaType === 'application/json') return readJson(bytes, operation)
  if (mediaType === 'message/rfc822') return { kind: 'message', raw: bytes }
  return { kind: 'form', ...(await readForm(bytes, headers['content-type'] ?? '', operation.body)) }
}

function refuseEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType('A compressed body (Content-Encoding) is not supported.')
  }
}

function uploadOf(request: FastifyRequest, payload: Readable): ReadBody {
  refuseEncoding(request)
  return { kind: 'upload', upload: { payload, headers: request.headers } }
}

function readJson(bytes: Buffer, operation: Operation): ReadBody | undefined {
  if (bytes.length === 0 && isBodyOptional(operation)) return undefined
  const read = readStrictJson(bytes, { valuesMax: operation.valuesMax })
  freeMemory(bytes)
  if (read.kind === 'value') return { kind: 'json', value: read.value }
  const isName = read.rule === 'nul' && read.path === 'mailboxName'
  throw new AppError(isName ? 'invalid_mailbox_name' : 'bad_request', read.message, {
    details: [{ path: read.path, message: read.message }],
  })
}

function mediaTypesOf(operation: Operation): readonly BodyMediaType[] {
  return operation.bodyMediaTypes ?? ['application/json']
}

function wrongMediaType(operation: Operation): AppError {
  return unsupportedMediaType(`The Content-Type must be ${mediaTypesOf(operation).join(' or ')}.`)
}

function unsupportedMediaType(message: string): AppError {
  return new AppError('unsupported_media_type', message)
}

/** Enough for 100 files, 50 copied recipients and the fields that occur once. */
export const FORM_PARTS_MAX = 200
export const FORM_PART_HEAD_BYTES_MAX = 16 * 1024

type Form = {
  /** Fields as in JSON, in an object without a prototype; the `data` of an attachment is empty. */
  readonly value: Record<string, unknown>
  /** File contents, which share the memory of `bytes`. */
  readonly contents: readonly Uint8Array[]
}

/**
 * Converts a form with files (RFC 7578) to the fields of a JSON body. Strict, because form
 * libraries skip or cut bad parts, which would be missing in the sent message.
 */
async function readForm(bytes: Buffer, contentType: string, body: TObject): Promise<Form> {
  const parts = partsOf(bytes, boundaryOf(contentType))
  const value: Record<string, unknown> = Object.create(null)
  const attachments: { filename: string; contentType: string; data: string }[] = []
  const contents: Uint8Array[] = []
  for (const { head, content } of parts) {
    const { name, filename } = head
    const type = fieldType(body, name)
    if (type === 'files') {
      // Browsers send an empty file if none was chosen.
      if (!filename && content.length === 0) continue
      if (filename === null) throw wrongField(name, 'must be a file, with a filename')
      attachments.push({ filename, contentType: head.contentType ?? FILE_TYPE, data: '' })
      contents.push(content)
      continue
    }
    if (filename !== null) throw wrongField(name, 'must be text, not a file')
    const text = textOf(content, head)
    // Browsers also send empty fields.
    if (text === '' && !(body.required ?? []).includes(name)) continue
    if (type === 'texts' || (type === 'text or texts' && Object.hasOwn(value, name))) {
      value[name] = [value[name] ?? [], text].flat()
      continue
    }
    if (Object.hasOwn(value, name)) throw wrongField(name, 'must occur only once')
    value[name] =
      type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
  }
  if (attachments.length > 0) value.attachments = attachments
  return { value, contents }
}

const FILE_TYPE = 'application/octet-stream'

type FieldType = 'text' | 'boolean' | 'texts' | 'text or texts' | 'files'

function fieldType(body: TObject, name: string): FieldType {
  if (!Object.hasOwn(body.properties, name)) {
    const params = { additionalProperty: name }
    const violation = { keyword: 'additionalProperties', instancePath: '', params }
    throw explainViolations([violation], 'body')
  }
  const schema: { type?: unknown; items?: { type?: unknown } } = body.properties[name] ?? {}
  if (schema.type === 'boolean') return 'boolean'
  if (Array.isArray(schema.type)) return 'text or texts'
  if (schema.type !== 'array') return 'text'
  return schema.items?.type === 'string' ? 'texts' : 'files'
}

function wrongField(name: string, message: string): AppError {
  return explainViolations([{ keyword: '', instancePath: `/${name}`, params: {}, message }], 'body')
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const TEXT_CHARSETS = new Set([null, 'utf-8', 'utf8', 'us-ascii'])
/** The Encoding Standard (§4.2) decodes this label as windows-1252. */
const latinDecoder = new TextDecoder('iso-8859-1')
const LATIN_CHARSETS = new Set(['iso-8859-1', 'latin1', 'windows-1252'])

function textOf(content: Uint8Array, { name, charset }: PartHead): string {
  const isLatin = charset !== null && LATIN_CHARSETS.has(charset)
  if (!isLatin && !TEXT_CHARSETS.has(charset)) throw wrongField(name, 'must be in UTF-8')
  let text: string
  try {
    text = (isLatin ? latinDecoder : decoder).decode(content)
  } catch {
    throw wrongField(name, 'must be in UTF-8')
  }
  if (text.includes('\0')) throw wrongField(name, 'must not contain the character U+0000')
  // Browsers write every line end of a form as CRLF (HTML, multipart/form-data).
  return text.replaceAll('\r\n', '\n')
}

// Matches a boundary (RFC 2046 §5.1.1).
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

export function boundaryOf(contentType: string): string {
  const found = /;\s*boundary=(?:"([^"\\]*)"|([^\s;"]*))/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2] ?? ''
  if (!BOUNDARY.test(boundary)) throw malformedForm('the Content-Type has no valid boundary')
  return boundary
}

export function malformedForm(why: string): AppError {
  const message = `The form is malformed: ${why}`
  return new AppError('bad_request', `${message}.`, { details: [{ path: '', message }] })
}

type Part = { readonly head: PartHead; readonly content: Buffer }

function partsOf(bytes: Buffer, boundary: string): Part[] {
  const parts = splitParts(bytes, boundary)
  if (typeof parts === 'string') throw malformedForm(parts)
  return parts.map(({ header, content }, index) => {
    const head = typeof header === 'string' ? header : readPartHead(header)
    if (typeof head === 'string') throw malformedForm(`part ${index + 1} ${head}`)
    return { head, content }
  })
}

export function readPartHeader(text: string): PartHead | string {
  const header = readHeader(text)
  return typeof header === 'string' ? header : readPartHead(header)
}

export type PartHead = {
  readonly name: string
  readonly filename: string | null
  readonly contentType: string | null
  readonly charset: string | null
}

/** Returns an error as text that follows "the part". */
function readPartHead(header: ReadonlyMap<string, readonly string[]>): PartHead | string {
  for (const [name, label] of singleFields) {
    if ((header.get(name)?.length ?? 0) > 1) return `has ${label} twice`
  }
  const disposition = header.get('content-disposition')?.[0]
  const type = header.get('content-type')?.[0]
  const encoding = header.get('content-transfer-encoding')?.[0]
  if (disposition === undefined) return 'has no Content-Disposition'
  // Encodings are deprecated (RFC 7578 §4.7); those that change nothing are accepted.
  if (encoding !== undefined && !/^(?:7bit|8bit|binary)$/i.test(encoding)) {
    return `is encoded (${shown(encoding)}); send its bytes unencoded`
  }
  const parameters = /^form-data\s*(;.*)?$/is.exec(disposition)
  if (parameters === null) return 'has a Content-Disposition other than form-data'
  const named = readParameters(parameters[1] ?? '')
  if (typeof named === 'string') return named
  const name = named.get('name')
  if (name === undefined) return 'has no field name in its Content-Disposition'
  const contentType = type === undefined ? null : utf8(type)
  return {
    name,
    filename: named.get('filename*') ?? named.get('filename') ?? null,
    contentType,
    charset: /;\s*charset="?([^\s;"]*)/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? null,
  }
}

const singleFields = [
  ['content-disposition', 'Content-Disposition'],
  ['content-type', 'Content-Type'],
  ['content-transfer-encoding', 'Content-Transfer-Encoding'],
] as const

const SHOWN_LENGTH = 40

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH).replace(/[^\x20-\x7e]/g, '?')
}

const PARAMETER = /\s*;\s*([\w-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y

function readParameters(text: string): Map<string, string> | string {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  let end = 0
  for (let found = PARAMETER.exec(text); found !== null; found = PARAMETER.exec(text)) {
    end = PARAMETER.lastIndex
    const [, key = '', quoted, plain = ''] = found
    const name = key.toLowerCase()
    const value = name.endsWith('*') ? readExtended(plain) : utf8(unescaped(quoted ?? plain))
    if (value === null) return `has a ${shown(name)} that is not in UTF-8`
    if (parameters.has(name)) return `has a ${shown(name)} twice in its Content-Disposition`
    parameters.set(name, value)
  }
  return /^\s*;?\s*$/.test(text.slice(end)) ? parameters : 'has a malformed Content-Disposition'
}

/**
 * Decodes quotation marks, which browsers escape as %22 and curl with a backslash; other
 * backslashes are literal. Drops line ends, which browsers write as %0D and %0A.
 */
function unescaped(quoted: string): string {
  return quoted
    .replace(/\\(["\\])/g, '$1')
    .replaceAll('%22', '"')
    .replace(/%0[da]/gi, '')
}

/** Parses RFC 8187 §3.2. RFC 7578 forbids this form, but some clients use it. */
function readExtended(text: string): string | null {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(text)?.[1]
  if (encoded === undefined) return null
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}

function utf8(octets: string): string | null {
  try {
    return decoder.decode(Buffer.from(octets, 'latin1'))
  } catch {
    return null
  }
}

type RawPart = {
  /** A string is an error. Names are in lower case, and each character of a value is an octet. */
  readonly header: ReadonlyMap<string, readonly string[]> | string
  readonly content: Buffer
}

/**
 * Splits a form (RFC 2046 §5.1.1). Returns an error as text that follows "the form is malformed".
 */
function splitParts(bytes: Buffer, boundary: string): RawPart[] | string {
  const parts: RawPart[] = []
  let delimiter = findDelimiter(bytes, boundary, 0)
  while (delimiter !== null) {
    const { end } = delimiter
    if (end === 'close') return parts
    if (end === 'wrong') return 'a line begins with the boundary but has other text after it'
    if (parts.length === FORM_PARTS_MAX) return `it has more than ${FORM_PARTS_MAX} parts`
    // The line end before a delimiter is part of it, and may also end the previous delimiter.
    delimiter = findDelimiter(bytes, boundary, end - CRLF.length)
    if (delimiter !== null) parts.push(readPart(bytes.subarray(end, Math.max(end, delimiter.at))))
  }
  return 'it ends too early'
}

const CRLF = '\r\n'

/** `at` is the line end before the delimiter, and `end` is the start of the part after it. */
type Delimiter = { readonly at: number; readonly end: number | 'close' | 'wrong' }

function findDelimiter(bytes: Buffer, boundary: string, from: number): Delimiter | null {
  const first = `--${boundary}`
  const isFirst = from === 0 && bytes.toString('latin1', 0, first.length) === first
  const at = isFirst ? 0 : bytes.indexOf(CRLF + first, from, 'latin1')
  if (at === -1) return null
  let end = at + (isFirst ? 0 : CRLF.length) + first.length
  if (bytes.toString('latin1', end, end + 2) === '--') return { at, end: 'close' }
  // A proxy may have added white space.
  while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1
  const rest = bytes.toString('latin1', end, end + CRLF.length)
  if (rest === CRLF) return { at, end: end + CRLF.length }
  return CRLF.startsWith(rest) ? null : { at, end: 'wrong' }
}

function readPart(part: Buffer): RawPart {
  if (part.toString('latin1', 0, CRLF.length) === CRLF) {
    return { header: new Map(), content: part.subarray(CRLF.length) }
  }
  const bounded = part.subarray(0, FORM_PART_HEAD_BYTES_MAX)
  const end = bounded.indexOf(CRLF + CRLF)
  if (end !== -1) {
    const header = readHeader(part.toString('latin1', 0, end))
    return { header, content: part.subarray(end + 2 * CRLF.length) }
  }
  // In a part without content, the line end after the header may belong to the delimiter.
  const isAllHeader = bounded.length === part.length && part.toString('latin1').endsWith(CRLF)
  if (isAllHeader) {
    const header = readHeader(part.toString('latin1', 0, part.length - CRLF.length))
    return { header, content: part.subarray(part.length) }
  }
  const header =
    bounded.length < part.length
      ? `has a header of more than ${FORM_PART_HEAD_BYTES_MAX} bytes`
      : 'has no empty line after its header'
  return { header, content: part }
}

function readHeader(text: string): Map<string, string[]> | string {
  const unfolded = text.replace(/\r\n(?=[ \t])/g, '')
  const header = new Map<string, string[]>()
  for (const line of unfolded.split(CRLF)) {
    if (/[\r\n\0]/.test(line)) return 'has a line break within a line of its header'
    const colon = line.indexOf(':')
    if (colon < 1) return 'has a header line without a name and a colon'
    const name = line.slice(0, colon).trim().toLowerCase()
    header.set(name, [...(header.get(name) ?? []), line.slice(colon + 1).trim()])
  }
  return header
}
