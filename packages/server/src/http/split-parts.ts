// A form's octets cut at its boundary (RFC 2046 §5.1.1): the header and the content of each part, or
// what is wrong with the whole. Knows nothing of fields.

/** 100 files, 50 copied recipients and the fields that come once. */
export const FORM_PARTS_MAX = 200
export const FORM_PART_HEAD_BYTES_MAX = 16 * 1024

export type RawPart = {
  /** Lower-case names with the values of each, every character an octet; a text tells what is wrong. */
  readonly header: ReadonlyMap<string, readonly string[]> | string
  /** Shares the memory of the whole. */
  readonly content: Buffer
}

/** A text tells what is wrong, to follow "the form is malformed". */
export function splitParts(bytes: Buffer, boundary: string): RawPart[] | string {
  const parts: RawPart[] = []
  let delimiter = findDelimiter(bytes, boundary, 0)
  while (delimiter !== null) {
    const { end } = delimiter
    if (end === 'close') return parts
    if (end === 'wrong') return 'a line begins with the boundary but has other text after it'
    if (parts.length === FORM_PARTS_MAX) return `it has more than ${FORM_PARTS_MAX} parts`
    // The line end before a delimiter belongs to it, and may be the one that ends the last.
    delimiter = findDelimiter(bytes, boundary, end - CRLF.length)
    if (delimiter !== null) parts.push(readPart(bytes.subarray(end, Math.max(end, delimiter.at))))
  }
  return 'it ends too early'
}

const CRLF = '\r\n'

/** `at` is where the line end before it begins; `end` where what follows it does. */
type Delimiter = { readonly at: number; readonly end: number | 'close' | 'wrong' }

/** Null where there is none, or it is not whole. */
function findDelimiter(bytes: Buffer, boundary: string, from: number): Delimiter | null {
  const first = `--${boundary}`
  const isFirst = from === 0 && bytes.toString('latin1', 0, first.length) === first
  const at = isFirst ? 0 : bytes.indexOf(CRLF + first, from, 'latin1')
  if (at === -1) return null
  let end = at + (isFirst ? 0 : CRLF.length) + first.length
  if (bytes.toString('latin1', end, end + 2) === '--') return { at, end: 'close' }
  // Blanks that somebody on the way may have added.
  while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1
  const rest = bytes.toString('latin1', end, end + CRLF.length)
  if (rest === CRLF) return { at, end: end + CRLF.length }
  return CRLF.startsWith(rest) ? null : { at, end: 'wrong' }
}

function readPart(part: Buffer): RawPart {
  if (part.toString('latin1', 0, CRLF.length) === CRLF) {
    return { header: new Map(), content: part.subarray(CRLF.length) }
  }
  const bounded = part.subarray(0, FORM_PART_HEAD_BYTES_MAX)
  const end = bounded.indexOf(CRLF + CRLF)
  if (end !== -1) {
    const header = readHeader(part.toString('latin1', 0, end))
    return { header, content: part.subarray(end + 2 * CRLF.length) }
  }
  // Without content the line end after the header may be the delimiter's.
  const isAllHeader = bounded.length === part.length && part.toString('latin1').endsWith(CRLF)
  if (isAllHeader) {
    const header = readHeader(part.toString('latin1', 0, part.length - CRLF.length))
    return { header, content: part.subarray(part.length) }
  }
  const header =
    bounded.length < part.length
      ? `has a header of more than ${FORM_PART_HEAD_BYTES_MAX} bytes`
      : 'has no empty line after its header'
  return { header, content: part }
}

function readHeader(text: string): Map<string, string[]> | string {
  const unfolded = text.replace(/\r\n(?=[ \t])/g, '')
  const header = new Map<string, string[]>()
  for (const line of unfolded.split(CRLF)) {
    if (/[\r\n\0]/.test(line)) return 'has a line break within a line of its header'
    const colon = line.indexOf(':')
    if (colon < 1) return 'has a header line without a name and a colon'
    const name = line.slice(0, colon).trim().toLowerCase()
    header.set(name, [...(header.get(name) ?? []), line.slice(colon + 1).trim()])
  }
  return header
}
