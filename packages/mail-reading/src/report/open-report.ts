import { bufferOf, decodeText } from '@mailroom/mail/charset.ts'
import { decodeWords } from '@mailroom/mail/encoded-word.ts'
import { firstField, type HeaderField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { stripTags } from '@mailroom/mail/html/text.ts'
import { decodeTransfer } from '@mailroom/mail/mime/decode-body.ts'
import {
  type MimePart,
  type PartHead,
  readPartHead,
  scanMime,
} from '@mailroom/mail/mime/mime-parts.ts'

/** Maximum octets of a report that are read; its words precede the returned message. */
export const REPORT_BYTES_MAX = 1 * 1024 * 1024
const REPORT_FIELD_LENGTH_MAX = 8_000
/** Maximum lines of a report's text; text for people is shorter. */
const REPORT_LINES_MAX = 5_000
/** Maximum characters of a line that are read; a server's reply is shorter. */
export const REPORT_LINE_LENGTH_MAX = 2_000

export type OpenedReport = {
  /** Header fields of the report, with values cut at REPORT_FIELD_LENGTH_MAX. */
  readonly fields: readonly HeaderField[]
  /** `type/subtype` of the report itself, in lower case. */
  readonly contentType: string
  /** The text for people, without the returned message and trailing white space. */
  readonly lines: readonly string[]
  /** The contents of message/delivery-status parts (RFC 3464 §2.1), in lines. */
  readonly statusParts: readonly (readonly string[])[]
  /** The fields of message/feedback-report (RFC 5965 §3); null without such a part. */
  readonly feedback: readonly HeaderField[] | null
  /** The header of the returned message, or the part of it in the report. */
  readonly returned: readonly HeaderField[]
  readonly hasReturned: boolean
  /** Whether the message is returned in a separate part instead of within the text. */
  readonly hasReturnedPart: boolean
  /** The returned message, complete or in part; it may be a forwarded report. */
  readonly returnedOctets: Uint8Array
}

/** Reads at most REPORT_BYTES_MAX octets. Lines may end in CRLF, LF or CR. Never throws. */
export function openReport(raw: Uint8Array): OpenedReport {
  const octets = withLineFeeds(raw.subarray(0, REPORT_BYTES_MAX))
  const scan = scanMime(octets)
  const header = readHeaderSection(octets)
  const parts = new PartCollector(octets)
  parts.collect(scan.parts)
  if (parts.isEmpty()) parts.addBody(header.fields, octets.subarray(header.bodyStart))
  return {
    fields: bounded(header.fields),
    contentType: readPartHead(header.fields).contentType.value,
    ...parts.finish(),
  }
}

export function subjectOf({ fields }: Pick<OpenedReport, 'fields'>): string {
  return decodeWords(firstField(fields, 'subject') ?? '').slice(0, REPORT_LINE_LENGTH_MAX)
}

function bounded(fields: readonly HeaderField[]): HeaderField[] {
  return fields.map(({ name, value }) => ({ name, value: value.slice(0, REPORT_FIELD_LENGTH_MAX) }))
}

const CR = 0x0d
const LF = 0x0a

function withLineFeeds(raw: Uint8Array): Buffer {
  const octets = bufferOf(raw)
  if (!octets.includes(CR)) return octets
  const converted = Buffer.allocUnsafe(octets.length)
  let length = 0
  for (let at = 0; at < octets.length; at += 1) {
    const octet = octets[at] ?? 0
    if (octet === CR && octets[at + 1] === LF) continue
    converted[length++] = octet === CR ? LF : octet
  }
  return converted.subarray(0, length)
}

const STATUS_TYPE = /^(?:message|text)\/(?:global-)?delivery-status$/
const RETURNED_TYPE =
  /^(?:message\/(?:rfc822|global|partial)|(?:text|message)\/(?:rfc822-?headers?|global-headers|rfc822))$/
const FEEDBACK_TYPE = /^message\/feedback-report$/

class PartCollector {
  readonly #octets: Buffer
  readonly #plain: string[] = []
  readonly #html: string[] = []
  readonly #status: string[][] = []
  #feedback: readonly HeaderField[] | null = null
  #returned: readonly HeaderField[] = []
  #hasReturned = false
  #returnedOctets: Uint8Array = new Uint8Array()
  #isGuessing = false

  constructor(octets: Buffer) {
    this.#octets = octets
  }

  collect(parts: readonly MimePart[]): void {
    for (const part of parts) {
      if (part.kind === 'multipart') continue
      this.#add(part, this.#octets.subarray(part.content.start, part.content.end))
    }
  }

  /** Whether no part contains text, as in a multipart without parts. */
  isEmpty(): boolean {
    return (
      this.#plain.every((text) => text.trim() === '') &&
      this.#html.length + this.#status.length === 0 &&
      this.#feedback === null
    )
  }

  addBody(fields: readonly HeaderField[], body: Buffer): void {
    const head = readPartHead(fields)
    const boundary = guessBoundary(body)
    if (boundary !== null) {
      this.#addGuessed(boundary, body)
      return
    }
    this.#plain.push(textOf(head, decodeTransfer(body, head.encoding)))
  }

  finish(): Omit<OpenedReport, 'fields' | 'contentType'> {
    const plain = linesOf(this.#plain)
    const hasPlain = plain.some((line) => line.trim() !== '')
    const written = hasPlain ? plain : linesOf(this.#html.map(stripTags))
    const hasReturnedPart = this.#hasReturned
    const at = returnedMessageAt(written)
    if (at !== null) this.#return(Buffer.from(written.slice(at.headerAt).map(trimQuote).join('\n')))
    return {
      lines: at === null ? written : written.slice(0, at.endOfWords),
      statusParts: this.#status,
      feedback: this.#feedback,
      returned: this.#returned,
      hasReturned: this.#hasReturned,
      hasReturnedPart,
      returnedOctets: this.#returnedOctets,
    }
  }

  #add(part: MimePart, content: Buffer): void {
    const type = part.contentType.value
    const boundary = type.startsWith('multipart/') ? guessBoundary(content) : null
    if (boundary !== null && !this.#isGuessing) {
      this.#addGuessed(boundary, content)
      return
    }
    const octets = decodeTransfer(content, part.encoding)
    if (STATUS_TYPE.test(type)) this.#status.push(linesOf([textOf(part, octets)]))
    else if (FEEDBACK_TYPE.test(type))
      this.#feedback ??= bounded(readHeaderSection(trimStart(octets)).fields)
    else if (RETURNED_TYPE.test(type)) this.#return(octets)
    else if (type === 'text/html') this.#html.push(textOf(part, octets))
    else if (type.startsWith('text/') || part.kind === 'text')
      this.#plain.push(textOf(part, octets))
  }

  /** Splits a multipart without a boundary parameter at the boundary found in its lines. */
  #addGuessed(boundary: string, content: Buffer): void {
    const head = `content-type: multipart/mixed; boundary="${boundary}"\n\n`
    const octets = Buffer.concat([Buffer.from(head, 'latin1'), content])
    this.#isGuessing = true
    for (const part of scanMime(octets).parts) {
      if (part.kind === 'multipart') continue
      this.#add(part, octets.subarray(part.content.start, part.content.end))
    }
    this.#isGuessing = false
  }

  #return(octets: Buffer): void {
    if (octets.length === 0) return
    this.#hasReturned = true
    if (this.#returned.length > 0) return
    this.#returnedOctets = trimStart(octets)
    this.#returned = bounded(readHeaderSection(this.#returnedOctets).fields)
  }
}

/** The boundary in the first line with two dashes that is followed by the fields of a part. */
function guessBoundary(octets: Buffer): string | null {
  const text = octets.toString('latin1', 0, BOUNDARY_BYTES)
  return /^--([^\n"\\]{1,100}?)[ \t]*\ncontent-[a-z-]{4,30}:/im.exec(text)?.[1] ?? null
}

/** Octets of a multipart that are searched for its first part. */
const BOUNDARY_BYTES = 4_096

function textOf(part: Pick<PartHead, 'contentType'>, octets: Buffer): string {
  return decodeText(octets, part.contentType.parameters.get('charset') ?? null)
}

function linesOf(texts: readonly string[]): string[] {
  const lines: string[] = []
  for (const text of texts) {
    let start = 0
    while (start <= text.length && lines.length < REPORT_LINES_MAX) {
      const lineFeed = text.indexOf('\n', start)
      const end = lineFeed < 0 ? text.length : lineFeed
      lines.push(text.slice(start, Math.min(end, start + REPORT_LINE_LENGTH_MAX)).trimEnd())
      start = end + 1
    }
  }
  return lines
}

/** Programs write empty lines before the returned header. */
function trimStart(octets: Buffer): Buffer {
  let start = 0
  while (start < octets.length && (octets[start] === LF || octets[start] === 0x20)) start += 1
  return octets.subarray(start)
}

function trimQuote(line: string): string {
  return line.startsWith('> ') ? line.slice(2) : line
}

type ReturnedAt = {
  /** The lines before this index are the report's own text. */
  readonly endOfWords: number
  readonly headerAt: number
}

/** Null if the text contains no returned message. */
export function returnedMessageAt(lines: readonly string[]): ReturnedAt | null {
  for (const [index, line] of lines.entries()) {
    if (isAnnouncement(line) && startsHeader(lines, nextFilled(lines, index + 1), 1)) {
      return { endOfWords: index, headerAt: nextFilled(lines, index + 1) }
    }
    if (/^content-type:\s*(?:message\/rfc822|text\/rfc822-headers)/i.test(line)) {
      return { endOfWords: index, headerAt: nextFilled(lines, nextEmpty(lines, index)) }
    }
    if (TRACE_FIELD.test(line) && startsHeader(lines, index, 3)) {
      return { endOfWords: index, headerAt: index }
    }
  }
  return null
}

const ANNOUNCED = [
  /\b(?:copy|header|headers|text|contents?|start|part|beginning) of (?:the|your)\b.{0,40}\b(?:message|mail)/i,
  /\b(?:original|returned|unsent|undelivered|rejected|bounced|failed|your) (?:e-?mail |mail )?(?:message|mail|header)s?\b/i,
  /\bmessage (?:header|text|content)s?\b/i,
]

/** Whether the line is a rule or a short sentence that ends the text of the report. */
function isAnnouncement(line: string): boolean {
  const text = line.trim()
  if (text.length > 120 || text.length < 8) return false
  const isSet = /^[-=_*+#]{2,}/.test(text) || /(?:[-=_*:.]|follows?:?)$/i.test(text)
  return isSet && ANNOUNCED.some((words) => words.test(text))
}

const TRACE_FIELD =
  /^(?:return-path|received|message-id|dkim-signature|x-[\w-]+|delivered-to|mime-version|from|date|reply-to|to)\s*:/i
const FIELD = /^[A-Za-z][A-Za-z0-9-]{1,60}\s?:/
const MESSAGE_FIELD =
  /^(?:return-path|received|message-id|from|date|mime-version|dkim-signature)\s*:/i
const LOOK_AHEAD_LINES = 60

/** Whether at least `fieldsMin` fields start at `from`, including one that only a message has. */
function startsHeader(lines: readonly string[], from: number, fieldsMin: number): boolean {
  let fields = 0
  let isMessage = false
  for (const line of lines.slice(from, from + LOOK_AHEAD_LINES)) {
    const text = line.startsWith('> ') ? line.slice(2) : line
    if (/^\s+\S/.test(text) && fields > 0) continue
    if (!FIELD.test(text)) break
    fields += 1
    // A single field may be coincidence if no line announced a message.
    isMessage ||= fieldsMin === 1 ? MESSAGE_FIELD.test(text) || fields > 1 : isTraceOf(text)
    if (isMessage && fields >= fieldsMin) return true
  }
  return false
}

function isTraceOf(line: string): boolean {
  return /^(?:return-path|received|message-id|dkim-signature|mime-version)\s*:/i.test(line)
}

function nextFilled(lines: readonly string[], from: number): number {
  let index = from
  while (index < lines.length && (lines[index] ?? '').trim().replace(/^[-=_*>]+$/, '') === '')
    index += 1
  return index
}

function nextEmpty(lines: readonly string[], from: number): number {
  let index = from
  while (index < lines.length && (lines[index] ?? '').trim() !== '') index += 1
  return index
}
