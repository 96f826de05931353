// A raw message to the value that is stored. Whatever the bytes are there is a result: what cannot
// be parsed within bounds is kept as one opaque attachment and named among the defects.

import { INLINE_PARSE_BYTES_MAX, MIME_LINES_MAX } from '#base/limits.ts'
import { safeFileNames } from './file-name.ts'
import { duplicateDefects, type HeaderSection, readHeaderSection } from './header-fields.ts'
import { textFromHtml } from './html-text.ts'
import { readHeaders } from './message-headers.ts'
import {
  bodyKindOf,
  type MimeBody,
  type MimePart,
  readMimeBody,
  readPlainBody,
} from './mime-body.ts'
import { type OctetRange, scanMime } from './mime-bounds.ts'
import type { Defect, ParsedAttachment, ParsedHeaders, ParsedMessage } from './parsed-message.ts'
import { extractReply } from './reply-text.ts'
import { cleanLine, cleanText } from './safe-text.ts'

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
  const attachments = attachmentsOf(parts)
  const index =
    typeof selector === 'number'
      ? selector
      : attachments.findIndex(({ filename }) => filename === selector)
  const attachment = attachments[index]
  const content = parts[index]?.content
  return attachment === undefined || content === undefined ? null : { attachment, content }
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
  return raw.length <= INLINE_PARSE_BYTES_MAX && isPlain(readHeaderSection(raw))
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
    const { breach, largeBodies } = scanMime(raw)
    const whole = breach === null ? raw : raw.subarray(0, breach.cutAt)
    const section = readHeaderSection(whole)
    const body = await readBody(section, whole, largeBodies)
    const opaque = breach === null ? [] : [opaquePart(raw.subarray(breach.cutAt))]
    const parts = [...body.attachments, ...opaque]
    return assemble(section, body, parts, breach === null ? [] : [breach.defect])
  } catch {
    return defeat(raw, 'parse-failed')
  }
}

function readBody(
  { fields, bodyStart }: HeaderSection,
  whole: Uint8Array,
  largeBodies: readonly OctetRange[],
): MimeBody | Promise<MimeBody> {
  const kind = bodyKindOf(fields)
  const body = bufferOf(whole).subarray(bodyStart)
  if (kind.isPlain) return readPlainBody(fields, body, kind.contentType)
  const ranges = largeBodies.map(({ start, end }) => ({
    start: start - bodyStart,
    end: end - bodyStart,
  }))
  return readMimeBody(fields, body, ranges)
}

/** Null unless the message is one text/plain part that cannot break a bound: it has too few octets. */
function dissectPlain(raw: Uint8Array): Dissected | null {
  if (raw.length > MIME_LINES_MAX) return null
  const section = readHeaderSection(raw)
  if (section.defect !== null) return null
  const kind = bodyKindOf(section.fields)
  if (!kind.isPlain) return null
  const body = readPlainBody(
    section.fields,
    bufferOf(raw).subarray(section.bodyStart),
    kind.contentType,
  )
  return assemble(section, body, body.attachments, [])
}

function isPlain(section: HeaderSection): boolean {
  return section.defect === null && bodyKindOf(section.fields).isPlain
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
  const extractedText = cleanText(extractReply(text))
  return { headers, text, html, extractedText, attachments: attachmentsOf(parts), defects }
}

function attachmentsOf(parts: readonly MimePart[]): ParsedAttachment[] {
  if (parts.length === 0) return []
  const names = safeFileNames(parts)
  return parts.map((part, index) => ({
    filename: names[index] ?? '',
    contentType: cleanLine(part.contentType),
    sizeBytes: part.content.byteLength,
    contentId: part.contentId === null ? null : cleanLine(part.contentId),
    isInline: part.isInline,
  }))
}

function opaquePart(content: Uint8Array): MimePart {
  return {
    filename: 'unparsed.eml',
    contentType: 'application/octet-stream',
    contentId: null,
    isInline: false,
    content,
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
