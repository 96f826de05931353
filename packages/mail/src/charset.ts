import { TextDecoder } from 'node:util'

/** Charset labels whose decoders are remembered; senders make labels up. */
const CHARSET_DECODERS_MAX = 256

const utf8 = new TextDecoder('utf-8')
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
const utf16be = new TextDecoder('utf-16be')
const windows1252 = new TextDecoder('windows-1252')

/** Labels in use that TextDecoder refuses although it knows the encoding; separators removed. */
const ALIASES = new Map([
  ['shiftjis', 'shift_jis'],
  ['windows31j', 'shift_jis'],
  ['cp932', 'shift_jis'],
  ['ms932', 'shift_jis'],
  ['eucjp', 'euc-jp'],
  ['cp51932', 'euc-jp'],
  ['iso2022jp', 'iso-2022-jp'],
  ['iso2022jp1', 'iso-2022-jp'],
  ['iso2022jp2', 'iso-2022-jp'],
  ['cp50220', 'iso-2022-jp'],
  ['cp50221', 'iso-2022-jp'],
  ['euckr', 'euc-kr'],
  ['cp949', 'euc-kr'],
  ['ms949', 'euc-kr'],
  ['uhc', 'euc-kr'],
  ['cp936', 'gbk'],
  ['windows936', 'gbk'],
  ['ms936', 'gbk'],
  ['cp950', 'big5'],
  ['windows950', 'big5'],
  ['ms950', 'big5'],
  ['cp874', 'windows-874'],
  ['tis620', 'windows-874'],
  ['iso88598i', 'iso-8859-8-i'],
  ['iso88598e', 'iso-8859-8'],
  ['utf8', 'utf-8'],
  ['latin1', 'iso-8859-1'],
  ['ascii', 'us-ascii'],
])

const decoders = new Map<string, TextDecoder | null>()

/**
 * The text of `bytes`, U+FFFD where they make none. Without a label they are taken for UTF-8; with
 * a label nobody knows for UTF-8 where that is valid, else for windows-1252.
 */
export function decodeCharset(bytes: Uint8Array, label: string | null): string {
  if (label === null || label === '') return utf8.decode(bytes)
  const decoder = decoderOf(label)
  if (decoder === null) return guessText(bytes, null)
  // RFC 2781 §3.3: the label leaves the order to the mark; TextDecoder takes it for little-endian.
  const isBigEndian = bytes[0] === 0xfe && bytes[1] === 0xff && decoder.encoding === 'utf-16le'
  return (isBigEndian ? utf16be : decoder).decode(bytes)
}

/**
 * The text of 8-bit bytes that carry no label (RFC 6532 allows UTF-8 in header fields, senders write
 * anything): UTF-8 where that is valid or has as many letters as faults, else `fallbackLabel`, else windows-1252.
 */
export function guessText(bytes: Uint8Array, fallbackLabel: string | null): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    const text = utf8.decode(bytes)
    if (isMostlyValid(text)) return text
    const fallback = fallbackLabel === null ? null : decoderOf(fallbackLabel)
    return (fallback === null || fallback.encoding === 'utf-8' ? windows1252 : fallback).decode(
      bytes,
    )
  }
}

/** Whether letters beyond ASCII, which other charsets make by chance alone, are as many as faults. */
function isMostlyValid(decoded: string): boolean {
  const faults = decoded.split('\ufffd').length - 1
  const letters = decoded.match(/[^\x00-\x7f]/gu)?.length ?? 0
  return letters >= 2 * faults
}

/** Whether the label names UTF-7 (RFC 2152), which TextDecoder refuses. */
export function isUtf7(label: string | null): boolean {
  return label !== null && /^\s*(?:x-)?(?:unicode-[12]-[01]-)?utf-?7\s*$/i.test(label)
}

/**
 * RFC 2152. Only for header text and plain text: decoded as HTML it hides markup from every filter
 * that reads the bytes. A sequence that does not decode stays unchanged.
 */
export function decodeUtf7(bytes: Uint8Array): string {
  const text = bufferOf(bytes).toString('latin1')
  const blocks: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = endOfUtf7Block(text, start)
    blocks.push(decodeUtf7Block(text.slice(start, end)))
    start = end
  }
  return blocks.join('')
}

/** A replacement of millions of matches at once takes more memory than V8 will give. */
const UTF7_BLOCK_LENGTH = 64 * 1024
const UTF7_SEQUENCE = /[A-Za-z0-9+/]*-?/y

function endOfUtf7Block(text: string, start: number): number {
  // No block ends within a sequence, the mark that ends it included.
  UTF7_SEQUENCE.lastIndex = start + UTF7_BLOCK_LENGTH
  UTF7_SEQUENCE.test(text)
  return Math.min(text.length, UTF7_SEQUENCE.lastIndex || text.length)
}

function decodeUtf7Block(text: string): string {
  return text.replace(/\+([A-Za-z0-9+/]*)(-?)/g, (whole, encoded: string, end: string) => {
    if (encoded === '') return end === '-' ? '+' : whole
    const octets = Buffer.from(encoded, 'base64')
    const even = octets.length - (octets.length % 2)
    if (even === 0) return whole
    return octets.subarray(0, even).swap16().toString('utf16le').toWellFormed()
  })
}

function decoderOf(label: string): TextDecoder | null {
  const known = decoders.get(label)
  if (known !== undefined) return known
  const decoder = makeDecoder(label)
  if (decoders.size < CHARSET_DECODERS_MAX && label.length < 64) decoders.set(label, decoder)
  return decoder
}

function makeDecoder(label: string): TextDecoder | null {
  const lower = label.trim().toLowerCase()
  const bare = lower.replace(/^(?:x-ms-|x-|cs)/, '').replace(/[\s._-]+/g, '')
  for (const candidate of [lower, ALIASES.get(bare), bare]) {
    if (candidate === undefined) continue
    try {
      return new TextDecoder(candidate)
    } catch {
      // Not a label of the Encoding Standard.
    }
  }
  return null
}

/** The same memory as a Buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** `text` without its percent encoding, or as it is where that is broken. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * `text` without NUL (PostgreSQL refuses it, SQLite stops at it) and with lone surrogates replaced
 * by U+FFFD. Any other character stays. Applying it twice changes nothing.
 */
export function cleanText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/** Clean text on one line: also without line breaks and other control characters, trimmed. */
export function cleanLine(text: string): string {
  return cleanText(
    text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '').replace(/[\t\r\n]+/g, ' '),
  ).trim()
}
