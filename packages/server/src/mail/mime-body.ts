// Bodies and attachments of a message, as octets and text. The only file that knows postal-mime,
// which gets the message without its contents and says what they are; the contents are decoded here.

import type { Attachment, Email } from 'postal-mime'
import { HTML_LENGTH_MAX, MESSAGE_BYTES_MAX, MIME_PARTS_MAX, TEXT_BYTES_MAX } from '#base/limits.ts'
import { textFromHtml } from './html-text.ts'
import type { MimeOutline, OutlinePart } from './mime-outline.ts'
import { buildSkeleton, type FileFields, fileMark, replaceTextMarks } from './mime-skeleton.ts'
import { parseStructured } from './parameters.ts'
import { decodeTextBody } from './text-body.ts'
import { decodedSize, decodeTransfer } from './transfer-encoding.ts'

export type MimePart = {
  /** As the sender wrote it, decoded; not safe. */
  readonly filename: string | null
  /** Lower-case, without parameters. */
  readonly contentType: string
  readonly contentId: string | null
  readonly isInline: boolean
  /** Decodes anew each time it is called, so that a message's files need not be held at once. */
  readonly readContent: () => Uint8Array
  /** Its length, for which a large file is not decoded. */
  readonly readSize: () => number
}

export type MimeBody = {
  readonly text: string
  readonly html: string
  readonly attachments: readonly MimePart[]
  /** Whether a text is an attachment for its size alone, which no outline tells. */
  readonly hasLargeText?: boolean
}

/** The body of a message that is one text. */
export function readTextBody(raw: Buffer, part: OutlinePart): MimeBody {
  const { start, end } = part.content
  const decoded = decodeTextBody(raw.subarray(start, end), part.encoding, part.contentType)
  const body = withoutLastLineEnd(decoded)
  return isHtml(part)
    ? { text: '', html: body, attachments: [] }
    : { text: body, html: '', attachments: [] }
}

/**
 * `outline` is that of `raw`. Enclosed messages are attachments. Contents of attachments are the
 * octets that were sent, line ends and charset untouched. Rejects when the parser gives up.
 */
export async function readMimeBody(raw: Buffer, outline: MimeOutline): Promise<MimeBody> {
  const [root] = outline
  if (root === undefined || root.kind === 'close') return { text: '', html: '', attachments: [] }
  if (root.kind === 'text') return readTextBody(raw, root)
  // A boundary that never comes: better the raw text than nothing.
  const hasPart = outline.some((entry) => entry !== root && entry.kind !== 'close')
  if (root.kind === 'multipart' && !hasPart) return readUnparted(raw, root)
  const files = outline.flatMap((entry) => (entry.kind === 'file' ? [entry] : []))
  const email = await parseOutline(outline, files.length)
  const texts = outline.flatMap((entry) =>
    entry.kind === 'text' ? [{ isHtml: isHtml(entry), body: textOf(raw, entry) }] : [],
  )
  const html = fillHtml(email.html ?? '', texts)
  const text = fillText(email.text ?? '', texts)
  const references = contentIdsIn(html)
  const attachments = files.flatMap((file, index) => {
    const attachment = email.attachments[index]
    if (attachment === undefined) return []
    const { start, end } = file.content
    const octets = raw.subarray(start, end)
    const readContent = () => decodeTransfer(octets, file.encoding)
    const readSize = () => decodedSize(octets, file.encoding)
    return [{ ...partOf(attachment, references), readContent, readSize }]
  })
  return { text: withoutLastLineEnd(text), html: withoutLastLineEnd(html), attachments }
}

type Text = { readonly isHtml: boolean; readonly body: string }

/** Plain text that stands beside HTML is shown with it, as far as HTML_LENGTH_MAX goes. */
function fillHtml(marked: string, texts: readonly Text[]): string {
  let room = HTML_LENGTH_MAX
  return replaceTextMarks(marked, (index) => {
    const { isHtml, body } = texts[index] ?? NO_TEXT
    if (isHtml) return body
    const shown = body.slice(0, room)
    room -= shown.length
    return htmlFromText(shown)
  })
}

/** And HTML that stands beside plain text with that. */
function fillText(marked: string, texts: readonly Text[]): string {
  let room = HTML_LENGTH_MAX
  return replaceTextMarks(marked, (index) => {
    const { isHtml, body } = texts[index] ?? NO_TEXT
    if (!isHtml) return body
    const shown = body.slice(0, room)
    room -= shown.length
    return textFromHtml(shown)
  })
}

const NO_TEXT: Text = { isHtml: false, body: '' }

/** With the line end that is the delimiter's, so that texts begin on lines of their own when joined. */
function textOf(raw: Buffer, part: OutlinePart): string {
  const { start, end } = part.content
  const octets = raw.subarray(start, endOfLineAt(raw, end))
  return decodeTextBody(octets, part.encoding, part.contentType)
}

function endOfLineAt(raw: Buffer, position: number): number {
  const lineFeed = raw[position] === 0x0d ? position + 1 : position
  return raw[lineFeed] === 0x0a ? lineFeed + 1 : position
}

function isHtml(part: OutlinePart): boolean {
  return part.contentType.value === 'text/html'
}

/** The parser put the block around it. */
function htmlFromText(text: string): string {
  return text
    .trim()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\n', '<br>\n')
}

function readUnparted(raw: Buffer, { content: { start } }: OutlinePart): MimeBody {
  const octets = raw.subarray(start)
  if (octets.length <= TEXT_BYTES_MAX) {
    const text = decodeTextBody(octets, 'identity', parseStructured('text/plain'))
    return { text: withoutLastLineEnd(text), html: '', attachments: [] }
  }
  const file: MimePart = {
    filename: null,
    contentType: 'application/octet-stream',
    contentId: null,
    isInline: false,
    readContent: () => octets,
    readSize: () => octets.length,
  }
  return { text: '', html: '', attachments: [file], hasLargeText: true }
}

/** The parser must list the files of the outline; where it reads a field otherwise, ours counts. */
async function parseOutline(outline: MimeOutline, files: number): Promise<Email> {
  for (const fileFields of ['as-sent', 'as-read'] satisfies FileFields[]) {
    const email = await parse(buildSkeleton(outline, fileFields))
    const { attachments } = email
    const isMarked = attachments.every(({ description }, index) => description === fileMark(index))
    if (isMarked && attachments.length === files) return email
  }
  throw new Error('the parser lists other files than the scan')
}

async function parse(skeleton: string): Promise<Email> {
  // Loaded where it is used: the main thread, which reads plain mail only, never needs it.
  const { default: PostalMime } = await import('postal-mime')
  return PostalMime.parse(skeleton, {
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
    // The bounds on structure are ours and were checked before.
    maxHeadersSize: 2 * MESSAGE_BYTES_MAX,
  })
}

function partOf(
  attachment: Attachment,
  references: ReadonlySet<string>,
): Omit<MimePart, 'readContent' | 'readSize'> {
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

/** RFC 2392: `cid:` URLs in the HTML, lower-case; no more than there can be parts. */
function contentIdsIn(html: string): Set<string> {
  const found = new Set<string>()
  for (const match of html.matchAll(/\bcid:([^\s"'<>)]{1,250})/gi)) {
    if (found.size >= MIME_PARTS_MAX) break
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
