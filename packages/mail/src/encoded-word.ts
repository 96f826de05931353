import { decodeText } from './charset.ts'
import { charsetOf } from './charset-names.ts'

/** `=?charset*language?Q or B?text?=`. Spaces in the text are invalid but common. */
const ENCODED_WORD = /=\?([^?\s]{1,80})\?([QqBb])\?([^?]*)\?=/g

type Word = { readonly charset: string; readonly isBase64: boolean; readonly text: string }

/**
 * Decodes the encoded words in `value` and keeps other text. White space between two encoded words
 * is dropped (RFC 2047 §6.2). Adjacent words in one charset are decoded together, because senders
 * split characters and shift states across words. If that yields more U+FFFD than decoding the
 * words one by one, they are decoded one by one. Never throws; runs in linear time.
 */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value
  const pieces: string[] = []
  let run: Word[] = []
  let position = 0
  for (const match of value.matchAll(ENCODED_WORD)) {
    const between = value.slice(position, match.index)
    const word = wordOf(match)
    const isAdjacent = position > 0 && isWhiteSpace(between)
    if (!isAdjacent || run[0]?.charset !== word.charset) {
      pieces.push(decodeRun(run))
      if (!isAdjacent) pieces.push(between)
      run = []
    }
    run.push(word)
    position = match.index + match[0].length
  }
  pieces.push(decodeRun(run), value.slice(position))
  return pieces.join('')
}

function wordOf(match: RegExpExecArray): Word {
  const [, label = '', encoding = '', text = ''] = match
  // RFC 2231 §5: a language may follow the charset.
  const charset = (label.split('*', 1)[0] ?? '').toLowerCase()
  return { charset, isBase64: encoding === 'B' || encoding === 'b', text }
}

function decodeRun(run: readonly Word[]): string {
  const first = run[0]
  if (first === undefined) return ''
  if (run.some((word) => !word.isBase64 && EIGHT_BIT.test(word.text))) return decodeMixed(run)
  const octets = octetsOf(run)
  const charset = run.length === 1 ? null : charsetOf(first.charset)
  const faults = charset === null ? 0 : countReplacements(charset.decode(octets))
  if (charset !== null && faults > 0) {
    const apart = run.map((word) => charset.decode(octetsOf([word]))).join('')
    if (countReplacements(apart) < faults) return apart
  }
  return decodeText(octets, first.charset)
}

/** Base64 without padding continues in the next word, so both are decoded as one text. */
function octetsOf(run: readonly Word[]): Uint8Array {
  const chunks: Buffer[] = []
  let base64: string[] = []
  for (const word of run) {
    if (word.isBase64) {
      base64.push(word.text)
      if (!word.text.trimEnd().endsWith('=')) continue
    }
    chunks.push(Buffer.from(base64.join(''), 'base64'))
    base64 = []
    if (!word.isBase64) chunks.push(decodeEscapes(word.text, Q_ENCODING))
  }
  chunks.push(Buffer.from(base64.join(''), 'base64'))
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

const EIGHT_BIT = /[^\x00-\x7f]/

/** Unencoded letters are already text; only the octets between them are decoded. */
function decodeMixed(run: readonly Word[]): string {
  const decode = (word: Word, text: string) =>
    decodeText(octetsOf([{ ...word, text }]), word.charset)
  return run
    .map((word) =>
      word.isBase64
        ? decode(word, word.text)
        : word.text.replace(/[\x00-\x7f]+/g, (ascii) => decode(word, ascii)),
    )
    .join('')
}

/** The Q encoding of RFC 2047 §4.2. */
const Q_ENCODING: EscapeMarks = { escape: 0x3d, space: 0x5f }

export type EscapeMarks = {
  /** The octet before two hexadecimal digits. */
  readonly escape: number
  /** The octet that represents a space; null for none. */
  readonly space: number | null
}

/** Decodes the escapes in `text` to octets; an invalid escape is unchanged. */
export function decodeEscapes(text: string, marks: EscapeMarks): Buffer {
  const source = Buffer.from(text, 'utf8')
  let length = 0
  for (let index = 0; index < source.length; index += 1) {
    let octet = source[index] ?? 0
    if (octet === marks.space) octet = 0x20
    else if (octet === marks.escape) {
      const high = hexValue(source[index + 1])
      const low = hexValue(source[index + 2])
      if (high >= 0 && low >= 0) {
        octet = high * 16 + low
        index += 2
      }
    }
    source[length++] = octet
  }
  return source.subarray(0, length)
}

/** The value of an ASCII hexadecimal digit, or -1. */
export function hexValue(octet: number | undefined): number {
  if (octet === undefined) return -1
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30
  const letter = octet | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function countReplacements(text: string): number {
  return text.split('\ufffd').length - 1
}

function isWhiteSpace(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text)
}
