import type { Defect } from '#mime/parsed-message.ts'
import { bufferOf, decodeText } from './charset.ts'

/** Maximum octets of the header section of a message or part; real ones stay under 100 KiB. */
export const HEADER_BYTES_MAX = 256 * 1024
export const HEADER_FIELDS_MAX = 1_000

export type HeaderField = {
  /** The field's name in lower case. */
  readonly name: string
  /** The field's text, unfolded and trimmed; encoded words are not yet decoded. */
  readonly value: string
}

export type HeaderSection = {
  readonly fields: readonly HeaderField[]
  /** Offset of the first octet of the body, or of the first unread octet after a defect. */
  readonly bodyStart: number
  /** The exceeded bound; the fields then end at `bodyStart`. */
  readonly defect: 'header-too-large' | 'too-many-header-fields' | null
}

const LF = 0x0a
const CR = 0x0d

/**
 * Reads the fields of `raw` from `start` to the first empty line or `end`. Lines that are not
 * fields (an mbox `From ` line, garbage) are skipped. If such lines are not followed by another
 * field, the empty line is missing and the body starts with them. Stops at HEADER_BYTES_MAX and
 * HEADER_FIELDS_MAX, before the field that would exceed the bound.
 */
export function readHeaderSection(
  raw: Uint8Array,
  start = 0,
  end: number = raw.length,
): HeaderSection {
  const limit = Math.min(end, start + HEADER_BYTES_MAX)
  const bytes = bufferOf(raw)
  const close = findSectionEnd(raw, start, limit)
  const text = bytes.toString('latin1', start, close.fieldsEnd)
  const lines = new FieldLines(text, /[^\x00-\x7f]|\x1b/.test(text))
  lines.read(close.isComplete || limit === end)
  if (lines.brokenAt !== null) {
    return {
      fields: lines.fields,
      bodyStart: start + lines.brokenAt,
      defect:
        lines.fields.length >= HEADER_FIELDS_MAX ? 'too-many-header-fields' : 'header-too-large',
    }
  }
  const bodyStart = lines.rubbishAt === null ? close.bodyStart : start + lines.rubbishAt
  return { fields: lines.fields, bodyStart, defect: null }
}

/** The value of the first field with the lower-case `name`, or null. */
export function firstField(fields: readonly HeaderField[], name: string): string | null {
  for (const field of fields) if (field.name === name) return field.value
  return null
}

/** The charsets that a header names in its content types and in encoded words. */
export function charsetsNamed(fields: readonly HeaderField[]): string[] {
  const found = new Set<string>()
  for (const { name, value } of fields) {
    const label =
      name === 'content-type'
        ? /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(value)
        : /=\?([^?\s*]{1,40})(?:\*[^?\s]*)?\?[bq]\?/i.exec(value)
    if (label?.[1] !== undefined) found.add(label[1])
  }
  return [...found].slice(0, CHARSETS_NAMED_MAX)
}

/** Charsets of a header that are tried for text without a label. */
const CHARSETS_NAMED_MAX = 4

/** The fields that must be unique (RFC 5322 §3.6) but occur more than once. */
export function duplicateDefects(fields: readonly HeaderField[]): Defect[] {
  const isRepeated = (name: string) => fields.filter((field) => field.name === name).length > 1
  return UNIQUE_FIELDS.filter(isRepeated).map((name): Defect => `duplicate-${name}`)
}

const UNIQUE_FIELDS = ['from', 'subject', 'message-id', 'content-type'] as const

type SectionEnd = {
  readonly fieldsEnd: number
  readonly bodyStart: number
  readonly isComplete: boolean
}

function findSectionEnd(raw: Uint8Array, start: number, limit: number): SectionEnd {
  let lineStart = start
  while (lineStart < limit) {
    const octet = raw[lineStart]
    if (octet === LF) return { fieldsEnd: lineStart, bodyStart: lineStart + 1, isComplete: true }
    if (octet === CR && raw[lineStart + 1] === LF) {
      return { fieldsEnd: lineStart, bodyStart: lineStart + 2, isComplete: true }
    }
    const lineEnd = raw.indexOf(LF, lineStart)
    if (lineEnd < 0 || lineEnd >= limit) break
    lineStart = lineEnd + 1
  }
  return { fieldsEnd: limit, bodyStart: limit, isComplete: false }
}

/** Collects the fields of a header section; offsets are relative to the section. */
class FieldLines {
  readonly fields: HeaderField[] = []
  /** Start of the garbage after the last field; null if a field ends the section. */
  rubbishAt: number | null = null
  /** Start of the field at which a bound was exceeded. */
  brokenAt: number | null = null
  readonly #text: string
  readonly #isEightBit: boolean
  #declared: string | null | undefined = undefined

  constructor(text: string, isEightBit: boolean) {
    this.#text = text
    this.#isEightBit = isEightBit
  }

  read(isWhole: boolean): void {
    const text = this.#text
    let position = 0
    while (position < text.length) {
      const start = position
      let lineEnd = endOfLine(text, position)
      position = lineEnd + 1
      let isFolded = false
      while (isSpace(text.charCodeAt(position))) {
        isFolded = true
        lineEnd = endOfLine(text, position)
        position = lineEnd + 1
      }
      if (!isWhole && position > text.length) {
        this.brokenAt = start
        return
      }
      this.#add(start, lineEnd, isFolded)
      if (this.brokenAt !== null) return
    }
    if (!isWhole) this.brokenAt = text.length
  }

  #add(start: number, end: number, isFolded: boolean): void {
    const text = this.#text
    const colon = text.indexOf(':', start)
    const isField = colon >= 0 && colon < end
    // White space before the first field is not a continuation line.
    const nameStart = this.fields.length === 0 ? skipSpace(text, start) : start
    const name = isField ? fieldName(text, nameStart, colon) : ''
    if (name === '') {
      this.rubbishAt ??= start
      return
    }
    if (this.fields.length === HEADER_FIELDS_MAX) {
      this.brokenAt = start
      return
    }
    this.rubbishAt = null
    const line = text.slice(colon + 1, end)
    const hasInnerBreak = isFolded || line.indexOf('\r') < line.length - 1
    const unfolded = hasInnerBreak ? unfold(line) : line
    const value = this.#isEightBit ? this.#decode(unfolded) : unfolded
    this.fields.push({ name, value: trimSpace(value) })
  }

  #decode(value: string): string {
    if (!/[\x80-\xff\x1b]/.test(value)) return value
    const others = () => [this.#declaredCharset()]
    return decodeText(Buffer.from(value, 'latin1'), null, { others })
  }

  /** The body's charset is the best guess for header text that the sender left unencoded. */
  #declaredCharset(): string | null {
    if (this.#declared === undefined) {
      const match =
        /^content-type[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*?charset[ \t]*=[ \t]*"?([\w.:-]{1,40})/im
      this.#declared = match.exec(this.#text)?.[1] ?? null
    }
    return this.#declared
  }
}

function endOfLine(text: string, from: number): number {
  const lineFeed = text.indexOf('\n', from)
  return lineFeed < 0 ? text.length : lineFeed
}

/** Printable US-ASCII (RFC 5322 §2.2). White space before the colon is the obsolete form (§4.5). */
function fieldName(text: string, start: number, colon: number): string {
  let end = colon
  while (end > start && isSpaceOrBreak(text.charCodeAt(end - 1))) end -= 1
  for (let index = start; index < end; index += 1) {
    const code = text.charCodeAt(index)
    if (code <= 0x20 || code >= 0x7f) return ''
  }
  return text.slice(start, end).toLowerCase()
}

function skipSpace(text: string, from: number): number {
  let position = from
  while (isSpace(text.charCodeAt(position))) position += 1
  return position
}

function unfold(line: string): string {
  return line.replace(/\r?\n/g, '').replace(/\r+/g, ' ')
}

function trimSpace(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charCodeAt(start))) start += 1
  while (end > start && isSpaceOrReturn(value.charCodeAt(end - 1))) end -= 1
  return start === 0 && end === value.length ? value : value.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function isSpaceOrBreak(code: number): boolean {
  return isSpaceOrReturn(code) || code === LF
}

function isSpaceOrReturn(code: number): boolean {
  return isSpace(code) || code === CR
}
