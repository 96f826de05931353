// A message to the octets after DATA (RFC 5321 §4.5.2): what must be known of it before it is
// offered, its dots doubled block by block, and its end.

const LF = 10
const CR = 13
const DOT = 46

export type ContentFacts = {
  /** No CR and no LF but in CRLF. Anything else reads differently to different servers. */
  readonly isCrlfOnly: boolean
  readonly isEightBit: boolean
  /** Some line begins with a dot. */
  readonly needsStuffing: boolean
  /** As RFC 1870 §5 counts: with the final CRLF that `endOfData` may add, without doubled dots. */
  readonly sizeBytes: number
}

/** One pass over all octets, whatever they are: about a nanosecond each. */
export function inspectContent(raw: Uint8Array): ContentFacts {
  const { length } = raw
  let bits = 0
  let isCrlfOnly = true
  let needsStuffing = length > 0 && raw[0] === DOT
  let afterCr = false
  for (let index = 0; index < length; index += 1) {
    const octet = raw[index] ?? 0
    bits |= octet
    if (octet === LF) {
      if (!afterCr) isCrlfOnly = false
      else if (raw[index + 1] === DOT) needsStuffing = true
      afterCr = false
    } else {
      if (afterCr) isCrlfOnly = false
      afterCr = octet === CR
    }
  }
  if (afterCr) isCrlfOnly = false
  const sizeBytes = length + (needsLineEnd(raw) ? 2 : 0)
  return { isCrlfOnly, isEightBit: bits > 127, needsStuffing, sizeBytes }
}

/**
 * The octets `from` to `to` of a message that has only CRLF, with the dots doubled that begin a
 * line. Blocks may be cut anywhere. Without such a dot it is a view of the message itself.
 */
export function stuffDots(raw: Uint8Array, from: number, to: number): Uint8Array {
  const stuffed = countLeadingDots(raw, from, to)
  if (stuffed === 0) return raw.subarray(from, to)
  const block = Buffer.allocUnsafe(to - from + stuffed)
  let written = 0
  for (let index = from; index < to; index += 1) {
    const octet = raw[index] ?? 0
    block[written++] = octet
    if (octet === DOT && isLineStart(raw, index)) block[written++] = DOT
  }
  return block
}

/** What follows the message: the final dot, and before it the line end that the message lacks. */
export function endOfData(raw: Uint8Array): '.\r\n' | '\r\n.\r\n' {
  return needsLineEnd(raw) ? '\r\n.\r\n' : '.\r\n'
}

function countLeadingDots(raw: Uint8Array, from: number, to: number): number {
  let count = 0
  for (let index = from; index < to; index += 1) {
    if (raw[index] === DOT && isLineStart(raw, index)) count += 1
  }
  return count
}

function isLineStart(raw: Uint8Array, index: number): boolean {
  return index === 0 || raw[index - 1] === LF
}

/** An empty message needs none: the dot begins the first line. */
function needsLineEnd(raw: Uint8Array): boolean {
  return raw.length > 0 && raw[raw.length - 1] !== LF
}
