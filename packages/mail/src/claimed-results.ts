// Authentication-Results fields (RFC 8601) of a message that claim to be of a service which did not
// write them. Whoever reads a message believes the fields that bear the name of his own server (§5).

import { ADDRESS_TEXT_LENGTH_MAX } from './address-list.ts'
import { decodeWords } from './encoded-word.ts'

/** Header section of a message or part; real ones stay under 100 KiB. */
export const HEADER_BYTES_MAX = 256 * 1024

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09
const COLON = 0x3a

/**
 * The message without such fields: the very same octets where there is none. `isOurs` is asked for what
 * some reader could take for the authserv-id of a field, in lower case and without a dot at the end.
 * All else stays as it is, as does what begins past HEADER_BYTES_MAX. Time grows with the length only.
 */
export function withoutClaimedResults(
  raw: Uint8Array,
  isOurs: (authservId: string) => boolean,
): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const limit = Math.min(bytes.length, HEADER_BYTES_MAX)
  const kept: Buffer[] = []
  let keptFrom = 0
  let start = 0
  while (start < limit && !isEmptyLine(bytes, start)) {
    const { colon, end } = readField(bytes, start)
    if (isResults(bytes.subarray(start, Math.max(start, colon)))) {
      const value = bytes.toString('utf8', colon + 1, Math.min(end, colon + 1 + HEADER_BYTES_MAX))
      if (readAuthservIds(value).some(isOurs)) {
        kept.push(bytes.subarray(keptFrom, start))
        keptFrom = end
      }
    }
    start = end
  }
  return keptFrom === 0 ? raw : Buffer.concat([...kept, bytes.subarray(keptFrom)])
}

const NAME = 'authentication-results'

/** Whether some reader takes it for the name: with what no name may have left out. */
function isResults(name: Buffer): boolean {
  if (name.length < NAME.length || name.length > HEADER_BYTES_MAX) return false
  const text = name.toString('latin1').replace(/[^\x21-\x7e]/g, '')
  return text.replace(/\([^()]*\)/g, '').toLowerCase() === NAME
}

/**
 * What could be taken for the authserv-id of a field's value (RFC 8601 §2.2), past comments, folding,
 * controls and quotes: one in what is well-formed, several where comments can be read in more than one
 * way or are not closed.
 */
export function readAuthservIds(value: string): string[] {
  const nested = withoutComments(value)
  const flat = value.replace(/\([^()]*\)/g, ' ')
  const ids = new Set(wordsOf(nested.text, nested.isClosed ? 1 : WORDS_MAX))
  for (const id of wordsOf(flat.replace(/[()]/g, ' '), flat.includes('(') ? WORDS_MAX : 1))
    ids.add(id)
  return [...ids]
}

/** Of one field that are looked at. */
const WORDS_MAX = 50

function wordsOf(text: string, count: number): string[] {
  const start = text.slice(0, TEXT_READ).replace(/[\x00-\x08\x0e-\x1f\x7f"\\]/g, '')
  const [id = ''] = decodeWords(start.replace(/^[\s;,]+/, '')).split(';')
  const words = id.replace(/\s*\.\s*/g, '.').split(/[\s,=/]+/)
  return words
    .map((word) => word.toLowerCase().replace(/\.$/, ''))
    .filter((word) => word !== '')
    .slice(0, count)
}

/** In characters, past comments: more than any name has. */
const TEXT_READ = ADDRESS_TEXT_LENGTH_MAX

/** RFC 5322 §3.2.2; of a comment that is not closed the content stays. */
function withoutComments(value: string): { text: string; isClosed: boolean } {
  const pieces: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at]
    if (character === '\\') at += 1
    else if (character === '(') {
      if (depth === 0) {
        pieces.push(value.slice(from, at))
        from = at + 1
      }
      depth += 1
    } else if (character === ')' && depth > 0) {
      depth -= 1
      if (depth === 0) from = at + 1
    }
  }
  const rest = value.slice(from)
  pieces.push(depth === 0 ? rest : rest.replace(/[()]/g, ' '))
  return { text: pieces.join(' '), isClosed: depth === 0 }
}

/** A field with the lines that continue it; the name goes on to the colon, even one that begins a line. */
function readField(bytes: Buffer, start: number): { colon: number; end: number } {
  let colon = -1
  for (let at = start; at < bytes.length; at += 1) {
    const octet = bytes[at]
    if (octet === COLON && colon < 0) colon = at
    if (octet !== LF) continue
    const next = bytes[at + 1]
    if (next === SPACE || next === TAB || (next === COLON && colon < 0)) continue
    return { colon, end: at + 1 }
  }
  return { colon, end: bytes.length }
}

function isEmptyLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}
