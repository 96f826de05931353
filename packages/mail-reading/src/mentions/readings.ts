// The different texts of a part of a message: without markup, and with encoded text decoded.

import { readMarkup, readReferences } from '#content/markup.ts'
import type { ContentPart } from '#content/parts.ts'
import { unmask } from '#content/unmask.ts'
import { mayHide } from '#html/hidden.ts'
import { visibleTextOf } from '#html/visible-text.ts'

type MentionReading = {
  readonly text: string
  /** Whether the text is HTML source with style sheets and attributes. */
  readonly isSource: boolean
}

export function* readingsOf({ windows, isHtml }: ContentPart): Generator<MentionReading> {
  for (const { text } of windows()) {
    for (const reading of isHtml ? readingsOfHtml(text) : readingsOfText(text)) {
      const seen = unmask(reading).text
      for (const one of [seen, ...decodedFrom(seen), ...unseenIn(reading)]) {
        yield { text: one, isSource: isHtml }
      }
    }
  }
}

/** The last text is the visible text, because hidden text may split an address. */
function readingsOfHtml(html: string): string[] {
  const readings = [readMarkup(html).text, readReferences(html).text]
  return mayHide(html) ? [...readings, visibleTextOf(html)] : readings
}

/** A model understands character references even if no program decodes them. */
function readingsOfText(text: string): string[] {
  return /&(?:#|commat|period)/i.test(text) ? [text, readReferences(text).text] : [text]
}

function decodedFrom(text: string): string[] {
  const unescaped = text.replace(ESCAPES, characterOf)
  return [unescaped === text ? '' : unescaped, decodeRuns(text)].filter((one) => one !== '')
}

/** Escapes of URLs, code strings, quoted-printable (`@` and `.`) and CSS (CSS Syntax 3 §4.3.7). */
const ESCAPES = /(?:%|\\x|\\u00|\\u\{0{0,4})([2-7][0-9a-f])\}?|=(40|2e)|\\([0-9a-f]{1,6})[ \t\n]?/gi

function characterOf(
  whole: string,
  hex: string | undefined,
  quoted: string | undefined,
  css: string | undefined,
): string {
  const code = Number.parseInt(hex ?? quoted ?? css ?? '', 16)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

/** Encoders break lines after 60 to 76 characters, even within words. */
const BASE64_LINE_ENDS = /(?<=[A-Za-z0-9+/]{60})\r?\n(?=[A-Za-z0-9+/]{2})/g
/** Runs of base64 in multiples of four characters, which can be decoded separately. */
const BASE64_RUNS = /[A-Za-z0-9+/_-]{16,8192}/g
const HEX_DIGITS = /^(?:[0-9a-f]{2}){8,}$/i
const SAMPLE_LENGTH = 16
/** Fast check, because most mail has no run of base64 or hexadecimal. */
const HAS_RUN = /\b[A-Za-z0-9+/_-]{15}/

/** The runs of base64 and hexadecimal that decode to text, one per line. */
function decodeRuns(text: string): string {
  if (!HAS_RUN.test(text)) return ''
  const decoded: string[] = []
  for (const [run] of text.replace(BASE64_LINE_ENDS, '').matchAll(BASE64_RUNS)) {
    const octets = Buffer.from(run, HEX_DIGITS.test(run) ? 'hex' : 'base64')
    if (!/[^\t\n\r\x20-\x7e]/.test(octets.toString('latin1', 0, SAMPLE_LENGTH))) {
      decoded.push(octets.toString())
    }
  }
  return decoded.join('\n')
}

/** Tag characters carry ASCII codes; the 256 variation selectors can carry octets. */
const UNSEEN_TEXTS: readonly (readonly [RegExp, (run: string) => string])[] = [
  [
    /[\u{e0020}-\u{e007e}]{1,8192}/gu,
    (run) => String.fromCodePoint(...[...run].map((one) => (one.codePointAt(0) ?? 0) - 0xe0000)),
  ],
  [
    /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,8192}/gu,
    (run) => Buffer.from([...run].map(octetOfSelector)).toString(),
  ],
]

function octetOfSelector(selector: string): number {
  const code = selector.codePointAt(0) ?? 0
  return code < 0xe0100 ? code - 0xfe00 : code - 0xe0100 + 16
}

function unseenIn(text: string): string[] {
  return UNSEEN_TEXTS.flatMap(([runs, decode]) => {
    const shown = text.replace(runs, (run) => ` ${decode(run)} `)
    return shown === text ? [] : [unmask(shown).text]
  })
}
