import { createRequire } from 'node:module'
import { TextDecoder } from 'node:util'
import type Iconv from 'iconv-lite'
import { decodeHz, decodeIso2022 } from './iso-2022.ts'

/** The cache of labels is bounded because senders invent labels. */
const LABELS_MAX = 256
const LABEL_LENGTH_MAX = 100

export type Charset = {
  /** The charset's name in the Encoding Standard, or else the label's own. */
  readonly name: string
  /** Decodes octets; invalid ones become U+FFFD. */
  readonly decode: (octets: Uint8Array) => string
  /** Whether octets below 128 are US-ASCII, except as the second octet of a character. */
  readonly isAsciiSuperset: boolean
}

/** Labels that mail uses but neither library supports, reduced to letters and digits. */
const ALIASES = new Map([
  ['ascii', 'us-ascii'],
  ['646', 'us-ascii'],
  ['iso646us', 'us-ascii'],
  ['ansix341968', 'us-ascii'],
  ['ansix341986', 'us-ascii'],
  ['usascii', 'us-ascii'],
  ['utf8mb3', 'utf-8'],
  ['utf8mb4', 'utf-8'],
  ['utf8n', 'utf-8'],
  ['utf8sig', 'utf-8'],
  ['utf8bom', 'utf-8'],
  ['unicode20utf8', 'utf-8'],
  ['jis', 'iso-2022-jp'],
  ['hz', 'hz-gb-2312'],
  ['hzgb2312', 'hz-gb-2312'],
  ['windows31j', 'shift_jis'],
  ['eucjpms', 'euc-jp'],
  ['cp51932', 'euc-jp'],
  ['uhc', 'euc-kr'],
  ['ksc5601', 'euc-kr'],
  ['ksx1001', 'euc-kr'],
  ['euccn', 'gbk'],
  ['eucgb2312cn', 'gbk'],
  ['gb23121980', 'gbk'],
  ['gb231280', 'gbk'],
  ['eucbig5', 'big5'],
  ['big5eten', 'big5'],
  ['big5hk', 'big5-hkscs'],
  ['latin9', 'iso-8859-15'],
  ['koi8', 'koi8-r'],
  ['koi8ru', 'koi8-u'],
  ['maccyrillic', 'x-mac-cyrillic'],
  ['macukrainian', 'x-mac-cyrillic'],
  ['macukraine', 'x-mac-cyrillic'],
  ['macroman', 'macintosh'],
  ['thai', 'windows-874'],
])
/** Vendors' code page numbers for charsets with other names. */
const CODE_PAGES = new Map([
  ['932', 'shift_jis'],
  ['943', 'shift_jis'],
  ['936', 'gbk'],
  ['949', 'euc-kr'],
  ['950', 'big5'],
  ['951', 'big5-hkscs'],
  ['1361', 'johab'],
  ['1200', 'utf-16le'],
  ['1201', 'utf-16be'],
  ['10000', 'macintosh'],
  ['10007', 'x-mac-cyrillic'],
  ['20127', 'us-ascii'],
  ['20866', 'koi8-r'],
  ['21866', 'koi8-u'],
  ['20932', 'euc-jp'],
  ['20936', 'gbk'],
  ['50220', 'iso-2022-jp'],
  ['50221', 'iso-2022-jp'],
  ['50222', 'iso-2022-jp'],
  ['50225', 'iso-2022-kr'],
  ['51932', 'euc-jp'],
  ['51936', 'gbk'],
  ['51949', 'euc-kr'],
  ['52936', 'hz-gb-2312'],
  ['54936', 'gb18030'],
  ['65000', 'utf-7'],
  ['65001', 'utf-8'],
])
/** Labels without information: a program's default charset or unknown octets. */
const MEANINGLESS =
  /^(?:ansi|default|unknown|x?unknown8?bit|unknown8bit|[78]bit|binary|none|null|text|plain|xuserdefined|userdefined|unicode|auto|asis|charset|system|local)$/

/** Encodings for which Node's TextDecoder covers less than the Encoding Standard. */
const EXTENDED = new Map([
  ['euc-kr', 'cp949'],
  ['big5', 'big5-hkscs'],
])

const known = new Map<string, Charset | null>()

/**
 * Finds the charset for a label as senders write it: with other separators or prefixes, in quotes,
 * with a comment, or as an encoded word. Null for a missing, meaningless or unknown label.
 */
export function charsetOf(label: string | null): Charset | null {
  if (label === null || label.length > LABEL_LENGTH_MAX) return null
  const found = known.get(label)
  if (found !== undefined) return found
  const charset = findCharset(bareLabel(label))
  if (known.size < LABELS_MAX) known.set(label, charset)
  return charset
}

/** Whether the label names UTF-7 (RFC 2152). */
export function isUtf7(label: string | null): boolean {
  if (label === null || label.length > LABEL_LENGTH_MAX) return false
  const name = lettersOf(bareLabel(label))
  return /^(?:x|cs)?(?:unicode[12][01])?(?:imap4?)?utf7(?:imap)?$/.test(name) || name === 'cp65000'
}

/** Extracts the name from a label, in lower case. */
function bareLabel(label: string): string {
  const word = /^\W*=\?[^?]*\?([qb])\?([^?]*)\?=/i.exec(label)
  const [, encoding = '', text = ''] = word ?? []
  const written = word === null ? label : encoding.toLowerCase() === 'b' ? atobOf(text) : text
  const name = /^["'\s<]*(?:charset\s*[=:]\s*)?["'\s]*([^"'\s,;()<>]+(?:\s[\w-]+)?)/i.exec(written)
  return (name?.[1] ?? '').toLowerCase()
}

function atobOf(text: string): string {
  return Buffer.from(text, 'base64').toString('latin1')
}

function lettersOf(name: string): string {
  return name.replace(/[^a-z0-9]+/g, '')
}

function findCharset(label: string): Charset | null {
  const letters = lettersOf(label)
  if (letters === '' || MEANINGLESS.test(letters)) return null
  const bare = letters.replace(/^(?:xms|x|cs)(?=[a-z])/, '')
  const name = ALIASES.get(letters) ?? ALIASES.get(bare) ?? numberedName(letters)
  if (name !== null) return makeCharset(name)
  return makeCharset(label) ?? makeCharset(bare)
}

/** Families with numbered members: `windows1251`, `cp-1251`, `8859_2`, `iso88598i`. */
function numberedName(letters: string): string | null {
  const page =
    /^x?(?:windows|win|cp|ms|ibm|dos|codepage|msdoscp)?(\d{3,5})$/.exec(letters)?.[1] ?? ''
  if (/^(?:125\d|874)$/.test(page)) return `windows-${page}`
  const named = CODE_PAGES.get(page)
  if (named !== undefined) return named
  if (/^[78]\d\d$|^1125$|^437$/.test(page)) return `cp${page}`
  const iso = /^x?(?:iso)?8859(1[0-6]|[1-9])([ei]?)(?:19\d\d)?$/.exec(letters)
  if (iso !== null) return `iso-8859-${iso[1]}${iso[2] === 'i' ? '-i' : ''}`
  if (/^iso2022(?:jp|kr|cn)/.test(letters)) return `iso-2022-${letters.slice(7, 9)}`
  if (/^(?:xms|x|cs)?(?:shiftjis|sjis|mskanji)/.test(letters)) return 'shift_jis'
  if (/^(?:x|cs)?(?:ks[cx]?|kscx?)(?:56011?|c5601|1001)/.test(letters)) return 'euc-kr'
  if (/^(?:x|cs)?tis620/.test(letters)) return 'windows-874'
  return null
}

function makeCharset(name: string): Charset | null {
  if (name === 'us-ascii') return { name, decode: latin1Of, isAsciiSuperset: true }
  if (/^iso-2022-(?:jp|kr|cn)$/.test(name)) {
    return { name, decode: decodeIso2022, isAsciiSuperset: false }
  }
  if (name === 'hz-gb-2312') return { name, decode: decodeHz, isAsciiSuperset: false }
  try {
    const decoder = new TextDecoder(name)
    const { encoding } = decoder
    const extended = EXTENDED.get(encoding)
    if (extended !== undefined) {
      const decode = (octets: Uint8Array) => loadIconv().decode(octets, extended)
      return { name: encoding, decode, isAsciiSuperset: true }
    }
    const isAsciiSuperset = !encoding.startsWith('utf-16')
    return { name: encoding, decode: (octets) => decoder.decode(octets), isAsciiSuperset }
  } catch {
    // The label is missing from the Encoding Standard.
  }
  const iconv = loadIconv()
  if (!iconv.encodingExists(name)) return null
  const decode = (octets: Uint8Array) => iconv.decode(octets, name)
  const isAsciiSuperset = decode(Buffer.from('Az09')) === 'Az09'
  return { name: name, decode, isAsciiSuperset }
}

const require = createRequire(import.meta.url)
let loaded: typeof Iconv | undefined

/** Loads the library on first use: most mail does not need it, and writing threads never parse. */
function loadIconv(): typeof Iconv {
  loaded ??= require('iconv-lite') as typeof Iconv
  return loaded
}

function latin1Of(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString('latin1')
}
