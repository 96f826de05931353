// What in a line could be typed as a code: by its form and by the characters around it alone. Dates,
// amounts, times, phone numbers, addresses of all kinds have other forms or other neighbours.

import { beginsWithUnit } from './code-labels.ts'
import { plainForm } from './fold-line.ts'
import { MONEY_BEFORE } from './number-words.ts'

/**
 * `digits`: 4 to 8 of them, in one or equal groups; `year`: four that may be one; `odd`: digits in
 * other numbers and groups; `mixed`: letters and digits in upper case; `word`: anything that only a
 * word right before it makes a code.
 */
export type CandidateForm = 'digits' | 'year' | 'odd' | 'mixed' | 'word'

export type Candidate = {
  readonly form: CandidateForm
  readonly start: number
  readonly end: number
}

/** Addresses hold many numbers, and none that is to be typed. */
const ADDRESSES = /(?:https?:\/\/|www\.)[^\s<>"]{1,4000}|[^\s@<>()]{1,64}@[^\s@<>()]{1,255}/gi
const HAS_DIGIT = /\d/
const HAS_CAPITALS = /[A-Z]{4}/
const SPACED_GROUPS = /(?<![\p{L}\p{N}])\d{1,5}(?:[ ·]\d{1,5}){1,9}(?![\p{L}\p{N}])/gu
const TOKEN = /[A-Za-z0-9]+(?:[-‐‑–][A-Za-z0-9]+)*/g
const LATIN_OR_DIGIT =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{N}]/u
/** Of one line. */
const CANDIDATES_MAX = 20

/** The candidates of a line in order; `folded` is the same line for comparing words. */
export function candidatesOf(line: string, folded: string): Candidate[] {
  const whole = plainForm(line)
  if (!HAS_DIGIT.test(whole) && !HAS_CAPITALS.test(whole)) return []
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

/** Digits in groups, as they are set apart for reading. */
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

/** Of days and months, in either order. */
const DATE =
  /^(?:(?:19|20)\d\d-\d{1,2}-\d{1,2}|(?:(?:0?[1-9]|[12]\d|3[01])-(?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01]))-(?:19|20)?\d\d)$/
const YEAR = /^(?:19|20)\d\d$/
const COMPACT_DATE = /^20[0-4]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/

function formOfToken(token: string): CandidateForm | null {
  if (token.length < 4 || token.length > 24) return null
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
    if (!hasDigit) return isUpper && token.length <= 8 ? 'word' : null
    if (token.length > 12 || /^\d+(?:st|nd|rd|th|px|am|pm|h|min)$/i.test(token)) return null
    if (!isUpper) return /^[a-z]+\d{1,2}$/i.test(token) ? null : 'word'
    return /^[A-Z]{3,}\d{2,4}$/.test(token) ? 'word' : 'mixed'
  }
  if (!isUpper || groups.length > 4) return null
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
  return groups.every((group) => group.length === 4) ? 'word' : null
}

/** Whether nothing beside it says that it is a part of something else, or an amount. */
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
    if (after !== ',' || !isEastAsianClause(plain, start, end)) return false
  }
  if ('-_'.includes(after) && /[A-Za-z]/.test(plain.charAt(end + 1))) return false
  return !isMasked(plain, start, end) && !isAmount(folded, start, end)
}

const EAST_ASIAN = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}，。：:]/u

/**
 * "验证码305871,5分钟内有效": there a comma parts thousands or clauses and never decimals, and before
 * more than three digits it parts clauses.
 */
function isEastAsianClause(plain: string, start: number, end: number): boolean {
  if (end - start <= 3) return false
  const next = /^\d{1,8}\s?(\D)/.exec(plain.slice(end + 1, end + 12))?.[1] ?? ''
  return EAST_ASIAN.test(plain.charAt(start - 1)) && EAST_ASIAN.test(next)
}

/** The last digits of a card or phone: "**** 4821", unless the marks close behind it, too. */
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
