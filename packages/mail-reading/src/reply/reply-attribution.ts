// The heads of quotes: "On Monday, Bob wrote:" over one or more lines, and the copied header fields
// of the quoted message. Tells where a head begins and ends; what follows it is not looked at.

import {
  DATE_OPENING_PATTERN,
  INNER_OPENING_PATTERN,
  OPENING_PATTERN,
  type QuotedField,
  WROTE_PATTERN,
} from './reply-marks.ts'

/** "On … wrote:" as wrapped by mail programs: lines, and characters over all of them. */
const ATTRIBUTION_LINES_MAX = 4
export const ATTRIBUTION_LENGTH_MAX = 600
/** From, Sent, To, Cc, Subject above a quoted message, in lines with their continuations. */
const QUOTED_HEADER_LINES_MAX = 24

export type Attribution = {
  /** Lines before the last that belong to it. */
  readonly linesBefore: number
  /** New text on its first line, '' for none. */
  readonly textBefore: string
}

const DIRECTION_MARKS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const ENDING = /(?:[:：]|[\p{L})]\s{0,3}[-–—]{2,60})\s*[*_]{0,2}$/u
const ADDRESS = /[^\s<>()"']@[^\s<>()"']|&lt;.{0,200}&gt;/
const ADDRESS_ENDING = /@[^\s<>@()]{1,255}\s?(?:>|&gt;|\)){1,3}\s?[:：]?$/
const BETWEEN_DASHES = /^\s*[-–—]{2,60}[^-–—].*[^-–—\s]\s?[-–—]{2,60}$/
const YEAR_AND_DAY =
  /(?:19|20)\d\d\D{1,20}\d|\d\D{1,20}(?:19|20)\d\d|\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2}/
const TIME_OF_DAY = /\d{1,2}[:.h]\d\d/

/** Whether the line may be the last of an attribution; cheap, to be asked of every line. */
export function endsLikeAttribution(line: string): boolean {
  const ending = line.length > ATTRIBUTION_LENGTH_MAX ? '' : line.trimEnd()
  if (ending === '') return false
  const last = ending.charCodeAt(ending.length - 1)
  return last < 0x80 ? ':->*_'.includes(ending.charAt(ending.length - 1)) : isOddEnding(last)
}

/**
 * The attribution that ends with line `end`, or null. `isQuoteNext` says that quoted lines follow:
 * then less is asked of it.
 */
export function findAttribution(
  lines: readonly string[],
  first: number,
  end: number,
  isQuoteNext: boolean,
): Attribution | null {
  const lastTwo = `${end > first ? lines[end - 1] : ''} ${lines[end]}`.replace(DIRECTION_MARKS, '')
  if (lastTwo.length > ATTRIBUTION_LENGTH_MAX) return null
  if (!ADDRESS_ENDING.test(lastTwo) && !WROTE_PATTERN.test(lastTwo)) return null
  const candidates = candidatesOf(lines, first, end)
  const whole = candidates[0]
  if (whole === undefined || !(ENDING.test(whole) || (isQuoteNext && ADDRESS_ENDING.test(whole)))) {
    return null
  }
  return (
    openedBy(OPENING_PATTERN, candidates, isQuoteNext) ??
    afterTextOf(whole, isQuoteNext) ??
    openedBy(DATE_OPENING_PATTERN, candidates, isQuoteNext) ??
    withoutDate(candidates, isQuoteNext)
  )
}

/** The text of the last line, of the last two lines, and so on up to a blank one. */
function candidatesOf(lines: readonly string[], first: number, end: number): string[] {
  const candidates: string[] = []
  let text = ''
  for (let at = end; at >= first && end - at < ATTRIBUTION_LINES_MAX; at--) {
    const line = (lines[at] ?? '').replace(DIRECTION_MARKS, '').trim()
    if (line === '' || line.length + text.length > ATTRIBUTION_LENGTH_MAX) break
    text = text === '' ? line : `${line} ${text}`
    candidates.push(text)
  }
  return candidates
}

function openedBy(
  opening: RegExp,
  candidates: readonly string[],
  isQuoteNext: boolean,
): Attribution | null {
  for (const [linesBefore, text] of candidates.entries()) {
    if (opening.test(text) && tellsWhoAndWhen(text, isQuoteNext)) {
      return { linesBefore, textBefore: '' }
    }
  }
  return null
}

function tellsWhoAndWhen(text: string, isQuoteNext: boolean): boolean {
  if (WROTE_PATTERN.test(text)) {
    return isQuoteNext || ADDRESS.test(text) || YEAR_AND_DAY.test(text)
  }
  // Some programs leave the verb out: a date, a name and an address.
  if (!ADDRESS_ENDING.test(text)) return false
  return isQuoteNext || (TIME_OF_DAY.test(text) && YEAR_AND_DAY.test(text))
}

function afterTextOf(line: string, isQuoteNext: boolean): Attribution | null {
  const opening = INNER_OPENING_PATTERN.exec(line)
  if (opening === null) return null
  if (!tellsWhoAndWhen(line.slice(opening.index), isQuoteNext)) return null
  const textBefore = trimDashes(line.slice(0, opening.index))
  return { linesBefore: 0, textBefore }
}

function trimDashes(text: string): string {
  let length = text.length
  while (length > 0 && '- '.includes(text.charAt(length - 1))) length--
  return text.slice(0, length)
}

function withoutDate(candidates: readonly string[], isQuoteNext: boolean): Attribution | null {
  for (const [linesBefore, text] of candidates.slice(0, 2).entries()) {
    const verb = WROTE_PATTERN.exec(text)
    if (verb === null) continue
    const isNamed = ADDRESS.test(text) && /[>)]|&gt;/.test(text)
    if (isNamed || BETWEEN_DASHES.test(text) || isQuoteNext) return { linesBefore, textBefore: '' }
  }
  return null
}

/** Colon of East Asian scripts, marks of direction, dashes of word processors. */
function isOddEnding(code: number): boolean {
  return code === 0xff1a || (code >= 0x200e && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
}

/**
 * The index after the header fields of a quoted message that begin at `start`, or null when there
 * are none; `fields` tells what each line holds. Three fields make a header; so do two when one holds
 * an address.
 */
export function endOfQuotedHeader(
  lines: readonly string[],
  fields: readonly (QuotedField | null)[],
  start: number,
): number | null {
  const seen = new Set<QuotedField>()
  let end = start
  let hasAddress = false
  let continued = 0
  for (let at = start; at < lines.length && at - start < QUOTED_HEADER_LINES_MAX; at++) {
    const line = lines[at] ?? ''
    const field = fields[at] ?? null
    if (field !== null) {
      seen.add(field)
      continued = 0
    } else if (!isContinuation(line, fields, at) || ++continued > 2) {
      break
    }
    hasAddress ||= ADDRESS.test(line.slice(0, ATTRIBUTION_LENGTH_MAX))
    end = at + 1
  }
  return isHeader(seen, hasAddress) ? end : null
}

function isHeader(seen: ReadonlySet<QuotedField>, hasAddress: boolean): boolean {
  if (!seen.has('from') && !seen.has('date')) return false
  if (hasAddress) return seen.size >= 2
  return seen.has('from') && seen.has('subject') && seen.size >= 3
}

/** A wrapped field, or the blank line that some programs set between fields. */
function isContinuation(
  line: string,
  fields: readonly (QuotedField | null)[],
  at: number,
): boolean {
  const isFieldNext = (fields[at + 1] ?? null) !== null
  if (line.trim() === '') return isFieldNext
  return isFieldNext || (fields[at + 2] ?? null) !== null || /^\s/.test(line)
}
