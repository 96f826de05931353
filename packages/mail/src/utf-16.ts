import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { type Charset, charsetOf } from './charset-names.ts'

const littleEndian = new TextDecoder('utf-16le')
const bigEndian = new TextDecoder('utf-16be')

/** Octets sampled to find the byte order. */
const SAMPLE_BYTES = 4_096
/** UTF-16 text of at least this size has NULs, in digits, blanks and line ends. */
const PRINTABLE_BYTES_MIN = 16

/**
 * Decodes UTF-16 or UTF-32, recognised by a byte order mark, the label or NULs; otherwise returns
 * null. Without a byte order mark, the octets themselves show the byte order, which labels often
 * get wrong (RFC 2781 §4.3 assumes big-endian).
 */
export function decodeWide(octets: Buffer, declared: Charset | null): string | null {
  const mark = octets.toString('latin1', 0, 4)
  if (mark === '\xff\xfe\0\0' || mark === '\0\0\xfe\xff') {
    return charsetOf('utf-32')?.decode(octets) ?? null
  }
  if (mark.startsWith('\xfe\xff')) return bigEndian.decode(octets)
  if (mark.startsWith('\xff\xfe')) return littleEndian.decode(octets)
  const order = orderOfNuls(octets)
  if (order !== null) return order.decode(octets)
  if (declared?.name === 'utf-16be' || declared?.name === 'utf-16le') {
    return isPlain(octets) ? null : orderOf(octets, declared.name).decode(octets)
  }
  return null
}

/** The NULs of Latin letters are all at even or all at odd offsets. */
function orderOfNuls(octets: Buffer): TextDecoder | null {
  if (octets.length % 2 !== 0 || !octets.includes(0)) return null
  const sample = octets.subarray(0, SAMPLE_BYTES)
  let [even, odd] = [0, 0]
  for (let index = 0; index < sample.length; index += 2) {
    if (sample[index] === 0) even += 1
    if (sample[index + 1] === 0) odd += 1
  }
  const isMany = Math.max(even, odd) * 16 >= sample.length
  if (!isMany || Math.min(even, odd) * 8 > Math.max(even, odd)) return null
  return even > odd ? bigEndian : littleEndian
}

/** High octets vary less than low octets, because a text uses few Unicode blocks. */
function orderOf(octets: Buffer, name: string): TextDecoder {
  const kinds = [new Set<number>(), new Set<number>()]
  for (const [index, octet] of octets.subarray(0, SAMPLE_BYTES).entries()) {
    kinds[index % 2]?.add(octet)
  }
  const [even, odd] = kinds.map(({ size }) => size) as [number, number]
  if (even === odd) return name === 'utf-16be' ? bigEndian : littleEndian
  return even < odd ? bigEndian : littleEndian
}

/** Whether the octets are text in a superset of US-ASCII, so that the label is wrong. */
function isPlain(octets: Buffer): boolean {
  const text = octets.toString('latin1')
  if (/[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(text)) return false
  if (octets.length % 2 !== 0) return true
  return isUtf8(octets) && (octets.length >= PRINTABLE_BYTES_MIN || /[ \r\n]/.test(text))
}
