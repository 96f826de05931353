// Bodies and attachments of a message, as octets and text. The only file that knows postal-mime; it
// gives it the body with one clean header section, so that our reading of the header rules.

import PostalMime, { type Attachment } from 'postal-mime'
import { MESSAGE_BYTES_MAX } from '#base/limits.ts'
import { firstField, type HeaderField } from './header-fields.ts'
import type { StructuredValue } from './parameters.ts'
import { parseStructured } from './parameters.ts'
import { decodePlainBody, endLinesWithLineFeed } from './plain-body.ts'
import { transferEncodingOf } from './transfer-encoding.ts'

export type MimePart = {
  /** As the sender wrote it, decoded; not safe. */
  readonly filename: string | null
  /** Lower-case, without parameters. */
  readonly contentType: string
  readonly contentId: string | null
  readonly isInline: boolean
  readonly content: Uint8Array
}

export type MimeBody = {
  readonly text: string
  readonly html: string
  readonly attachments: readonly MimePart[]
}

/** `isPlain`: one text/plain part that is the body, which needs no MIME parser. */
export type BodyKind = { readonly isPlain: boolean; readonly contentType: StructuredValue }

export function bodyKindOf(fields: readonly HeaderField[]): BodyKind {
  const contentType = parseStructured(firstField(fields, 'content-type') ?? 'text/plain')
  const disposition = firstField(fields, 'content-disposition')
  const isAttachment = disposition !== null && /^\s*attachment\b/i.test(disposition)
  // A multipart without a boundary has no parts; its text is all there is to show.
  const hasNoParts =
    contentType.value.startsWith('multipart/') && !contentType.parameters.get('boundary')
  const isPlain = (contentType.value === 'text/plain' || hasNoParts) && !isAttachment
  return { isPlain, contentType }
}

/** The body of one text/plain part; the same as `readMimeBody` gives, at a tenth of the cost. */
export function readPlainBody(
  fields: readonly HeaderField[],
  body: Buffer,
  contentType: StructuredValue,
): MimeBody {
  const encoding = transferEncodingOf(firstField(fields, 'content-transfer-encoding'))
  const text = withoutLastLineEnd(decodePlainBody(body, encoding, contentType))
  return { text, html: '', attachments: [] }
}

/** Enclosed messages are attachments. Rejects when the parser gives up. */
export async function readMimeBody(
  fields: readonly HeaderField[],
  body: Buffer,
): Promise<MimeBody> {
  const email = await PostalMime.parse(Buffer.concat([contentFields(fields), body]), {
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
    // The bounds on structure are ours and were checked before.
    maxHeadersSize: 2 * MESSAGE_BYTES_MAX,
  })
  const html = withoutLastLineEnd(endLinesWithLineFeed(email.html ?? ''))
  const text = withoutLastLineEnd(endLinesWithLineFeed(email.text ?? ''))
  const references = contentIdsIn(html)
  const attachments = email.attachments.map((attachment) => partOf(attachment, references))
  const isEmpty = text === '' && html === '' && attachments.length === 0
  // A boundary that never comes: better the raw text than nothing.
  if (isEmpty && body.length > 0 && isMultipart(fields)) {
    return readPlainBody([], body, parseStructured('text/plain'))
  }
  return { text, html, attachments }
}

function isMultipart(fields: readonly HeaderField[]): boolean {
  return /^\s*multipart\//i.test(firstField(fields, 'content-type') ?? '')
}

const CONTENT_FIELDS = [
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
]

function contentFields(fields: readonly HeaderField[]): Buffer {
  const lines: string[] = []
  for (const name of CONTENT_FIELDS) {
    const value = firstField(fields, name)
    if (value !== null) lines.push(`${name}: ${value}\r\n`)
  }
  return Buffer.from(`${lines.join('')}\r\n`, 'utf8')
}

function partOf(attachment: Attachment, references: ReadonlySet<string>): MimePart {
  const contentId = attachment.contentId?.trim().replace(/^<|>$/g, '') || null
  const isShown =
    attachment.related === true && contentId !== null && references.has(contentId.toLowerCase())
  return {
    filename: attachment.filename,
    contentType: attachment.mimeType.trim().toLowerCase() || 'application/octet-stream',
    contentId,
    isInline: attachment.disposition === 'inline' || isShown,
    content: octetsOf(attachment.content),
  }
}

function octetsOf(content: Attachment['content']): Uint8Array {
  if (typeof content === 'string') return Buffer.from(content, 'utf8')
  return content instanceof Uint8Array ? content : new Uint8Array(content)
}

/** RFC 2392: `cid:` URLs in the HTML, lower-case. */
function contentIdsIn(html: string): Set<string> {
  const found = new Set<string>()
  for (const match of html.matchAll(/\bcid:([^\s"'<>)]{1,250})/gi)) {
    const id = (match[1] ?? '').toLowerCase()
    found.add(id)
    if (id.includes('%')) found.add(percentDecoded(id))
  }
  return found
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The line end before a boundary belongs to the boundary, the one before the end to the protocol. */
function withoutLastLineEnd(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text
}
