// Forms with files (RFC 7578) to the same fields that a body of JSON has. What is not exactly a form is
// refused: a field that would be skipped or cut in silence would be missing in a message that is sent.

import type { TObject } from '@mailroom/contract/schema.ts'
import { AppError } from '#platform/app-error.ts'
import { explainViolations } from './explain-violations.ts'
import { type PartHead, readPartHead } from './read-part-head.ts'
import { splitParts } from './split-parts.ts'

export type Form = {
  /** Fields as in JSON, without a prototype; the `data` of an attachment is empty. */
  readonly value: Record<string, unknown>
  /** Of the attachments, in order; they share the memory of `bytes`. */
  readonly contents: readonly Uint8Array[]
}

/** Rejects with `bad_request`. `body` says which fields there are and of what type. */
export async function readForm(bytes: Buffer, contentType: string, body: TObject): Promise<Form> {
  const parts = partsOf(bytes, boundaryOf(contentType))
  const value: Record<string, unknown> = Object.create(null)
  const attachments: { filename: string; contentType: string; data: string }[] = []
  const contents: Uint8Array[] = []
  for (const { head, content } of parts) {
    const { name, filename } = head
    const type = fieldType(body, name)
    if (type === 'files') {
      // A browser sends this where no file was chosen.
      if (!filename && content.length === 0) continue
      if (filename === null) throw wrongField(name, 'must be a file, with a filename')
      attachments.push({ filename, contentType: head.contentType ?? FILE_TYPE, data: '' })
      contents.push(content)
      continue
    }
    if (filename !== null) throw wrongField(name, 'must be text, not a file')
    const text = textOf(content, head)
    // In a form whose fields are all there, an empty one is one that was not filled in.
    if (text === '' && !(body.required ?? []).includes(name)) continue
    if (type === 'texts') {
      const earlier = value[name]
      value[name] = Array.isArray(earlier) ? [...earlier, text] : [text]
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

type FieldType = 'text' | 'boolean' | 'texts' | 'files'

function fieldType(body: TObject, name: string): FieldType {
  if (!Object.hasOwn(body.properties, name)) {
    const params = { additionalProperty: name }
    const violation = { keyword: 'additionalProperties', instancePath: '', params }
    throw explainViolations([violation], 'body')
  }
  const schema: { type?: unknown; items?: { type?: unknown } } = body.properties[name] ?? {}
  if (schema.type === 'boolean') return 'boolean'
  if (schema.type !== 'array') return 'text'
  return schema.items?.type === 'string' ? 'texts' : 'files'
}

function wrongField(name: string, message: string): AppError {
  return explainViolations([{ keyword: '', instancePath: `/${name}`, params: {}, message }], 'body')
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const TEXT_CHARSETS = new Set([null, 'utf-8', 'utf8', 'us-ascii'])
/** What the web means by this name is windows-1252 (Encoding Standard §4.2). */
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
  // Forms have CRLF whatever was put into them (HTML, multipart/form-data); JSON says what it means.
  return text.replaceAll('\r\n', '\n')
}

// RFC 2046 §5.1.1.
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

function boundaryOf(contentType: string): string {
  const found = /;\s*boundary=(?:"([^"\\]*)"|([^\s;"]*))/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2] ?? ''
  if (!BOUNDARY.test(boundary)) throw malformed('the Content-Type has no valid boundary')
  return boundary
}

function malformed(why: string): AppError {
  const message = `The form is malformed: ${why}`
  return new AppError('bad_request', `${message}.`, { details: [{ path: '', message }] })
}

type Part = { readonly head: PartHead; readonly content: Buffer }

function partsOf(bytes: Buffer, boundary: string): Part[] {
  const parts = splitParts(bytes, boundary)
  if (typeof parts === 'string') throw malformed(parts)
  return parts.map(({ header, content }, index) => {
    const head = typeof header === 'string' ? header : readPartHead(header)
    if (typeof head === 'string') throw malformed(`part ${index + 1} ${head}`)
    return { head, content }
  })
}
