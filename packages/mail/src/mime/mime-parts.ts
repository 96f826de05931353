import { bufferOf } from '#charset.ts'
import { decodeWords } from '#encoded-word.ts'
import { firstField, type HeaderField, readHeaderSection } from '#header-fields.ts'
import { parseStructured, readParameter, type StructuredValue } from '#parameters.ts'
import { MIME_LINES_MAX, type TransferEncoding, transferEncodingOf } from './decode-body.ts'
import type { Defect } from './parsed-message.ts'

export const MIME_PARTS_MAX = 1_000
export const MIME_DEPTH_MAX = 50
/**
 * Maximum octets of all texts of a message together, as sent. A text that exceeds the bound becomes
 * a file. Parsing a text takes up to twenty times its memory, and V8 ends the process, not just the
 * thread, if one allocation is too large.
 */
export const TEXT_BYTES_MAX = 4 * 1024 * 1024
/** Shorter base64 lines count towards MIME_LINES_MAX; modern encoders write 60 to 76 octets. */
const BASE64_LINE_BYTES_MIN = 40

export type PartHead = {
  /** The type in the field, or the default if the field is missing. */
  readonly contentType: StructuredValue
  readonly encoding: TransferEncoding
  /** Null if the field is missing. */
  readonly disposition: StructuredValue | null
  /** The field's value, with or without angle brackets; null if the field is missing. */
  readonly contentId: string | null
}

export type MimePart = PartHead & {
  readonly kind: 'multipart' | 'text' | 'file'
  /** Index of the nearest enclosing multipart/alternative; null if there is none. */
  readonly alternative: number | null
  /** Whether the part is a direct child of a multipart/alternative. */
  readonly isVersion: boolean
  readonly isRelated: boolean
  /** Indexes of the enclosing multiparts, outermost first. */
  readonly within: readonly number[]
  /** Encoded octets, without the delimiter's line end; empty for a multipart. */
  readonly content: { readonly start: number; readonly end: number }
}

type MimeBreach = {
  /** Everything before this offset, which is the start of a line or field, is within bounds. */
  readonly cutAt: number
  readonly defect: Defect
}

type MimeScan = {
  readonly breach: MimeBreach | null
  /** The parts before the cut, the message itself first; empty if its own header is cut. */
  readonly parts: readonly MimePart[]
  readonly hasLargeText: boolean
}

/**
 * `typeWithoutField` is the type of a part without Content-Type (RFC 2045 §5.2, RFC 2046 §5.1.5).
 */
export function readPartHead(
  fields: readonly HeaderField[],
  typeWithoutField = 'text/plain',
): PartHead {
  const field = firstField(fields, 'content-disposition')
  const disposition = field === null ? null : parseStructured(field)
  const written = firstField(fields, 'content-type') ?? typeWithoutField
  const contentType = parseStructured(written.startsWith('=?') ? decodeWords(written) : written)
  return {
    contentType: validType(contentType, disposition),
    encoding: transferEncodingOf(firstField(fields, 'content-transfer-encoding')),
    disposition,
    contentId: firstField(fields, 'content-id'),
  }
}

/** Matches `type/subtype` with the tokens of RFC 2045 §5.1. */
const VALID_TYPE = /^[\w!#$%&'+.^`{|}~-]{1,100}\/[\w!#$%&'+.^`{|}~-]{1,100}$/

/**
 * An invalid type means text/plain (RFC 2045 §5.2). Exceptions: a part with a boundary is a
 * multipart, and a part with a file name is not a text.
 */
function validType(
  { value, parameters }: StructuredValue,
  disposition: StructuredValue | null,
): StructuredValue {
  const bare = value
    .replaceAll('"', '')
    .replace(/\s{0,9}\/\s{0,9}/, '/')
    .trim()
  if (VALID_TYPE.test(bare))
    return bare === value ? { value, parameters } : { value: bare, parameters }
  if (parameters.get('boundary')) return { value: 'multipart/mixed', parameters }
  const isNamed = parameters.has('name') || disposition?.parameters.has('filename') === true
  return { value: isNamed ? 'application/octet-stream' : 'text/plain', parameters }
}

/** The file name in a part's header; null if it has none. */
export function nameOfPart({ contentType, disposition }: PartHead): string | null {
  const filename = disposition === null ? null : readParameter(disposition, 'filename')
  return filename || readParameter(contentType, 'name')
}

export function isHtmlPart({ contentType }: PartHead): boolean {
  return contentType.value === 'text/html'
}

/**
 * A `text` is text/plain or text/html that is not an attachment; texts form the bodies of a
 * message. Every other part without parts of its own is a `file`.
 */
export function kindOf({ contentType, disposition }: PartHead): MimePart['kind'] {
  const { value } = contentType
  // A multipart without a boundary has no parts, so its text is shown.
  if (value.startsWith('multipart/')) return boundaryOf(contentType) === null ? 'text' : 'multipart'
  const isText = value === 'text/plain' || value === 'text/html'
  return isText && disposition?.value !== 'attachment' ? 'text' : 'file'
}

function boundaryOf({ value, parameters }: StructuredValue): string | null {
  return value.startsWith('multipart/') ? parameters.get('boundary') || null : null
}

/**
 * Scans the parts up to the first breach of MIME_PARTS_MAX, MIME_DEPTH_MAX, MIME_LINES_MAX or the
 * bounds of a header section. Stopping there makes a bomb no more expensive than its harmless
 * beginning. An enclosed message is one file and one level of depth, and its parts are included in
 * MIME_PARTS_MAX. A text beyond TEXT_BYTES_MAX is a file. MIME_LINES_MAX ignores lines of files
 * that do not begin like a delimiter, and base64 lines of at least BASE64_LINE_BYTES_MIN.
 */
export function scanMime(raw: Uint8Array): MimeScan {
  return new Scanner(raw).scan()
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

/** In a file, only lines that start with two dashes matter. */
const DASHED_LINE = Buffer.from('\n--')

type Level = {
  readonly boundary: Buffer
  readonly depth: number
  readonly type: string
  /** Whether the multipart is inside an enclosed message, whose octets are one file. */
  readonly isEnclosed: boolean
  /** The `alternative` of the multipart's direct parts. */
  readonly alternative: number | null
  readonly isRelated: boolean
  /** The `within` of the multipart's direct parts. */
  readonly within: readonly number[]
}

type OpenPart = Omit<MimePart, 'kind' | 'content'> & {
  kind: MimePart['kind']
  readonly content: { start: number; end: number }
}

class Scanner {
  readonly #raw: Buffer
  readonly #levels: Level[] = []
  readonly #parts: OpenPart[] = []
  #position = 0
  /** The parts of enclosed messages are included. */
  #partCount = 1
  #lines = 0
  #textBytes = 0
  #hasLargeText = false
  #depth = 0
  #isEnclosed = false
  #breach: MimeBreach | null = null
  /** The text or file that is being read. */
  #leaf: OpenPart | null = null

  constructor(raw: Uint8Array) {
    this.#raw = bufferOf(raw)
  }

  scan(): MimeScan {
    this.#enterPart('text/plain', null)
    while (this.#breach === null && this.#position < this.#raw.length) this.#readLine()
    this.#endLeaf(this.#breach?.cutAt ?? this.#raw.length)
    return { breach: this.#breach, parts: this.#parts, hasLargeText: this.#hasLargeText }
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
    if (isDashed && this.#readDelimiter(start, end)) return
    const isBase64 = this.#leaf?.encoding === 'base64'
    if (isBase64 && !isDashed && end - start >= BASE64_LINE_BYTES_MIN) return
    this.#countLines(1, start)
  }

  #countLines(count: number, start: number): void {
    this.#lines += count
    if (this.#lines > MIME_LINES_MAX) this.#breach = { cutAt: start, defect: 'too-many-lines' }
  }

  /**
   * Parses a delimiter (RFC 2046 §5.1.1): two dashes, the boundary, two more dashes at the end of
   * the multipart, white space.
   */
  #readDelimiter(start: number, end: number): boolean {
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
      this.#countLines(1, start)
      return true
    }
    this.#partCount += 1
    if (this.#partCount > MIME_PARTS_MAX) this.#breach = { cutAt: start, defect: 'too-many-parts' }
    else
      this.#enterPart(level.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain', {
        at: start,
        level,
      })
    return true
  }

  /** A delimiter of an outer multipart ends everything enclosed in the part (RFC 2046 §5.1.2). */
  #levelOf(start: number, end: number): number {
    const isOf = (level: Level) => isDelimiter(this.#raw, level, start, end)
    const own = this.#levels.findLastIndex((level) => !level.isEnclosed && isOf(level))
    return own >= 0 ? own : this.#levels.findLastIndex((level) => level.isEnclosed && isOf(level))
  }

  /**
   * Reads the part's header and continues into an enclosed message, whose header follows directly.
   * A part that exceeds a bound is removed completely, including its delimiter.
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
      // The text between a part's last field and its empty line is dropped, so that the part's
      // content is exact.
      const isPart = this.#levels.length > 0 && section.fields.length > 0
      if (isPart && endsInEmptyLine(this.#raw, headerEnd)) {
        this.#position = headerEnd
      }
      this.#countLines(section.fields.length, partAt ?? section.bodyStart)
      if (this.#breach !== null) return
      const head = readPartHead(section.fields, typeWithoutField)
      const boundary = boundaryOf(head.contentType)
      const isMessage = head.contentType.value === 'message/rfc822' && head.encoding !== 'base64'
      if (isMessage || boundary !== null) {
        this.#depth += 1
        if (this.#depth > MIME_DEPTH_MAX) {
          this.#breach = { cutAt: partAt ?? start, defect: 'too-deep' }
          return
        }
      }
      if (!this.#isEnclosed) this.#addPart(head, delimiter?.level ?? null)
      if (boundary !== null) this.#openLevel(boundary, head.contentType.value)
      if (!isMessage || this.#position >= this.#raw.length || this.#startsWithDelimiter()) return
      this.#isEnclosed = true
      typeWithoutField = 'text/plain'
    }
  }

  #addPart(head: PartHead, level: Level | null): void {
    const kind = kindOf(head)
    const content = { start: this.#position, end: this.#position }
    const alternative = level?.alternative ?? null
    const isVersion = level?.type === 'multipart/alternative'
    const within = level?.within ?? []
    const isRelated = level?.isRelated ?? false
    const part = { ...head, kind, alternative, isVersion, isRelated, within, content }
    this.#parts.push(part)
    this.#leaf = kind === 'multipart' ? null : part
  }

  #openLevel(boundary: string, type: string): void {
    const index = this.#parts.length - 1
    const part = this.#parts[index]
    this.#levels.push({
      boundary: Buffer.from(boundary, 'utf8'),
      depth: this.#depth,
      type,
      isEnclosed: this.#isEnclosed,
      alternative: type === 'multipart/alternative' ? index : (part?.alternative ?? null),
      isRelated: type === 'multipart/related' || part?.isRelated === true,
      within: [...(part?.within ?? []), index],
    })
  }

  #startsWithDelimiter(): boolean {
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

/** End of the line before `start`, whose CRLF belongs to the delimiter (RFC 2046 §5.1.1). */
function lineEndBefore(raw: Buffer, start: number): number {
  if (raw[start - 1] !== LF) return start
  return raw[start - 2] === CR ? start - 2 : start - 1
}

/** Whether an empty line ends at `end`, after at least one other line. */
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
