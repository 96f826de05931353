// Bodies and attachments of a message, as octets and text. The only file that knows postal-mime; it
// gives it the body with one clean header section, so that our reading of the header rules.

import PostalMime, { type Attachment, type Email } from 'postal-mime'
import { MESSAGE_BYTES_MAX } from '#base/limits.ts'
import { firstField, type HeaderField } from './header-fields.ts'
import type { OctetRange } from './mime-bounds.ts'
import type { StructuredValue } from './parameters.ts'
import { parseStructured } from './parameters.ts'
import { decodePlainBody, endLinesWithLineFeed } from './plain-body.ts'
import { decodeBase64, transferEncodingOf } from './transfer-encoding.ts'

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

export type BodyKind = { readonly isPlain: boolean; readonly contentType: StructuredValue }

/** `isPlain`: one text/plain part that is the body, which needs no MIME parser (RFC 2045 §5.2). */
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

/**
 * Enclosed messages are attachments. `largeBodies` are ranges of `body` that hold base64 of
 * attachments: the parser gets a short token for each. Rejects when the parser gives up.
 */
export async function readMimeBody(
  fields: readonly HeaderField[],
  body: Buffer,
  largeBodies: readonly OctetRange[] = [],
): Promise<MimeBody> {
  const email = await parse([contentFields(fields), ...withTokens(body, largeBodies)])
  const large = largeContents(email.attachments, body, largeBodies)
  // Parser and scan saw different parts, or a part holds our token itself: once more, with all of it.
  if (large.size !== largeBodies.length) return readMimeBody(fields, body)
  const html = withoutLastLineEnd(endLinesWithLineFeed(email.html ?? ''))
  const text = withoutLastLineEnd(endLinesWithLineFeed(email.text ?? ''))
  const references = contentIdsIn(html)
  const attachments = email.attachments.map((attachment) => ({
    ...partOf(attachment, references),
    content: large.get(attachment) ?? octetsOf(attachment.content),
  }))
  const isEmpty = text === '' && html === '' && attachments.length === 0
  // A boundary that never comes: better the raw text than nothing.
  if (isEmpty && body.length > 0 && isMultipart(fields)) {
    return readPlainBody([], body, parseStructured('text/plain'))
  }
  return { text, html, attachments }
}

function parse(chunks: readonly Uint8Array[]): Promise<Email> {
  return PostalMime.parse(Buffer.concat(chunks), {
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
    // The bounds on structure are ours and were checked before.
    maxHeadersSize: 2 * MESSAGE_BYTES_MAX,
  })
}

const TOKEN = 'large body of this message '

function withTokens(body: Buffer, ranges: readonly OctetRange[]): Buffer[] {
  const chunks: Buffer[] = []
  let position = 0
  for (const [index, { start, end }] of ranges.entries()) {
    const token = Buffer.from(`${TOKEN}${index}`).toString('base64')
    chunks.push(body.subarray(position, start), Buffer.from(`${token}\r\n`))
    position = end
  }
  chunks.push(body.subarray(position))
  return chunks
}

/** Contents of the attachments that came out as a token. */
function largeContents(
  attachments: readonly Attachment[],
  body: Buffer,
  ranges: readonly OctetRange[],
): Map<Attachment, Buffer> {
  const contents = new Map<Attachment, Buffer>()
  if (ranges.length === 0) return contents
  for (const attachment of attachments) {
    const octets = octetsOf(attachment.content)
    if (octets.length > TOKEN.length + 10) continue
    const text = Buffer.from(octets).toString('latin1')
    const range = text.startsWith(TOKEN) ? ranges[Number(text.slice(TOKEN.length))] : undefined
    if (range === undefined) continue
    contents.set(attachment, decodeBase64(body.subarray(range.start, range.end)))
  }
  return contents
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

function partOf(
  attachment: Attachment,
  references: ReadonlySet<string>,
): Omit<MimePart, 'content'> {
  const contentId = attachment.contentId?.trim().replace(/^<|>$/g, '') || null
  const isShown =
    attachment.related === true && contentId !== null && references.has(contentId.toLowerCase())
  return {
    filename: attachment.filename,
    contentType: attachment.mimeType.trim().toLowerCase() || 'application/octet-stream',
    contentId,
    isInline: attachment.disposition === 'inline' || isShown,
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
  let end = text.endsWith('\n') ? text.length - 1 : text.length
  while (end > 0 && text.charCodeAt(end - 1) === 0x0d) end -= 1
  return text.slice(0, end)
}
