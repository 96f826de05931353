import { isAscii, isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { type Charset, charsetOf, isUtf7 } from './charset-names.ts'
import { guessCharset, isSurer, SCORE_DOUBTED, scoreAs } from './guess-charset.ts'
import { decodeIso2022, isIso2022 } from './iso-2022.ts'
import { decodeWide } from './utf-16.ts'

const utf8 = new TextDecoder('utf-8')
const windows1252 = new TextDecoder('windows-1252')

/** Octets sampled from a long text before all of it is checked. */
const SAMPLE_BYTES = 64 * 1024
/** HTML may declare its charset within its first 4,096 octets. */
const META_BYTES = 4_096

export type CharsetHints = {
  /**
   * HTML may declare its own charset. UTF-7 is never decoded, because it hides markup from filters.
   */
  readonly isHtml?: boolean
  /** Charsets declared elsewhere by the sender, for text that declares none. */
  readonly others?: () => readonly (string | null)[]
}

/**
 * Decodes a body, file or header field that declares the charset `label` ('' or null for none).
 * Senders mislabel text in known ways, so the first of these that decodes everything wins: a byte
 * order mark; ISO-2022 if its escape sequences occur; valid UTF-8, which text in a single-octet
 * charset never forms by chance; the label; the `<meta>` of HTML; charsets declared elsewhere; a
 * guess by letter frequency. Octets that nothing decodes become U+FFFD.
 */
export function decodeText(
  octets: Uint8Array,
  label: string | null,
  { isHtml = false, others = () => [] }: CharsetHints = {},
): string {
  const bytes = bufferOf(octets)
  if (isUtf7(label) && !isHtml) return decodeUtf7(octets)
  const named = charsetOf(label)
  const wide = decodeWide(bytes, named)
  if (wide !== null) return wide
  const declared = named?.name.startsWith('utf-16') === true ? null : named
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf && isUtf8(bytes)) {
    return utf8.decode(bytes)
  }
  if (isAscii(bytes)) {
    // Browsers trust the label of HTML here, and our users must see the same text.
    const mayBeIso2022 = !isHtml || declared === null || declared.name === 'us-ascii'
    if (mayBeIso2022 && isIso2022(bytes)) return decodeIso2022(bytes)
    return declared === null || declared.isAsciiSuperset
      ? bytes.toString('latin1')
      : declared.decode(bytes)
  }
  if (isUtf8(bytes) && isMeantAsUtf8(bytes, declared)) return utf8.decode(bytes)
  const hints = isHtml ? [metaCharset(bytes), ...others()] : others()
  return decodeEightBit(bytes, declared, hints.map(charsetOf))
}

/** Decodes octets that contain non-ASCII characters and are not UTF-8. */
function decodeEightBit(
  bytes: Buffer,
  declared: Charset | null,
  hints: readonly (Charset | null)[],
): string {
  const label = declared?.isAsciiSuperset === true || bytes.includes(ESCAPE) ? declared : null
  const labelled = label?.name === 'us-ascii' || label?.name === 'utf-8' ? null : label
  if (labelled === null || isOneOctet(labelled)) {
    const perFault = labelled !== null ? 4 : declared?.name === 'utf-8' ? 1 / 4 : 1
    const text = mostlyUtf8(bytes, perFault)
    if (text !== null) return text
  }
  const guess = guessCharset(bytes)
  const score = labelled === null ? null : scoreAs(bytes, labelled)
  const isWrong = score !== null && isSurer(guess, bytes, score)
  const believed = labelled === null || isWrong ? [] : [labelled, siblingOf(labelled)]
  let best: { text: string; faults: number } | null = null
  for (const charset of [...believed, ...(isWrong ? [] : hints), guess.charset]) {
    if (charset === null || charset.name === 'utf-8' || charset.name === 'us-ascii') continue
    const text = charset.decode(bytes)
    const faults = countFaults(text)
    // A few damaged multi-octet characters do not prove the label wrong.
    const isGood = charset === labelled && !isOneOctet(charset) && faults * 20 < bytes.length
    if (faults === 0 || isGood) return text
    if (best === null || faults < best.faults) best = { text, faults }
  }
  return best?.text ?? windows1252.decode(bytes)
}

const ESCAPE = 0x1b

/** Counts U+FFFD and control characters of ISO 8859 that are letters in Windows charsets. */
function countFaults(text: string): number {
  return text.match(/[\ufffd\x80-\x84\x86-\x9f]/g)?.length ?? 0
}

/** Minimum characters of UTF-8 in charsets where ordinary words can be valid UTF-8 by chance. */
const UTF8_CHARACTERS_MIN = 4

function isMeantAsUtf8(bytes: Buffer, declared: Charset | null): boolean {
  if (declared === null || (isOneOctet(declared) && declared.name !== 'windows-874')) return true
  if (declared.name === 'utf-8' || !declared.isAsciiSuperset) return true
  const characters = utf8.decode(bytes).match(/[^\x00-\x7f]/gu)?.length ?? 0
  const isUnusual = (scoreAs(bytes, declared) ?? 1) < SCORE_DOUBTED
  return characters >= UTF8_CHARACTERS_MIN || isUnusual || countFaults(declared.decode(bytes)) > 0
}

const MULTI_OCTET = /^(?:utf|gb|big5|euc|shift|johab|cp9|hz|iso-2022)/

function isOneOctet({ name }: Charset): boolean {
  return !MULTI_OCTET.test(name)
}

/** The charsets that Windows programs and programs in Hong Kong write under a standard's name. */
const SIBLINGS: Readonly<Record<string, string>> = {
  'iso-8859-2': 'windows-1250',
  'iso-8859-4': 'windows-1257',
  'iso-8859-5': 'windows-1251',
  'iso-8859-6': 'windows-1256',
  'iso-8859-7': 'windows-1253',
  'iso-8859-8': 'windows-1255',
  'iso-8859-8-i': 'windows-1255',
  'iso-8859-13': 'windows-1257',
  'iso-8859-15': 'windows-1252',
  'iso-8859-16': 'windows-1250',
}

function siblingOf({ name }: Charset): Charset | null {
  return charsetOf(SIBLINGS[name] ?? null)
}

/**
 * Decodes UTF-8 whose faults are at least `perFault` characters apart on average, or whose
 * characters are truncated; otherwise returns null. An invalid octet within a word is a letter that
 * was inserted in another charset.
 */
function mostlyUtf8(bytes: Buffer, perFault: number): string | null {
  if (bytes.length > SAMPLE_BYTES) {
    // Checking faults one by one is slow; text in another charset usually has them from its start.
    const sample = bytes.subarray(0, SAMPLE_BYTES)
    if (!isAscii(sample) && !isUtf8(sample) && mostlyUtf8(sample, perFault) === null) return null
  }
  let [characters, strays, marks, cuts] = [0, 0, 0, 0]
  const text = bytes.toString('latin1').replace(UTF8_RUNS, (run, at: number) => {
    const octets = Buffer.from(run, 'latin1')
    if (isUtf8(octets)) {
      characters += run.match(/[\xc2-\xf4]/g)?.length ?? 0
      return octets.toString('utf8')
    }
    if (run.length > 1) {
      cuts += 1
      return '\ufffd'
    }
    if (QUOTATION_MARK.test(run)) {
      marks += 1
      return windows1252.decode(octets)
    }
    strays += 1
    const letter = windows1252.decode(octets)
    const [before, after] = [latin1At(bytes, at - 1), latin1At(bytes, at + 1)]
    // No program writes ÿ (0xff) within a word, or a capital after a small letter.
    const isLetter = run !== '\xff' && !(/[a-z]/.test(before) && /\p{Lu}/u.test(letter))
    return isLetter && /[a-z]/i.test(before + after) ? letter : '\ufffd'
  })
  if (strays + marks + cuts === 0) return null
  const isMeant = characters > 0 && characters >= perFault * (strays + cuts)
  return isMeant || (strays + marks === 0 && perFault <= 1) ? text : null
}

/** Matches valid UTF-8, a truncated character, or a single other octet. */
const UTF8_RUNS =
  /(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){1,1024}|[\xe0-\xf4][\x80-\xbf]{1,2}|[\x80-\xff]/g

/** The quotation marks of windows-1252, which programs put around text of any charset. */
const QUOTATION_MARK = /[\x91-\x94]/

function latin1At(bytes: Buffer, index: number): string {
  const octet = bytes[index]
  return octet === undefined ? '' : String.fromCharCode(octet)
}

/**
 * The charset that HTML or XML declares at its start. A declared UTF-16 means UTF-8, because the
 * declaration itself was readable as US-ASCII.
 */
function metaCharset(bytes: Buffer): string | null {
  const head = bytes.toString('latin1', 0, META_BYTES)
  const name =
    /<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]{2,40})/i.exec(head)?.[1] ??
    /^\s*<\?xml\b[^>]{0,100}?\bencoding\s*=\s*["']([\w.:-]{2,40})/i.exec(head)?.[1] ??
    null
  return name !== null && /^utf-?16/i.test(name) ? 'utf-8' : name
}

/**
 * Decodes UTF-7 (RFC 2152), for header text and plain text only: HTML in UTF-7 hides its markup
 * from byte-level filters. A sequence that cannot be decoded is unchanged.
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

/** Text is decoded in blocks, because replacing millions of matches at once exceeds V8's memory. */
const UTF7_BLOCK_LENGTH = 64 * 1024
const UTF7_SEQUENCE = /[A-Za-z0-9+/]*-?/y

function endOfUtf7Block(text: string, start: number): number {
  // A block never ends within a sequence or before its closing hyphen.
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

/** A Buffer over the same memory. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Percent-decodes `text`; returns it unchanged if the encoding is invalid. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Removes NUL, which PostgreSQL refuses and which truncates text in SQLite, and replaces lone
 * surrogates with U+FFFD. Idempotent.
 */
export function cleanText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/**
 * Clean text on one line, trimmed: tabs and line breaks become spaces, other control characters are
 * removed.
 */
export function cleanLine(text: string): string {
  return cleanText(
    text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '').replace(/[\t\r\n]+/g, ' '),
  ).trim()
}
