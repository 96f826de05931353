// A scan of the raw message for its parts and for the point at which it breaks a bound of MIME
// structure. It follows boundaries and part headers only, and stops at the first bound, so that a bomb
// costs no more than its harmless beginning.

import {
  BASE64_LINE_BYTES_MIN,
  MIME_DEPTH_MAX,
  MIME_LINES_MAX,
  MIME_PARTS_MAX,
  TEXT_BYTES_MAX,
} from '#base/limits.ts'
import { readHeaderSection } from './header-fields.ts'
import {
  boundaryOf,
  kindOf,
  type MimeOutline,
  type OutlineClose,
  type OutlinePart,
  type PartHead,
  readPartHead,
} from './mime-outline.ts'
import type { Defect } from './parsed-message.ts'

export type MimeBreach = {
  /** Everything before this offset keeps the bounds; always the start of a line or field. */
  readonly cutAt: number
  readonly defect: Defect
}

export type MimeScan = {
  readonly breach: MimeBreach | null
  /** The parts before the cut; empty when the message's own header is cut. */
  readonly outline: MimeOutline
  /** Whether a text is a file for its size alone. */
  readonly hasLargeText: boolean
}

/**
 * The parts, and the first breach of MIME_PARTS_MAX, MIME_DEPTH_MAX, MIME_LINES_MAX or of the bounds
 * of a header section, null when there is none. An enclosed message is one file; it counts as one
 * level of depth, and the parts within it count. A text beyond TEXT_BYTES_MAX is a file. The lines of files do not count, but for those that
 * begin as a delimiter does, nor do lines of base64 of 40 octets and more.
 */
export function scanMime(raw: Uint8Array): MimeScan {
  return new BoundScanner(raw).scan()
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

/** The only lines of a file that matter. */
const DASHED_LINE = Buffer.from('\n--')

type Level = {
  readonly boundary: Buffer
  readonly depth: number
  readonly multipart: number
  readonly isDigest: boolean
  /** Within an enclosed message, whose octets are a file as they stand. */
  readonly isEnclosed: boolean
}

type OpenPart = Omit<OutlinePart, 'kind' | 'content'> & {
  kind: OutlinePart['kind']
  readonly content: { start: number; end: number }
}

class BoundScanner {
  readonly #raw: Buffer
  readonly #levels: Level[] = []
  readonly #outline: (OpenPart | OutlineClose)[] = []
  #position = 0
  #parts = 1
  #multiparts = 0
  #lines = 0
  #textBytes = 0
  #hasLargeText = false
  #depth = 0
  #isEnclosed = false
  #breach: MimeBreach | null = null
  /** The text or file being read. */
  #leaf: OpenPart | null = null

  constructor(raw: Uint8Array) {
    this.#raw = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  }

  scan(): MimeScan {
    this.#enterPart('text/plain', null)
    while (this.#breach === null && this.#position < this.#raw.length) this.#readLine()
    this.#endLeaf(this.#breach?.cutAt ?? this.#raw.length)
    return { breach: this.#breach, outline: this.#outline, hasLargeText: this.#hasLargeText }
  }

  #endLeaf(end: number): void {
    const leaf = this.#leaf
    this.#leaf = null
    if (leaf === null) return
    leaf.content.end = Math.max(end, leaf.content.start)
    if (leaf.kind !== 'text') return
    const sizeBytes = leaf.content.end - leaf.content.start
    if (this.#textBytes + sizeBytes <= TEXT_BYTES_MAX) {
      this.#textBytes += sizeBytes
      return
    }
    leaf.kind = 'file'
    this.#hasLargeText = true
  }

  #readLine(): void {
    const raw = this.#raw
    const start = this.#position
    const isDashed = raw[start] === DASH && raw[start + 1] === DASH
    const isFile = this.#leaf?.kind === 'file'
    if (isFile && !isDashed) {
      const lineFeed = raw.indexOf(DASHED_LINE, start)
      this.#position = lineFeed < 0 ? raw.length : lineFeed + 1
      return
    }
    const lineFeed = raw.indexOf(LF, start)
    const end = lineFeed < 0 ? raw.length : lineFeed
    this.#position = end + 1
    if (isDashed && this.#readBoundary(start, end)) return
    const isBase64 = this.#leaf?.encoding === 'base64'
    if (isBase64 && !isDashed && end - start >= BASE64_LINE_BYTES_MIN) return
    this.#countLines(1, start)
  }

  #countLines(count: number, start: number): void {
    this.#lines += count
    if (this.#lines > MIME_LINES_MAX) this.#breach = { cutAt: start, defect: 'too-many-lines' }
  }

  /** RFC 2046 §5.1.1: two dashes, the boundary, two more at the end of the multipart, white space. */
  #readBoundary(start: number, end: number): boolean {
    const index = this.#levelOf(start, end)
    const level = this.#levels[index]
    if (level === undefined) return false
    const after = start + 2 + level.boundary.length
    const isClose = this.#raw[after] === DASH && this.#raw[after + 1] === DASH
    this.#levels.length = isClose ? index : index + 1
    this.#depth = level.depth
    this.#isEnclosed = level.isEnclosed
    if (!level.isEnclosed) this.#endLeaf(lineEndBefore(this.#raw, start))
    if (isClose) {
      if (!level.isEnclosed) this.#outline.push({ kind: 'close', multipart: level.multipart })
      this.#countLines(1, start)
      return true
    }
    this.#parts += 1
    if (this.#parts > MIME_PARTS_MAX) this.#breach = { cutAt: start, defect: 'too-many-parts' }
    else this.#enterPart(level.isDigest ? 'message/rfc822' : 'text/plain', { at: start, level })
    return true
  }

  /** A delimiter of the message itself ends whatever is enclosed in the part (RFC 2046 §5.1.2). */
  #levelOf(start: number, end: number): number {
    const isOf = (level: Level) => isDelimiter(this.#raw, level, start, end)
    const own = this.#levels.findLastIndex((level) => !level.isEnclosed && isOf(level))
    return own >= 0 ? own : this.#levels.findLastIndex((level) => level.isEnclosed && isOf(level))
  }

  /**
   * Reads the part's header; goes on into an enclosed message, whose header follows at once. A part
   * that breaks a bound is cut off whole, from its delimiter on.
   */
  #enterPart(defaultType: string, delimiter: { at: number; level: Level } | null): void {
    let typeWithoutField = defaultType
    for (let partAt = delimiter?.at ?? null; ; partAt = this.#position) {
      const start = this.#position
      const headerEnd = this.#headerEnd(start)
      const section = readHeaderSection(this.#raw, start, headerEnd)
      this.#position = section.bodyStart
      if (section.defect !== null) {
        this.#breach = { cutAt: partAt ?? section.bodyStart, defect: section.defect }
        return
      }
      // What stands between a part's last field and its empty line is lost: contents must be exact.
      const isPart = this.#levels.length > 0 && section.fields.length > 0
      if (isPart && endsInEmptyLine(this.#raw, headerEnd)) {
        this.#position = headerEnd
      }
      this.#countLines(section.fields.length, partAt ?? section.bodyStart)
      if (this.#breach !== null) return
      const head = readPartHead(section.fields, typeWithoutField)
      const boundary = boundaryOf(head)
      const isMessage = head.contentType.value === 'message/rfc822' && head.encoding !== 'base64'
      if (isMessage || boundary !== null) {
        this.#depth += 1
        if (this.#depth > MIME_DEPTH_MAX) {
          this.#breach = { cutAt: partAt ?? start, defect: 'too-deep' }
          return
        }
      }
      if (boundary !== null) this.#multiparts += 1
      if (!this.#isEnclosed) this.#addPart(head, delimiter?.level.multipart ?? null)
      if (boundary !== null) this.#openLevel(boundary, head)
      if (!isMessage || this.#position >= this.#raw.length || this.#startsWithBoundary()) return
      this.#isEnclosed = true
      typeWithoutField = 'text/plain'
    }
  }

  #addPart(head: PartHead, parent: number | null): void {
    const kind = kindOf(head)
    const multipart = kind === 'multipart' ? this.#multiparts : null
    const content = { start: this.#position, end: this.#position }
    const part: OpenPart = { ...head, kind, parent, multipart, content }
    this.#outline.push(part)
    this.#leaf = kind === 'multipart' ? null : part
  }

  #openLevel(boundary: string, head: PartHead): void {
    this.#levels.push({
      boundary: Buffer.from(boundary, 'utf8'),
      depth: this.#depth,
      multipart: this.#multiparts,
      isDigest: head.contentType.value === 'multipart/digest',
      isEnclosed: this.#isEnclosed,
    })
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

/** Where the line before `start` ends: its CRLF belongs to the delimiter (RFC 2046 §5.1.1). */
function lineEndBefore(raw: Buffer, start: number): number {
  if (raw[start - 1] !== LF) return start
  return raw[start - 2] === CR ? start - 2 : start - 1
}

/** After at least one line. */
function endsInEmptyLine(raw: Buffer, end: number): boolean {
  const before = lineEndBefore(raw, end)
  return before < end && raw[before - 1] === LF
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
