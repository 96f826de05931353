// A raw message to the value that is stored. Whatever the bytes are there is a result: what cannot
// be parsed within bounds is kept as one opaque attachment and named among the defects.

import { INLINE_PARSE_BYTES_MAX, MIME_LINES_MAX } from '#base/limits.ts'
import { safeFileNames } from './file-name.ts'
import { duplicateDefects, type HeaderSection, readHeaderSection } from './header-fields.ts'
import { textFromHtml } from './html-text.ts'
import { readHeaders } from './message-headers.ts'
import { type MimeBody, type MimePart, readMimeBody, readTextBody } from './mime-body.ts'
import { scanMime } from './mime-bounds.ts'
import { kindOf, type OutlinePart, readPartHead } from './mime-outline.ts'
import type { Defect, ParsedAttachment, ParsedHeaders, ParsedMessage } from './parsed-message.ts'
import { extractReply } from './reply-text.ts'
import { cleanLine, cleanText } from './safe-text.ts'
import { hasTooManyLines } from './text-body.ts'

export type AttachmentContent = {
  readonly attachment: ParsedAttachment
  readonly content: Uint8Array
}

/** Never rejects. Takes up to seconds for large or hostile input: see `isPlainAndSmall`. */
export async function parseMessage(raw: Uint8Array): Promise<ParsedMessage> {
  return messageOf(await dissect(raw))
}

/**
 * One attachment by its listed name or its place in the list, the same list that `parseMessage`
 * gives of the same bytes; null when there is none. Never rejects.
 */
export async function readAttachment(
  raw: Uint8Array,
  selector: number | string,
): Promise<AttachmentContent | null> {
  const { parts } = await dissect(raw)
  const names = safeFileNames(parts)
  const index = typeof selector === 'number' ? selector : names.indexOf(selector)
  const part = parts[index]
  if (part === undefined) return null
  const content = part.readContent()
  return { attachment: attachmentOf(part, names[index] ?? '', content.byteLength), content }
}

/**
 * What is left to say of a message that a parser could not finish: its header fields, and the whole
 * of it as one opaque attachment. Takes time bounded by HEADER_BYTES_MAX; never throws.
 */
export function parseDefeated(raw: Uint8Array, defect: Defect): ParsedMessage {
  return messageOf(defeat(raw, defect))
}

/** The attachment of a message that was stored as `parseDefeated` describes it. */
export function readDefeatedAttachment(
  raw: Uint8Array,
  selector: number | string,
): AttachmentContent | null {
  const [attachment] = attachmentsOf([opaquePart(raw)])
  if (attachment === undefined || (selector !== 0 && selector !== attachment.filename)) return null
  return { attachment, content: raw }
}

/**
 * Whether the message may be parsed where it stands, on the main thread: at most
 * INLINE_PARSE_BYTES_MAX octets, one text/plain part.
 */
export function isPlainAndSmall(raw: Uint8Array): boolean {
  return (
    raw.length <= INLINE_PARSE_BYTES_MAX && plainPartOf(readHeaderSection(raw), raw.length) !== null
  )
}

/**
 * As `parseMessage`, at once, where `isPlainAndSmall` holds, else null; reads the header once for
 * both. Some ten microseconds for 2 KiB.
 */
export function parseIfPlainAndSmall(raw: Uint8Array): ParsedMessage | null {
  if (raw.length > INLINE_PARSE_BYTES_MAX) return null
  const plain = dissectPlain(raw)
  return plain === null ? null : messageOf(plain)
}

type Dissected = {
  readonly headers: ParsedHeaders
  readonly text: string
  readonly html: string
  readonly parts: readonly MimePart[]
  readonly defects: readonly Defect[]
}

async function dissect(raw: Uint8Array): Promise<Dissected> {
  try {
    const plain = dissectPlain(raw)
    if (plain !== null) return plain
    const { breach, outline, hasLargeText } = scanMime(raw)
    const whole = breach === null ? raw : raw.subarray(0, breach.cutAt)
    const section = readHeaderSection(whole)
    // The message's own header is cut: what was read of it may still be text.
    const lone = outline.length === 0 ? plainPartOf(section, whole.length) : null
    const octets = bufferOf(whole)
    const body = lone === null ? await readMimeBody(octets, outline) : readTextBody(octets, lone)
    const opaque = breach === null ? [] : [opaquePart(raw.subarray(breach.cutAt))]
    const parts = [...body.attachments, ...opaque]
    const defects: Defect[] = breach === null ? [] : [breach.defect]
    if (hasLargeText || body.hasLargeText === true) defects.push('text-too-large')
    return assemble(section, body, parts, defects)
  } catch {
    return defeat(raw, 'parse-failed')
  }
}

/** Null unless the message is one text/plain part that cannot break a bound: it has too few octets. */
function dissectPlain(raw: Uint8Array): Dissected | null {
  if (raw.length > MIME_LINES_MAX) return null
  const section = readHeaderSection(raw)
  const part = plainPartOf(section, raw.length)
  if (part === null) return null
  const body = readTextBody(bufferOf(raw), part)
  return assemble(section, body, body.attachments, [])
}

/** The message as one text/plain part, which needs no MIME parser; null when it is not that. */
function plainPartOf(section: HeaderSection, end: number): OutlinePart | null {
  if (section.defect !== null) return null
  const head = readPartHead(section.fields)
  const kind = kindOf(head)
  if (kind !== 'text' || head.contentType.value === 'text/html') return null
  const content = { start: section.bodyStart, end }
  return { ...head, kind, parent: null, multipart: null, content }
}

function assemble(
  section: HeaderSection,
  body: Pick<MimeBody, 'text' | 'html'>,
  parts: readonly MimePart[],
  structural: readonly Defect[],
): Dissected {
  const headers = readHeaders(section.fields)
  const html = cleanText(body.html)
  const text = cleanText(body.text === '' && html !== '' ? textFromHtml(html) : body.text)
  const defects = [...structural, ...duplicateDefects(section.fields)]
  if (headers.from === null) defects.push('missing-from')
  return { headers, text, html, parts, defects }
}

function defeat(raw: Uint8Array, defect: Defect): Dissected {
  const section = readHeaderSection(raw)
  return assemble(section, { text: '', html: '' }, [opaquePart(raw)], [defect])
}

function messageOf({ headers, text, html, parts, defects }: Dissected): ParsedMessage {
  const extractedText = hasTooManyLines(text) ? text : cleanText(extractReply(text))
  return { headers, text, html, extractedText, attachments: attachmentsOf(parts), defects }
}

function attachmentsOf(parts: readonly MimePart[]): ParsedAttachment[] {
  if (parts.length === 0) return []
  const names = safeFileNames(parts)
  return parts.map((part, index) => attachmentOf(part, names[index] ?? '', part.readSize()))
}

function attachmentOf(part: MimePart, filename: string, sizeBytes: number): ParsedAttachment {
  return {
    filename,
    contentType: cleanLine(part.contentType),
    sizeBytes,
    contentId: part.contentId === null ? null : cleanLine(part.contentId),
    isInline: part.isInline,
  }
}

function opaquePart(content: Uint8Array): MimePart {
  return {
    filename: 'unparsed.eml',
    contentType: 'application/octet-stream',
    contentId: null,
    isInline: false,
    readContent: () => content,
    readSize: () => content.length,
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
