// Mailbox files in mbox format (RFC 4155), in its reversible form mboxrd: in the message, a line of
// any number of ">" followed by "From " is prefixed with one more ">". The octets and line ends of
// a message are preserved.

import { parseDateTime } from './message-headers.ts'

/** The sender that represents the null reverse-path. */
const NULL_SENDER = 'MAILER-DAEMON'
const LF = 0x0a
const CR = 0x0d
const GREATER = 0x3e
const FROM = Buffer.from('From ')

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A message between a separator line and an empty line. The sender '' is the null reverse-path. */
export function mboxEntry(
  raw: Uint8Array,
  { sender, dateMs }: { sender: string; dateMs: number },
): Uint8Array[] {
  const line = Buffer.from(`From ${senderWord(sender)} ${asctime(dateMs)}\n`)
  // A message that does not end with CRLF gets a line end, which `readMbox` removes again.
  const end = Buffer.from(raw.at(-1) === LF && raw.at(-2) === CR ? '\n' : '\n\n')
  return [line, quoted(raw), end]
}

function senderWord(sender: string): string {
  // Removes everything that could end the word or the line.
  const word = sender.replace(/[\s\0]/g, '')
  return word === '' ? NULL_SENDER : word
}

function asctime(dateMs: number): string {
  const date = new Date(dateMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${WEEKDAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${day} ${time} ${date.getUTCFullYear()}`
}

/** Adds a ">" where needed. Works on octets, because an array of lines takes far more memory. */
function quoted(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const lines = fromLines(bytes)
  if (lines.length === 0) return bytes
  const whole = Buffer.allocUnsafe(bytes.length + lines.length)
  let line = 0
  for (let at = 0; at < bytes.length; at += 1) {
    if (at === lines[line]) whole[at + line++] = GREATER
    whole[at + line] = bytes[at] ?? 0
  }
  return whole
}

/** Start offsets of the lines that begin with any number of ">" followed by "From ". */
function fromLines(bytes: Buffer): number[] {
  const lines: number[] = []
  for (let at = bytes.indexOf(FROM); at !== -1; at = bytes.indexOf(FROM, at + FROM.length)) {
    let start = at
    while (start > 0 && bytes[start - 1] === GREATER) start -= 1
    if (start === 0 || bytes[start - 1] === LF) lines.push(start)
  }
  return lines
}

function unquoted(bytes: Buffer): Buffer {
  const lines = fromLines(bytes).filter((at) => bytes[at] === GREATER)
  if (lines.length === 0) return bytes
  const whole = Buffer.allocUnsafe(bytes.length - lines.length)
  let line = 0
  for (let at = 0; at < bytes.length; at += 1) {
    if (at === lines[line]) line += 1
    else whole[at - line] = bytes[at] ?? 0
  }
  return whole
}

export type MboxEntry = {
  /** '' for the null reverse-path; null if the separator line has no sender. */
  readonly sender: string | null
  readonly dateMs: number | null
  /** Null if the message is larger than the limit, measured without its quoting. */
  readonly raw: Uint8Array | null
  /** Offset in the file at which the message ends. */
  readonly end: number
}

export function isMbox(start: Uint8Array): boolean {
  return Buffer.from(start.buffer, start.byteOffset, start.byteLength)
    .subarray(0, FROM.length)
    .equals(FROM)
}

/**
 * Yields the messages of a file, with at most one in memory. A separator is a "From " line with a
 * time, at the start of the file or after an empty line; if the first separator has no time, times
 * are optional. A Content-Length is trusted if it leads to a separator or to the end of the file.
 * If a message's first line has no CRLF, its line ends become CRLF.
 */
export async function* readMbox(
  chunks: AsyncIterable<Uint8Array>,
  { bytesMax }: { bytesMax: number },
): AsyncGenerator<MboxEntry> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  let isSkipping = false
  let separator: Buffer | null = null
  let isDated = true
  /** End of the message by its Content-Length; null until the header is read. */
  let named: number | null = null
  const heldMax = Math.ceil(bytesMax * QUOTED_GROWTH_MAX) + SEPARATOR_BYTES_MAX
  let searchFrom = 0
  /** The next message; null if more octets are needed. */
  const take = (isWhole: boolean): MboxEntry | null => {
    if (separator === null) {
      const lineEnd = rest.indexOf(LF)
      if (lineEnd === -1 && rest.length <= SEPARATOR_BYTES_MAX && !isWhole) return null
      const end = lineEnd === -1 ? Math.min(rest.length, SEPARATOR_BYTES_MAX) : lineEnd + 1
      separator = Buffer.from(rest.subarray(0, end))
      if (offset === 0) isDated = isDatedSeparator(separator)
      rest = rest.subarray(end)
      offset += end
      searchFrom = 0
      named = null
    }
    if (named === null && !isSkipping) {
      named = namedEnd(rest, isWhole || rest.length > HEADER_BYTES_MAX)
      if (named === null) return null
      // A message longer than `heldMax` is refused anyway, so its stated length is ignored and its
      // end is found by the separator.
      if (named > heldMax) named = 0
    }
    if (named !== null && named > searchFrom && !isSkipping) {
      const start = separatorAfter(rest, named, { isDated, isWhole })
      if (start === 'unknown') return null
      if (start !== null) return end(start, { isExact: true, isBare: start === named })
      named = 0
    }
    const found = findSeparator(rest, searchFrom, { isDated, isWhole })
    searchFrom = found.searchFrom
    if (found.at === -1 && !isWhole) return null
    return end(found.at === -1 ? rest.length : found.at, { isExact: false, isBare: false })
  }
  const end = (at: number, form: ContentForm): MboxEntry => {
    const body = isSkipping ? null : rest.subarray(0, at)
    offset += at
    const entry = entryOf(separator ?? Buffer.alloc(0), body, { bytesMax, end: offset, ...form })
    rest = rest.subarray(at)
    isSkipping = false
    separator = null
    return entry
  }
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    for (let entry = take(false); entry !== null; entry = take(false)) yield entry
    if (rest.length > heldMax + SEPARATOR_BYTES_MAX) {
      isSkipping = true
      const dropped = Math.min(searchFrom, rest.length)
      rest = Buffer.from(rest.subarray(dropped))
      offset += dropped
      searchFrom = 0
    }
  }
  while (rest.length > 0 || separator !== null) {
    const entry = take(true)
    if (entry === null) return
    yield entry
  }
}

/** Worst case, when every line is "From ": six octets with the line end, seven when quoted. */
const QUOTED_GROWTH_MAX = 7 / 6
/** Separator lines are cut to this length. */
const SEPARATOR_BYTES_MAX = 4 * 1024
/** The Content-Length is ignored if the header is longer. */
const HEADER_BYTES_MAX = 256 * 1024

type Search = { isDated: boolean; isWhole: boolean }

/** The start of the next separator after an empty line, or -1 and the offset at which to resume. */
function findSeparator(
  bytes: Buffer,
  from: number,
  { isDated, isWhole }: Search,
): { at: number; searchFrom: number } {
  let at = bytes.indexOf('\nFrom ', from, 'latin1')
  for (; at !== -1; at = bytes.indexOf('\nFrom ', at + 1, 'latin1')) {
    const before = bytes[at - 1] === CR ? at - 2 : at - 1
    if (before >= 0 && bytes[before] !== LF) continue
    const line = lineAt(bytes, at + 1, isWhole)
    if (line === null) return { at: -1, searchFrom: Math.max(0, at - 2) }
    if (!isDated || isDatedSeparator(line)) return { at: at + 1, searchFrom: 0 }
  }
  // The last octets may be the start of a separator.
  return { at: -1, searchFrom: Math.max(from, bytes.length - SEPARATOR_LOOK_BACK) }
}

const SEPARATOR_LOOK_BACK = 16

/** The line at `start`, or null if the line may continue in later octets. */
function lineAt(bytes: Buffer, start: number, isWhole: boolean): Buffer | null {
  const end = bytes.indexOf(LF, start)
  if (end !== -1) return bytes.subarray(start, Math.min(end, start + SEPARATOR_BYTES_MAX))
  if (!isWhole && bytes.length - start < SEPARATOR_BYTES_MAX) return null
  return bytes.subarray(start, start + SEPARATOR_BYTES_MAX)
}

function isDatedSeparator(line: Buffer): boolean {
  if (line.length < TIME_LENGTH_MIN || !isMbox(line)) return false
  const text = line.toString('latin1', 0, SEPARATOR_BYTES_MAX)
  return ASCTIME.test(text) || RFC_TIME.test(text)
}

/** The length of a time like "Tue Feb  3 04:05 2015". */
const TIME_LENGTH_MIN = 20

const CONTENT_LENGTH = /^Content-Length:[ \t]*(\d{1,12})[ \t]*\r?$/im

/** End of the content by its Content-Length; 0 if it has none, null if the header may continue. */
function namedEnd(bytes: Buffer, isWhole: boolean): number | null {
  const found = ['\n\n', '\n\r\n'].map((end) => {
    const at = bytes.subarray(0, HEADER_BYTES_MAX).indexOf(end, 0, 'latin1')
    return at === -1 ? Number.POSITIVE_INFINITY : at + end.length
  })
  const end = Math.min(...found)
  if (end === Number.POSITIVE_INFINITY) return isWhole ? 0 : null
  const length = CONTENT_LENGTH.exec(bytes.toString('latin1', 0, end))?.[1]
  return length === undefined ? 0 : end + Number(length)
}

/**
 * Start of the separator after content that ends at this offset, past the empty line. Null if the
 * length is wrong, because no separator follows.
 */
function separatorAfter(
  bytes: Buffer,
  from: number,
  { isDated, isWhole }: Search,
): number | 'unknown' | null {
  let start = from
  while (start < from + LINE_ENDS_MAX && (bytes[start] === CR || bytes[start] === LF)) start += 1
  if (start >= bytes.length)
    return isWhole ? (from <= bytes.length ? bytes.length : null) : 'unknown'
  if (start > 0 && bytes[start - 1] !== LF) return null
  const line = lineAt(bytes, start, isWhole)
  if (line === null) return 'unknown'
  return isMbox(line) && (!isDated || isDatedSeparator(line)) ? start : null
}

/** An empty line, and a line end that Content-Length does not include. */
const LINE_ENDS_MAX = 4

/** Whether Content-Length is the exact length, and whether the empty line is missing. */
type ContentForm = { isExact: boolean; isBare: boolean }

function entryOf(
  separator: Buffer,
  body: Buffer | null,
  { bytesMax, end, isExact, isBare }: ContentForm & { bytesMax: number; end: number },
): MboxEntry {
  const head = readSeparator(separator.toString('latin1'))
  if (body === null) return { ...head, raw: null, end }
  const whole = isBare ? body : withoutLastLineEnd(body)
  const isAdded = hasCrlf(whole) && whole.at(-1) === LF && whole.at(-2) !== CR
  const content = isAdded ? whole.subarray(0, -1) : whole
  // Messages in a file that relies on Content-Length are not quoted.
  const isQuoted = !isExact || !fromLines(content).some((at) => content[at] !== GREATER)
  const raw = withCrlf(isQuoted ? unquoted(content) : content)
  return { ...head, raw: raw.length > bytesMax ? null : raw, end }
}

function hasCrlf(raw: Buffer): boolean {
  const first = raw.indexOf(LF)
  return first > 0 && raw[first - 1] === CR
}

/** Removes the empty line that ends every message of a file. */
function withoutLastLineEnd(body: Buffer): Buffer {
  if (body.at(-1) !== LF) return body
  const length = body.at(-2) === CR && body.at(-3) === LF ? 2 : 1
  return body.subarray(0, body.length - length)
}

/** Files of other programs have bare line feeds; a message of this service is unchanged. */
export function withCrlf(raw: Buffer): Buffer {
  if (raw.indexOf(LF) === -1 || hasCrlf(raw)) return raw
  let bare = 0
  for (let at = 0; at < raw.length; at += 1) if (isBareLf(raw, at)) bare += 1
  const whole = Buffer.allocUnsafe(raw.length + bare)
  let to = 0
  for (let at = 0; at < raw.length; at += 1) {
    if (isBareLf(raw, at)) whole[to++] = CR
    whole[to++] = raw[at] ?? 0
  }
  return whole
}

function isBareLf(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF && (at === 0 || bytes[at - 1] !== CR)
}

const ASCTIME =
  /\s(?:[A-Z][a-z]{2}),?\s+([A-Z][a-z]{2})\s+(\d{1,2})\s+(\d{2}:\d{2}(?::\d{2})?)\s+(?:([A-Z]{1,5}|[+-]\d{4})\s+)?(\d{4})(?:\s+([+-]\d{4}))?/

/** Matches a format that some programs write: "Tue, 3 Feb 2015 04:05:06". */
const RFC_TIME =
  /\s[A-Z][a-z]{2},?\s+(\d{1,2}\s+[A-Z][a-z]{2}\s+\d{4}\s+\d{2}:\d{2}:\d{2}(?:\s+[+-]\d{4})?)/

function readSeparator(line: string): { sender: string | null; dateMs: number | null } {
  const word = /^From\s+(\S+)/.exec(line)?.[1] ?? null
  const sender = word === null ? null : word.toUpperCase() === NULL_SENDER ? '' : word
  const found = ASCTIME.exec(line)
  if (found === null) {
    const time = RFC_TIME.exec(line)?.[1]
    return { sender, dateMs: time === undefined ? null : parseDateTime(time) }
  }
  const [, month, day, time, zone = 'UTC', year, offset = zone] = found
  return { sender, dateMs: parseDateTime(`${day} ${month} ${year} ${time} ${offset}`) }
}
