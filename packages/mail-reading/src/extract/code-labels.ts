// Finds the words of the tables in folded text and says what they are. What follows from a word is not
// known here.

import {
  CODE_WORDS,
  ENTER_AFTER_WORDS,
  ENTER_WORDS,
  LINKING_WORDS,
  STRONG_WORDS,
  VERIFYING_WORDS,
} from './code-words.ts'
import { foldLine } from './fold-line.ts'
import { ELSEWHERE_WORDS, NUMBER_WORDS, TITLE_WORDS, UNIT_WORDS } from './number-words.ts'
import { type Found, isSpacedLetter, WordTable } from './word-table.ts'

/** `strong` and `code` name the code looked for, `number` and `title` another number. */
export type LabelKind = 'strong' | 'code' | 'number' | 'title'
export type Label = Found<LabelKind>

/** The labels of a folded line in order; they do not overlap. */
export function labelsOf(line: string): Label[] {
  const { labels } = tablesOf()
  const found: Label[] = []
  for (let at = 0; at < line.length; ) {
    const label = labels.matchAt(line, at) ?? compoundAt(line, at)
    if (label !== null) found.push(label)
    at = label?.end ?? at + 1
  }
  return found
}

/** Whether a folded text may hold a word for a code at all: false is sure, true is not. */
export function mayNameCode(text: string): boolean {
  return tablesOf().codeStems.test(text)
}

/** Whether a folded text speaks of signing in, verifying and the like. */
export function isAboutVerifying(text: string): boolean {
  return tablesOf().verifying.hasAny(text)
}

/** Whether a folded text speaks of meetings, bookings, coupons: of codes of another kind. */
export function isAboutElsewhere(text: string): boolean {
  return tablesOf().elsewhere.hasAny(text)
}

/** Whether the folded text before a value asks to enter it, or the one behind it does. */
export function asksToEnter(before: string, after: string): boolean {
  const { enter, enterAfter } = tablesOf()
  return enter.hasAny(before) || enterAfter.hasAny(after)
}

/** Whether a folded text ends with a word or sign that leads on to the value. */
export function leadsToValue(text: string): boolean {
  const ending = text.slice(-LINKING_LENGTH_MAX).replace(OPENING_MARKS, '')
  if (/[:=>-]$/.test(ending)) return true
  return tablesOf().linking.some((word) => {
    if (!ending.endsWith(word)) return false
    const start = ending.length - word.length
    return !(isSpacedLetter(ending, start) && start > 0 && isSpacedLetter(ending, start - 1))
  })
}

/** Whether a folded text begins with a unit, as what stands behind an amount does. */
export function beginsWithUnit(text: string): boolean {
  const start = text.startsWith(' ') || text.startsWith('-') ? 1 : 0
  return tablesOf().units.matchAt(text, start) !== null
}

type Tables = {
  readonly labels: WordTable<LabelKind>
  readonly verifying: WordTable<true>
  readonly elsewhere: WordTable<true>
  readonly enter: WordTable<true>
  readonly enterAfter: WordTable<true>
  readonly units: WordTable<true>
  readonly linking: readonly string[]
  /** Something of each word for a code. */
  readonly codeStems: RegExp
}

// Made with the first mail that is looked at.
let tables: Tables | null = null

function tablesOf(): Tables {
  tables ??= {
    labels: new WordTable<LabelKind>([
      ['strong', Object.values(STRONG_WORDS)],
      ['number', Object.values(NUMBER_WORDS)],
      ['code', Object.values(CODE_WORDS)],
      ['title', [TITLE_WORDS]],
    ]),
    verifying: new WordTable<true>([[true, Object.values(VERIFYING_WORDS)]]),
    elsewhere: new WordTable<true>([[true, [ELSEWHERE_WORDS]]]),
    enter: new WordTable<true>([[true, Object.values(ENTER_WORDS)]]),
    enterAfter: new WordTable<true>([[true, [ENTER_AFTER_WORDS]]]),
    units: new WordTable<true>([[true, [UNIT_WORDS]]]),
    linking: phrasesOf(LINKING_WORDS),
    codeStems: stemsOf([...Object.values(STRONG_WORDS), ...Object.values(CODE_WORDS)]),
  }
  return tables
}

function phrasesOf(list: string): string[] {
  return list.split(',').map((word) => foldLine(word.trim().replace(/\s+/g, ' ')))
}

/** Stand in most words for a code, and seldom in other text. */
const STEMS =
  'code kod cod[iu] passw \\bpin\\b \\btan\\b \\botp \\u7801 \\u78bc コード 코드 رمز كود код'.split(
    ' ',
  )

/** Words without any of the stems stand for themselves. */
function stemsOf(lists: readonly string[]): RegExp {
  const stems = new RegExp(STEMS.join('|'))
  const others = lists
    .flatMap(phrasesOf)
    .map((word) => word.replace(/\*$/, ''))
    .filter((word) => word !== '' && !stems.test(word))
  return new RegExp([...STEMS, ...new Set(others)].join('|'))
}

const LINKING_LENGTH_MAX = 30
/** What may stand around a value. */
const OPENING_MARKS = /[\s"'“”„«»‹›[\]【】「」『』()（）*_`|<>#]+$/

/** In languages that join words, a code or number of some other kind. */
const COMPOUND_END = /(?:codes?|kode|koden|koodi|nummern?|nummeret|numret)$/
const COMPOUND_LENGTH_MIN = 7
const COMPOUND_LENGTH_MAX = 40

function compoundAt(line: string, at: number): Label | null {
  if (!isSpacedLetter(line, at) || (at > 0 && isSpacedLetter(line, at - 1))) return null
  let end = at + 1
  while (end - at < COMPOUND_LENGTH_MAX && isSpacedLetter(line, end)) end++
  if (end - at < COMPOUND_LENGTH_MIN || !COMPOUND_END.test(line.slice(at, end))) return null
  return { kind: 'number', start: at, end }
}
