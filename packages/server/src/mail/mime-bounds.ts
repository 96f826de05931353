// A scan of the raw message for the point at which it breaks a bound of MIME structure. It follows
// boundaries, part headers and transfer encodings only, and stops at the first bound, so that a
// bomb costs no more than its harmless beginning.

import {
  BASE64_LARGE_BYTES_MIN,
  BASE64_LINE_BYTES_MIN,
  MIME_DEPTH_MAX,
  MIME_LINES_MAX,
  MIME_PARTS_MAX,
} from '#base/limits.ts'
import { firstField, readHeaderSection } from './header-fields.ts'
import { parseStructured } from './parameters.ts'
import type { Defect } from './parsed-message.ts'
import { transferEncodingOf } from './transfer-encoding.ts'

export type MimeBreach = {
  /** Everything before this offset keeps the bounds; always the start of a line or field. */
  readonly cutAt: number
  readonly defect: Defect
}

export type MimeScan = {
  readonly breach: MimeBreach | null
  /** Where the large base64 bodies of attachments lie, before the cut, in order. */
  readonly largeBodies: readonly OctetRange[]
}

export type OctetRange = { readonly start: number; readonly end: number }

/**
 * The first breach of MIME_PARTS_MAX, MIME_DEPTH_MAX, MIME_LINES_MAX or of the bounds of a header
 * section, null when there is none. A message/rfc822 part counts as one level of depth, and the
 * parts within it count. Lines of 40 octets and more within base64 parts do not count: those are
 * cheap to parse and a large attachment has hundreds of thousands.
 */
export function scanMime(raw: Uint8Array): MimeScan {
  return new BoundScanner(raw).scan()
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

type Level = {
  readonly boundary: Buffer
  readonly depth: number
  readonly isDigest: boolean
  /** Within an enclosed message, whose octets are an attachment as they stand. */
  readonly isEnclosed: boolean
}

class BoundScanner {
  readonly #raw: Buffer
  readonly #levels: Level[] = []
  #position = 0
  #parts = 1
  #lines = 0
  #depth = 0
  #isBase64 = false
  #isEnclosed = false
  #breach: MimeBreach | null = null
  /** Start of the base64 body being read that may turn out large. */
  #bodyAt: number | null = null
  readonly #largeBodies: OctetRange[] = []

  constructor(raw: Uint8Array) {
    this.#raw = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  }

  scan(): MimeScan {
    this.#enterPart('text/plain', null)
    while (this.#breach === null && this.#position < this.#raw.length) this.#readLine()
    this.#endBody(this.#breach?.cutAt ?? this.#raw.length)
    return { breach: this.#breach, largeBodies: this.#largeBodies }
  }

  #endBody(end: number): void {
    const start = this.#bodyAt
    this.#bodyAt = null
    if (start === null || end - start < BASE64_LARGE_BYTES_MIN) return
    this.#largeBodies.push({ start, end })
  }

  #readLine(): void {
    const raw = this.#raw
    const start = this.#position
    const lineFeed = raw.indexOf(LF, start)
    const end = lineFeed < 0 ? raw.length : lineFeed
    this.#position = end + 1
    const isDashed = raw[start] === DASH && raw[start + 1] === DASH
    if (isDashed && this.#readBoundary(start, end)) return
    if (this.#isBase64 && !isDashed && end - start >= BASE64_LINE_BYTES_MIN) return
    this.#countLines(1, start)
  }

  #countLines(count: number, start: number): void {
    this.#lines += count
    if (this.#lines > MIME_LINES_MAX) this.#breach = { cutAt: start, defect: 'too-many-lines' }
  }

  /** RFC 2046 §5.1.1: two dashes, the boundary, two more at the end of the multipart, white space. */
  #readBoundary(start: number, end: number): boolean {
    const index = this.#levels.findLastIndex((level) => isDelimiter(this.#raw, level, start, end))
    const level = this.#levels[index]
    if (level === undefined) return false
    const after = start + 2 + level.boundary.length
    const isClose = this.#raw[after] === DASH && this.#raw[after + 1] === DASH
    this.#levels.length = isClose ? index : index + 1
    this.#depth = level.depth
    this.#isEnclosed = level.isEnclosed
    this.#isBase64 = false
    this.#endBody(start)
    if (isClose) {
      this.#countLines(1, start)
      return true
    }
    this.#parts += 1
    if (this.#parts > MIME_PARTS_MAX) this.#breach = { cutAt: start, defect: 'too-many-parts' }
    else this.#enterPart(level.isDigest ? 'message/rfc822' : 'text/plain', start)
    return true
  }

  /**
   * Reads the part's header; goes on into an enclosed message, whose header follows at once. A part
   * that breaks a bound is cut off whole, from its delimiter on.
   */
  #enterPart(defaultType: string, delimiterAt: number | null): void {
    let typeWithoutField = defaultType
    for (let partAt = delimiterAt; ; partAt = this.#position) {
      const start = this.#position
      const headerEnd = this.#headerEnd(start)
      const section = readHeaderSection(this.#raw, start, headerEnd)
      this.#position = section.bodyStart
      if (section.defect !== null) {
        this.#breach = { cutAt: partAt ?? section.bodyStart, defect: section.defect }
        return
      }
      this.#countLines(section.fields.length, partAt ?? section.bodyStart)
      if (this.#breach !== null) return
      const contentType = parseStructured(
        firstField(section.fields, 'content-type') ?? typeWithoutField,
      )
      const encoding = firstField(section.fields, 'content-transfer-encoding')
      this.#isBase64 = transferEncodingOf(encoding) === 'base64'
      const isMessage = contentType.value === 'message/rfc822' && !this.#isBase64
      const boundary = contentType.parameters.get('boundary') ?? ''
      const isMultipart = contentType.value.startsWith('multipart/') && boundary !== ''
      if (!isMessage && !isMultipart) {
        const isFile = this.#isBase64 && !this.#isEnclosed && isFileType(contentType.value)
        this.#bodyAt = isFile ? this.#position : null
        return
      }
      this.#depth += 1
      if (this.#depth > MIME_DEPTH_MAX) {
        this.#breach = { cutAt: partAt ?? start, defect: 'too-deep' }
        return
      }
      if (isMultipart) {
        this.#levels.push({
          boundary: Buffer.from(boundary, 'utf8'),
          depth: this.#depth,
          isDigest: contentType.value === 'multipart/digest',
          isEnclosed: this.#isEnclosed,
        })
        this.#isBase64 = false
        return
      }
      if (this.#position >= this.#raw.length || this.#startsWithBoundary()) return
      this.#isEnclosed = true
      typeWithoutField = 'text/plain'
    }
  }

  #startsWithBoundary(): boolean {
    const lineFeed = this.#raw.indexOf(LF, this.#position)
    const end = lineFeed < 0 ? this.#raw.length : lineFeed
    return this.#levels.some((level) => isDelimiter(this.#raw, level, this.#position, end))
  }

  /** A delimiter ends a header section that has no empty line. */
  #headerEnd(start: number): number {
    const raw = this.#raw
    if (this.#levels.length === 0) return raw.length
    let position = start
    while (position < raw.length) {
      const lineFeed = raw.indexOf(LF, position)
      const end = lineFeed < 0 ? raw.length : lineFeed
      if (end === position || (end === position + 1 && raw[position] === CR))
        return Math.min(end + 1, raw.length)
      if (raw[position] === DASH && raw[position + 1] === DASH) {
        const at = position
        if (this.#levels.some((level) => isDelimiter(raw, level, at, end))) return position
      }
      position = end + 1
    }
    return raw.length
  }
}

/** Types whose decoded octets are the attachment; text is decoded further. */
function isFileType(type: string): boolean {
  return !/^(?:text|multipart|message)\b|^application\/ics$|^$/.test(type)
}

function isDelimiter(raw: Buffer, level: Level, start: number, lineEnd: number): boolean {
  const { boundary } = level
  let position = start + 2 + boundary.length
  if (position > lineEnd || raw[start] !== DASH || raw[start + 1] !== DASH) return false
  if (raw.compare(boundary, 0, boundary.length, start + 2, position) !== 0) return false
  if (raw[position] === DASH && raw[position + 1] === DASH) position += 2
  for (; position < lineEnd; position += 1) {
    const octet = raw[position]
    if (octet !== 0x20 && octet !== 0x09 && octet !== CR) return false
  }
  return true
}
