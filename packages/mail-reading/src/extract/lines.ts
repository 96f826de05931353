import { MONEY_BEFORE } from './code-words.ts'
import {
  beginsWithUnit,
  foldLine,
  isAboutElsewhere,
  isAboutVerifying,
  type Label,
  labelsOf,
  plainForm,
} from './word-tables.ts'

export const CELL_MARK = ' | '
/** Maximum characters of a line; longer lines are split, because no sentence is that long. */
const LINE_LENGTH_MAX = 1_000

export class ReadLine {
  readonly text: string
  #folded: string | null = null
  #labels: Label[] | null = null
  #candidates: Candidate[] | null = null
  #isVerifying: boolean | null = null
  #isElsewhere: boolean | null = null

  constructor(text: string) {
    this.text = text
  }

  get isBlank(): boolean {
    return this.text === '' || this.text.trim() === ''
  }

  /** The text folded for comparing words; its length is unchanged. */
  get folded(): string {
    this.#folded ??= foldLine(this.text)
    return this.#folded
  }

  get labels(): readonly Label[] {
    this.#labels ??= labelsOf(this.folded)
    return this.#labels
  }

  get isVerifying(): boolean {
    this.#isVerifying ??= isAboutVerifying(this.folded)
    return this.#isVerifying
  }

  get isElsewhere(): boolean {
    this.#isElsewhere ??= isAboutElsewhere(this.folded)
    return this.#isElsewhere
  }

  get candidates(): readonly Candidate[] {
    this.#candidates ??= candidatesOf(this.text, this.folded)
    return this.#candidates
  }

  /**
   * Whether the line, or the cell, contains only the candidate and punctuation around it.
   * `with-remark` if a remark follows in brackets or after a comma, such as "(valid for ten
   * minutes)".
   */
  isAlone({ start, end }: Candidate): boolean | 'with-remark' {
    const cell = this.cellAt(start)
    const before = this.text.slice(cell.start, start)
    const after = this.text.slice(end, cell.end)
    const rest = before + after
    if (!/[\p{L}\p{N}]/u.test(rest)) return rest.trim().length <= MARKS_MAX
    const isRemark = after.length <= REMARK_LENGTH_MAX && REMARK.test(after)
    return isRemark && !/[\p{L}\p{N}]/u.test(before) ? 'with-remark' : false
  }

  get cells(): string[] {
    return this.text.split(CELL_MARK)
  }

  cellAt(place: number): { index: number; start: number; end: number } {
    let start = 0
    let index = 0
    for (;;) {
      const mark = this.text.indexOf(CELL_MARK, start)
      if (mark === -1 || place < mark) {
        return { index, start, end: mark === -1 ? this.text.length : mark }
      }
      start = mark + CELL_MARK.length
      index += 1
    }
  }
}

/** Maximum quotation marks, brackets and stars around a value. */
const MARKS_MAX = 8
const REMARK_LENGTH_MAX = 80
const REMARK = /^["'”»*_]{0,2}(?:\s?[([（【][^()[\]（）【】]+[)\]）】][.。]?\s*$|[,，、;]\s?\p{L})/u

/** The lines of a text; very long lines are split at the end of a word. */
export function readLines(text: string): ReadLine[] {
  return text
    .split(/\r\n|\r|\n/)
    .flatMap((line) => (line.length > LINE_LENGTH_MAX ? partsOf(line) : [line]))
    .map((line) => new ReadLine(line))
}

function partsOf(line: string): string[] {
  const parts: string[] = []
  for (let start = 0; start < line.length; ) {
    const end = start + LINE_LENGTH_MAX
    const space = end >= line.length ? -1 : line.lastIndexOf(' ', end)
    const cut = space > start ? space + 1 : end
    parts.push(line.slice(start, cut))
    start = cut
  }
  return parts
}

/** Non-blank lines around a line that decide its topic. The second bound includes blank lines. */
const NEAR_LINES = 6
const NEAR_LINES_WITH_BLANKS = 4 * NEAR_LINES
/** Lines of the message's other text that decide the topic. */
const OTHER_LINES = 12

/** Topics of a line, its neighbours and the subject. */
type About = { readonly isVerifying: boolean; readonly isElsewhere: boolean }

export class MessageContext {
  readonly lines: readonly ReadLine[]
  /** For a body, the subject; for the subject, the body. */
  readonly other: readonly ReadLine[]
  readonly isSubject: boolean
  readonly #accepted = new Map<number, Candidate[]>()
  readonly #about = new Map<number, About>()

  constructor(lines: readonly ReadLine[], other: readonly ReadLine[], isSubject: boolean) {
    this.lines = lines
    this.other = other.filter((line) => !line.isBlank).slice(0, OTHER_LINES)
    this.isSubject = isSubject
  }

  /** Records a candidate as a code. Must be called in order. */
  accept(at: number, candidate: Candidate): void {
    const known = this.#accepted.get(at)
    if (known === undefined) this.#accepted.set(at, [candidate])
    else known.push(candidate)
  }

  acceptedAt(at: number): readonly Candidate[] {
    return this.#accepted.get(at) ?? []
  }

  lineAt(at: number): ReadLine | null {
    return this.lines[at] ?? null
  }

  aboutAt(at: number): About {
    const known = this.#about.get(at)
    if (known !== undefined) return known
    const lines = [...this.#near(at), ...this.other]
    const about = {
      isVerifying: lines.some((line) => line.isVerifying),
      isElsewhere: lines.some((line) => line.isElsewhere),
    }
    this.#about.set(at, about)
    return about
  }

  #near(at: number): ReadLine[] {
    const found = this.lines.slice(at, at + 1)
    for (const step of [-1, 1]) {
      let count = 0
      for (let far = 1; far <= NEAR_LINES_WITH_BLANKS && count < NEAR_LINES; far++) {
        const line = this.lines[at + step * far]
        if (line === undefined) break
        if (line.isBlank) continue
        found.push(line)
        count++
      }
    }
    return found
  }
}

/**
 * The form of a text that could be typed as a code. Dates, amounts, times, phone numbers and
 * addresses are excluded by form or context. `digits`: 4 to 8 in one group or equal groups. `year`:
 * four digits that may be a year. `odd`: digits in other numbers and groups. `mixed`: letters and
 * digits in upper case. `word`: a code only directly after a label. `letters`: like `word`, but in
 * lower case without digits, as in ordinary sentences.
 */
type CandidateForm = 'digits' | 'year' | 'odd' | 'mixed' | 'word' | 'letters'

export type Candidate = {
  readonly form: CandidateForm
  readonly start: number
  readonly end: number
}

/** Matches addresses, whose numbers are never typed as codes. */
const ADDRESSES = /(?:https?:\/\/|www\.)[^\s<>"]{1,4000}|[^\s@<>()]{1,64}@[^\s@<>()]{1,255}/gi
const HAS_DIGIT = /\d/
/** Matches capitals, words joined by hyphens, or a run of consonants that occurs in no word. */
const HAS_LETTERS = /[A-Z]{4}|[A-Za-z]{3}[-‐‑–][A-Za-z]{3}|[bcdfghjklmnpqrstvwxz]{4}/
const SPACED_GROUPS = /(?<![\p{L}\p{N}])\d{1,5}(?:[ ·]\d{1,5}){1,9}(?![\p{L}\p{N}])/gu
const TOKEN = /[A-Za-z0-9]+(?:[-‐‑–][A-Za-z0-9]+)*/g
const LATIN_OR_DIGIT =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{N}]/u
const CANDIDATES_MAX = 20

function candidatesOf(line: string, folded: string): Candidate[] {
  const whole = plainForm(line)
  if (!HAS_DIGIT.test(whole) && !HAS_LETTERS.test(whole)) return []
  const mayHoldAddress = /@|:\/\/|www\./i.test(whole)
  const plain = mayHoldAddress
    ? whole.replace(ADDRESSES, (address) => '@'.repeat(address.length))
    : whole
  const found: Candidate[] = []
  const taken: { start: number; end: number }[] = []
  for (const match of plain.matchAll(SPACED_GROUPS)) {
    const place = { start: match.index, end: match.index + match[0].length }
    taken.push(place)
    const form = formOfGroups(match[0].split(/[ ·]/))
    if (form !== null && isFree(plain, folded, place)) found.push({ form, ...place })
    if (found.length >= CANDIDATES_MAX) break
  }
  for (const match of plain.matchAll(TOKEN)) {
    if (found.length >= CANDIDATES_MAX) break
    const place = { start: match.index, end: match.index + match[0].length }
    if (taken.some(({ start, end }) => place.start < end && start < place.end)) continue
    const form = formOfToken(match[0])
    if (form !== null && isFree(plain, folded, place)) found.push({ form, ...place })
  }
  return found.sort((one, other) => one.start - other.start)
}

function formOfGroups(groups: readonly string[]): CandidateForm | null {
  const lengths = groups.map((group) => group.length)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const [first = 0] = lengths
  if (total < 4 || total > 10) return null
  if (lengths.every((length) => length === 1)) return total <= 8 ? 'digits' : null
  if (groups.length > 4) return null
  if (lengths.every((length) => length === first) && first >= 2) return 'digits'
  const isPair = groups.length === 2 && lengths.every((length) => length >= 2)
  return isPair && total <= 8 ? 'odd' : null
}

/** Matches a date, with day and month in either order. */
const DATE =
  /^(?:(?:19|20)\d\d-\d{1,2}-\d{1,2}|(?:(?:0?[1-9]|[12]\d|3[01])-(?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01]))-(?:19|20)?\d\d)$/
const YEAR = /^(?:19|20)\d\d$/
const COMPACT_DATE = /^20[0-4]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/

/**
 * Matches amounts with units, picture sizes, and names with a number: `2700GB`, `32x64`, `SSH2`.
 */
const TECHNICAL =
  /^(?:\d+(?:[kmgtp]i?b|[kmg]?bits?|[kmg]?bps|[kmg]?hz|[kmg]wh?|mah|[kcm]m|[km]g|ml|dpi|ppi|fps|rpm|px|pt|(?<=480|720|1080|1440|2160)p)|\d{1,5}x\d{1,5}(?:x\d{1,5})?|ssh[12]|https?[123]|ipv[46]|tls1[0-3]?|utf(?:7|8|16|32)|base(?:16|32|58|64|85)|sha(?:1|2|3|224|256|384|512)|aes(?:128|192|256)|rsa(?:1024|2048|3072|4096)|ed25519|crc(?:16|32)|u?int(?:8|16|32|64)|float(?:16|32|64)|win(?:32|64|95|98|2000|10|11)|oauth[12]|wpa[23]|usb[1-4]|ddr[2-6]|html[45]|mpeg[124]|h26[456]|x509|iso\d{3,5}|rfc\d{3,4})$/i

function formOfToken(token: string): CandidateForm | null {
  if (token.length < 4 || token.length > 24 || TECHNICAL.test(token)) return null
  if (/^\d+$/.test(token)) {
    if (YEAR.test(token)) return 'year'
    if (COMPACT_DATE.test(token) || token.length > 8) return token.length <= 10 ? 'odd' : null
    return 'digits'
  }
  const groups = token.split(/[-‐‑–]/)
  if (groups.every((group) => /^\d+$/.test(group))) {
    return DATE.test(groups.join('-')) ? null : formOfGroups(groups)
  }
  return formOfLetters(token, groups)
}

function formOfLetters(token: string, groups: readonly string[]): CandidateForm | null {
  const hasDigit = HAS_DIGIT.test(token)
  const isUpper = token === token.toUpperCase()
  if (groups.length === 1) {
    // Shorter tokens are names of protocols.
    const isLong = token.length >= 6 && token.length <= 12
    if (!hasDigit && !isUpper) return isLong && isUnspoken(token) ? 'letters' : null
    if (!hasDigit) return token.length <= 8 ? 'word' : null
    if (token.length > 12 || /^\d+(?:st|nd|rd|th|px|am|pm|h|min)$/i.test(token)) return null
    if (!isUpper) return /^[a-z]+\d{1,2}$/i.test(token) ? null : 'word'
    return /^[A-Z]{3,}\d{2,4}$/.test(token) ? 'word' : 'mixed'
  }
  if (!isUpper) return formOfLowerGroups(token, groups)
  if (groups.length > 4) return null
  const [first = '', second = ''] = groups
  if (
    groups.length === 2 &&
    /^[A-Z]{1,4}$/.test(first) &&
    /^[A-Z\d]{4,8}$/.test(second) &&
    HAS_DIGIT.test(second)
  ) {
    return 'mixed'
  }
  if (!groups.every((group) => group.length >= 3 && group.length <= 5)) return null
  if (hasDigit) return 'mixed'
  return groups.every((group) => group.length === first.length) ? 'word' : null
}

function isUnspoken(letters: string): boolean {
  return /^[a-z]+$/.test(letters) && /[bcdfghjklmnpqrstvwxz]{4}/.test(letters)
}

/** `k7f2-q9wd`, `mgxrt-vbkpw`, or three or more words: `rhino-quilt-otter-lamp`. */
function formOfLowerGroups(token: string, groups: readonly string[]): CandidateForm | null {
  const isTitled = groups.every((group) => /^[A-Z][a-z]+$/.test(group))
  if ((token !== token.toLowerCase() && !isTitled) || groups.length > 6) return null
  const [first = ''] = groups
  const isEven = groups.every((group) => group.length === first.length)
  if (HAS_DIGIT.test(token)) return isEven && first.length >= 3 && first.length <= 5 ? 'word' : null
  if (!groups.every((group) => group.length >= 3 && group.length <= 9)) return null
  return groups.length >= 3 || groups.some(isUnspoken) ? 'letters' : null
}

/** Whether the neighbouring characters allow a code instead of an amount or a longer word. */
function isFree(
  plain: string,
  folded: string,
  { start, end }: { start: number; end: number },
): boolean {
  const before = plain.charAt(start - 1)
  const after = plain.charAt(end)
  if (before !== '' && (LATIN_OR_DIGIT.test(before) || '#№@/\\+=&%$€£¥₽₺₩₹~'.includes(before))) {
    return false
  }
  if (after !== '' && (LATIN_OR_DIGIT.test(after) || '@/\\=%°€$£₽₺₩₹'.includes(after))) return false
  if (".,:-–_'’٫٬".includes(before) && /[\p{L}\p{N}]/u.test(plain.charAt(start - 2))) {
    if (before !== ':' || HAS_DIGIT.test(plain.charAt(start - 2))) return false
  }
  if (".,:-–_'’٫٬".includes(after) && HAS_DIGIT.test(plain.charAt(end + 1))) {
    const isDecimal = after !== ',' || HAS_DIGIT.test(plain.charAt(end - 1))
    if (isDecimal && (after !== ',' || !isEastAsianClause(plain, start, end))) return false
  }
  if ('-_'.includes(after) && /[A-Za-z]/.test(plain.charAt(end + 1))) return false
  return !isMasked(plain, start, end) && !isAmount(folded, start, end)
}

const EAST_ASIAN = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}，。：:]/u

/**
 * Whether the comma after the digits ends a clause, as in "验证码305871,5分钟内有效". In East Asian text a
 * comma separates thousands or clauses, never decimals; after more than three digits, it separates
 * clauses.
 */
function isEastAsianClause(plain: string, start: number, end: number): boolean {
  if (end - start <= 3) return false
  const next = /^\d{1,8}\s?(\D)/.exec(plain.slice(end + 1, end + 12))?.[1] ?? ''
  return EAST_ASIAN.test(plain.charAt(start - 1)) && EAST_ASIAN.test(next)
}

/** Whether the digits are the last ones of a card or phone: "**** 4821", but not "**4821**". */
function isMasked(plain: string, start: number, end: number): boolean {
  const before = plain.slice(Math.max(0, start - 6), start)
  if (/[•·…xX]{2,}[ -]?$|\.{3}[ ]?$/.test(before)) return true
  return /\*{2,}[ -]?$/.test(before) && !plain.startsWith('**', end)
}

const AROUND = 16

function isAmount(folded: string, start: number, end: number): boolean {
  if (MONEY_BEFORE.test(folded.slice(Math.max(0, start - AROUND), start))) return true
  if (/(?:#|№|n°|nº|\+|\(\+?\d{1,4}\)) ?$/.test(folded.slice(Math.max(0, start - AROUND), start))) {
    return true
  }
  return beginsWithUnit(folded.slice(end, end + AROUND))
}
