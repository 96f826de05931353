// Addresses that a mail tells its reader, in any of the spellings that people and models understand.

import { domainToUnicode } from 'node:url'
import { readMarkup, readReferences } from '#content/markup.ts'
import { type ContentPart, contentOf, type MailContent, partsOf } from '#content/parts.ts'
import { unmask } from '#content/unmask.ts'

/**
 * Those of `addresses` that the content tells: subject, text, HTML (hidden text, attributes and comments too), files
 * that are text, and the messages among them. An address counts with spaces, brackets or words for its signs (`ann
 * at client dot example`), letter by letter, in full-width letters, with unseen characters, in a U-label, in
 * percent signs, escapes or base64. `addresses` are in lower case with A-labels. Null when the content could not be
 * read whole, as in `findSecrets`. Time is linear in its length.
 */
export function findMentions(content: MailContent, addresses: readonly string[]): string[] | null {
  const parts = partsOf(content)
  if (parts === null) return null
  const missing = new Map(addresses.map((address) => [address, spellingOf(address)]))
  for (const part of parts) {
    for (const reading of readingsOf(part)) {
      if (missing.size === 0) break
      const text = folded(reading)
      const letters = text.replace(NO_LETTERS, '')
      for (const [address, spelling] of missing) {
        if (spelling.words.every((word) => letters.includes(word)) && spelling.pattern.test(text)) {
          missing.delete(address)
        }
      }
    }
  }
  return addresses.filter((address) => !missing.has(address))
}

/** `findMentions` of a raw message. */
export function findMentionsIn(raw: Uint8Array, addresses: readonly string[]): string[] | null {
  return findMentions(contentOf(raw), addresses)
}

function* readingsOf({ windows, isHtml }: ContentPart): Generator<string> {
  for (const { text } of windows()) {
    const readings = isHtml ? [readMarkup(text).text, readReferences(text).text] : [text]
    for (const reading of readings) {
      const seen = unmask(reading).text
      yield seen
      const unescaped = seen.replace(ESCAPES, characterOf)
      if (unescaped !== seen) yield unescaped
      const decoded = decodeBase64(seen)
      if (decoded !== '') yield decoded
    }
  }
}

/** Of URLs, quoted-printable (the at sign and the dot alone) and strings in code. */
const ESCAPES = /(?:%|\\x|\\u00)([2-7][0-9a-f])|=(40|2e)/gi

function characterOf(_: string, hex: string | undefined, quoted: string | undefined): string {
  return String.fromCharCode(Number.parseInt(hex ?? quoted ?? '', 16))
}

/** Encoders end their lines after 60 to 76 characters, in the middle of a word. */
const BASE64_LINE_ENDS = /(?<=[A-Za-z0-9+/]{60})\r?\n(?=[A-Za-z0-9+/]{2})/g
/** Pieces of a multiple of four characters decode by themselves. */
const BASE64_RUNS = /[A-Za-z0-9+/_-]{16,8192}/g
const SAMPLE_LENGTH = 16

/** The runs of base64 that are text, a line each. */
function decodeBase64(text: string): string {
  const decoded: string[] = []
  for (const [run] of text.replace(BASE64_LINE_ENDS, '').matchAll(BASE64_RUNS)) {
    const octets = Buffer.from(run, 'base64')
    if (!/[^\t\n\r\x20-\x7e]/.test(octets.toString('latin1', 0, SAMPLE_LENGTH))) {
      decoded.push(octets.toString())
    }
  }
  return decoded.join('\n')
}

const NO_LETTERS = /[^\p{L}\p{N}]{1,1000}/gu

/** In lower case, lines joined without marks of quotation. */
function folded(text: string): string {
  const lower = text.normalize('NFKC').toLowerCase()
  return lower.replace(/\n[>|\s]+/g, ' ').replace(/\s+/g, ' ')
}

type Spelling = {
  /** Letters and digits that every spelling has. */
  readonly words: readonly string[]
  readonly pattern: RegExp
}

/** What may stand between two letters of an address; and around a word for one of its signs. */
const LOOSE = '[^\\p{L}\\p{N}@]{0,2}'
const AROUND = '[^\\p{L}\\p{N}@]{1,4}'
const AT = `(?:[^\\p{L}\\p{N}@]{0,4}@[^\\p{L}\\p{N}@]{0,4}|${AROUND}(?:at|ät|arroba|arobase|chiocciola)${AROUND})`
const SIGNS: Readonly<Record<string, string>> = {
  '.': 'dot|punkt|point|punto|ponto|period',
  '-': 'dash|hyphen|minus|bindestrich|tiret|guion',
  _: 'underscore|underline|unterstrich',
  '+': 'plus',
}

function spellingOf(address: string): Spelling {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const domain = address.slice(at + 1)
  const unicode = domainToUnicode(domain).normalize('NFKC').toLowerCase()
  const domains = [...new Set([domain, unicode === '' ? domain : unicode])].map(looselySpelled)
  const words = [local, ...(domains.length > 1 ? [] : domain.split('.'))]
  const pattern = `(?<![\\p{L}\\p{N}])${looselySpelled(local)}${AT}(?:${domains.join('|')})(?![\\p{L}\\p{N}])`
  return {
    words: words.map((word) => /[\p{L}\p{N}]*/u.exec(word)?.[0] ?? ''),
    pattern: new RegExp(pattern, 'u'),
  }
}

/** A pattern of the letters and digits of `text` in order, with any signs or words for them between. */
function looselySpelled(text: string): string {
  let pattern = ''
  let between = ''
  for (const character of text) {
    if (/[\p{L}\p{N}]/u.test(character)) {
      pattern += `${between}${character}`
      between = LOOSE
      continue
    }
    const words = SIGNS[character]
    between = words === undefined ? AROUND.replace('1', '0') : signSpelled(words)
  }
  return pattern
}

function signSpelled(words: string): string {
  return `(?:[^\\p{L}\\p{N}@]{0,4}|${AROUND}(?:${words})${AROUND})`
}
