import { isUtf8 } from 'node:buffer'
import { decodeText } from '#charset.ts'
import { hexValue } from '#encoded-word.ts'
import { type StructuredValue, stripComments } from '#parameters.ts'

/** Maximum lines of text and structure; lines of files are never read one by one. */
export const MIME_LINES_MAX = 50_000

/**
 * Decodes text with LF line ends. Flowed text and UTF-7 apply to plain text only: HTML in UTF-7
 * hides its markup from every byte-level filter.
 */
export function decodeTextBody(
  octets: Buffer,
  encoding: TransferEncoding,
  { value, parameters }: StructuredValue,
  others: () => readonly (string | null)[] = () => [],
): string {
  const charset = parameters.get('charset') ?? null
  const isHtml = value === 'text/html'
  const decoded = decodeTransfer(octets, encoding)
  const text = endLinesWithLineFeed(decodeText(decoded, charset, { isHtml, others }))
  const isFlowed = !isHtml && parameters.get('format')?.toLowerCase() === 'flowed'
  if (!isFlowed || hasTooManyLines(text)) return text
  return unfold(text, parameters.get('delsp')?.toLowerCase() === 'yes')
}

/** Normalises line ends to LF, as text is stored. */
function endLinesWithLineFeed(text: string): string {
  if (!text.includes('\r')) return text
  const normal = text.replaceAll('\r\n', '\n')
  // Programs that add a CR to lines ending in CRLF write `\r\r\n`. The look-behind prevents
  // rescanning a run of CRs from each CR.
  return normal.includes('\r\n') ? normal.replace(/(?<!\r)\r+\n/g, '\n') : normal
}

/** Whether a decoded text has more than MIME_LINES_MAX lines, too many to split. */
export function hasTooManyLines(text: string): boolean {
  let lines = 0
  for (const lineEnd of ['\n', '\r']) {
    for (let at = text.indexOf(lineEnd); at >= 0; at = text.indexOf(lineEnd, at + 1)) {
      lines += 1
      if (lines > MIME_LINES_MAX) return true
    }
  }
  return false
}

/**
 * Format=flowed (RFC 3676 §4): a line that ends in a space continues in the next line of the same
 * quote depth. A stuffed space is removed first. Quoted lines keep their quote marks at the start.
 */
function unfold(text: string, dropsSpace: boolean): string {
  const pieces: string[] = []
  let openDepth = -1
  for (const [index, line] of text.split('\n').entries()) {
    const depth = quoteDepth(line)
    const rest = line.slice(depth)
    const content = rest.startsWith(' ') ? rest.slice(1) : rest
    const isContinued = openDepth === depth && content !== '-- '
    if (!isContinued) {
      if (index > 0) pieces.push('\n')
      if (depth > 0) pieces.push('>'.repeat(depth), ' ')
    }
    const isOpen = content.endsWith(' ') && content !== '-- '
    openDepth = isOpen ? depth : -1
    pieces.push(isOpen && dropsSpace ? content.slice(0, -1) : content)
  }
  return pieces.join('')
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line.charCodeAt(depth) === 0x3e) depth += 1
  return depth
}

export type TransferEncoding = 'base64' | 'quoted-printable' | 'identity'

/** The first encoding in the field; 7bit, 8bit, binary and unknown encodings are the identity. */
export function transferEncodingOf(field: string | null): TransferEncoding {
  const name = field === null ? '' : (/[\w-]+/.exec(stripComments(field))?.[0] ?? '')
  if (/base64/i.test(name)) return 'base64'
  return /quoted-printable/i.test(name) ? 'quoted-printable' : 'identity'
}

/** Octets sampled to distinguish text from base64. */
const SAMPLE_BYTES = 4_096
/** Base64 has a smaller share of other characters, even if a gateway damaged it. */
const STRAY_SHARE_MAX = 1 / 20

/** `identity` for plain text that is declared as base64. */
export function trueEncoding(octets: Buffer, encoding: TransferEncoding): TransferEncoding {
  return encoding === 'base64' && isPlainText(octets) ? 'identity' : encoding
}

function isPlainText(octets: Buffer): boolean {
  const sample = octets
    .toString('latin1', 0, SAMPLE_BYTES)
    .replace(/[\r\n]+/g, '')
    .trim()
  if (sample === '') return false
  const strays = sample.match(/[^A-Za-z0-9+/=]/g)?.length ?? 0
  if (strays > 0) return strays > sample.length * STRAY_SHARE_MAX
  // A single word may consist of base64 characters but decode to arbitrary octets.
  if (octets.length > SAMPLE_BYTES || sample.replace(/=+$/, '').length % 4 !== 1) return false
  const decoded = decodeBase64(octets)
  return !isUtf8(decoded) || /[\x00-\x08\x0e-\x1f]/.test(decoded.toString('latin1'))
}

/** Decodes the octets; returns a view of them if they were not encoded. */
export function decodeTransfer(octets: Buffer, encoding: TransferEncoding): Buffer {
  switch (encoding) {
    case 'base64':
      return decodeBase64(octets)
    case 'quoted-printable':
      return decodeQuotedPrintable(octets)
    case 'identity':
      return octets
  }
}

/** Size of the result of `decodeTransfer`, computed without decoding base64. */
export function decodedSize(octets: Buffer, encoding: TransferEncoding): number {
  if (encoding === 'base64') return sizeOfBase64(octets)
  return decodeTransfer(octets, encoding).length
}

/** Decodes base64, skipping characters outside its alphabet. Padding in the middle ends a unit. */
export function decodeBase64(encoded: Buffer): Buffer {
  const padding = encoded.indexOf(EQUALS)
  const text = encoded.toString('latin1')
  const isClean = padding < 0 || !/[^=\r\n]/.test(text.slice(padding))
  if (isClean && !/[^A-Za-z0-9+/=\r\n]/.test(text)) return Buffer.from(text, 'base64')
  return decodeIrregularBase64(encoded)
}

const EQUALS = 0x3d

/** Decodes octet by octet, with no memory beyond the result, whatever the input. */
function decodeIrregularBase64(encoded: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(Math.ceil((encoded.length * 3) / 4))
  let length = 0
  let bits = 0
  let count = 0
  for (const octet of encoded) {
    if (octet === EQUALS) count = 0
    const value = BASE64_VALUES[octet] ?? NOT_IN_ALPHABET
    if (value === NOT_IN_ALPHABET) continue
    bits = ((bits << 6) | value) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    decoded[length++] = (bits >> count) & 0xff
  }
  return decoded.subarray(0, length)
}

function sizeOfBase64(encoded: Buffer): number {
  let units = 0
  let length = 0
  for (const octet of encoded) {
    if (octet === EQUALS) {
      length += Math.floor((units * 3) / 4)
      units = 0
    } else if (BASE64_VALUES[octet] !== NOT_IN_ALPHABET) units += 1
  }
  return length + Math.floor((units * 3) / 4)
}

const NOT_IN_ALPHABET = 64
const BASE64_VALUES = base64Values()

function base64Values(): Uint8Array {
  const values = new Uint8Array(256).fill(NOT_IN_ALPHABET)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  for (let value = 0; value < alphabet.length; value += 1)
    values[alphabet.charCodeAt(value)] = value
  return values
}

/**
 * Decodes quoted-printable (RFC 2045 §6.7). An `=` that starts no octet and ends no line is
 * literal. Line ends that are not encoded are unchanged.
 */
export function decodeQuotedPrintable(encoded: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let index = 0; index < encoded.length; index += 1) {
    let octet = encoded[index] ?? 0
    if (octet === 0x3d) {
      const high = hexValue(encoded[index + 1])
      const low = hexValue(encoded[index + 2])
      if (high >= 0 && low >= 0) {
        octet = high * 16 + low
        index += 2
      } else {
        const lineEnd = endOfBlanks(encoded, index + 1)
        if (encoded[lineEnd] === 0x0a || lineEnd >= encoded.length) {
          index = lineEnd
          continue
        }
      }
    }
    decoded[length++] = octet
  }
  return decoded.subarray(0, length)
}

/** Blanks added in transit may follow a soft line break (RFC 2045 §6.7, rule 3). */
function endOfBlanks(octets: Buffer, from: number): number {
  let end = from
  while (octets[end] === 0x20 || octets[end] === 0x09 || octets[end] === 0x0d) end += 1
  return end
}
