import {
  CODE_WORDS,
  ELSEWHERE_WORDS,
  ENTER_AFTER_WORDS,
  ENTER_WORDS,
  EXAMPLE_WORDS,
  LIKENING_WORDS,
  LINKING_WORDS,
  NUMBER_WORDS,
  STRONG_WORDS,
  TITLE_WORDS,
  UNIT_WORDS,
  VERIFYING_WORDS,
} from './code-words.ts'

/** `strong` and `code` are labels of codes; `number` and `title` are labels of other numbers. */
type LabelKind = 'strong' | 'code' | 'number' | 'title'
export type Label = Found<LabelKind>

/** The labels of a folded line in order, without overlaps. */
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

/** Whether a folded text may contain a word for a code. A negative answer is certain. */
export function mayNameCode(text: string): boolean {
  return tablesOf().codeStems.test(text)
}

export function isAboutVerifying(text: string): boolean {
  return tablesOf().verifying.hasAny(text)
}

/**
 * Whether a folded text is about meetings, bookings or coupons, whose codes are of another kind.
 */
export function isAboutElsewhere(text: string): boolean {
  return tablesOf().elsewhere.hasAny(text)
}

/** Whether the folded text before or after a value asks the reader to enter it. */
export function asksToEnter(before: string, after: string): boolean {
  const { enter, enterAfter } = tablesOf()
  return enter.hasAny(before) || enterAfter.hasAny(after)
}

/** Whether a folded text ends with a word or sign that leads to a value. */
export function leadsToValue(text: string): boolean {
  const ending = text.slice(-LINKING_LENGTH_MAX).replace(OPENING_MARKS, '')
  if (/[:=>-]$/.test(ending)) return true
  return tablesOf().linking.some((word) => {
    if (!ending.endsWith(word)) return false
    const start = ending.length - word.length
    return !(isSpacedLetter(ending, start) && start > 0 && isSpacedLetter(ending, start - 1))
  })
}

export function givesExample(text: string): boolean {
  return tablesOf().example.hasAny(text)
}

export function likensTo(text: string): boolean {
  const ending = text.slice(-LINKING_LENGTH_MAX).replace(OPENING_MARKS, '')
  const { likening } = tablesOf()
  return likening.findAll(ending).some(({ end }) => end === ending.length)
}

/** Whether a folded text that follows a number begins with a unit. */
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
  readonly example: WordTable<true>
  readonly likening: WordTable<true>
  readonly units: WordTable<true>
  readonly linking: readonly string[]
  /** Matches a part of every word for a code. */
  readonly codeStems: RegExp
}

// The tables are created on first use.
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
    example: new WordTable<true>([[true, [EXAMPLE_WORDS]]]),
    likening: new WordTable<true>([[true, [LIKENING_WORDS]]]),
    units: new WordTable<true>([[true, [UNIT_WORDS]]]),
    linking: phrasesOf(LINKING_WORDS),
    codeStems: stemsOf([...Object.values(STRONG_WORDS), ...Object.values(CODE_WORDS)]),
  }
  return tables
}

function phrasesOf(list: string): string[] {
  return list.split(',').map((word) => foldLine(word.trim().replace(/\s+/g, ' ')))
}

/** Stems of most words for a code that are rare in other text. */
const STEMS =
  'code kod cod[iu] passw \\bpin\\b \\btan\\b \\botp \\u7801 \\u78bc コード 코드 رمز كود код'.split(
    ' ',
  )

/** A word without any of the stems is added completely. */
function stemsOf(lists: readonly string[]): RegExp {
  const stems = new RegExp(STEMS.join('|'))
  const others = lists
    .flatMap(phrasesOf)
    .map((word) => word.replace(/\*$/, ''))
    .filter((word) => word !== '' && !stems.test(word))
  return new RegExp([...STEMS, ...new Set(others)].join('|'))
}

const LINKING_LENGTH_MAX = 30
/** Matches characters that may surround a value. */
const OPENING_MARKS = /[\s"'“”„«»‹›[\]【】「」『』()（）*_`|<>#]+$/

/** The end of a compound word that names another code or number. */
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

type Phrase<Kind> = { readonly text: string; readonly isOpen: boolean; readonly kind: Kind }
type Found<Kind> = { readonly kind: Kind; readonly start: number; readonly end: number }

/**
 * Finds phrases in folded text, the longest at each index, in time linear in the text whatever the
 * size of the table. Takes lists in the form of `code-words.ts`.
 */
export class WordTable<Kind> {
  /** Phrases by their first two characters, longest first. */
  readonly #phrases = new Map<string, Phrase<Kind>[]>()

  /** A phrase in several lists belongs to the first list. */
  constructor(lists: readonly (readonly [Kind, readonly string[]])[]) {
    const known = new Set<string>()
    for (const [kind, words] of lists) {
      for (const word of words.flatMap((list) => list.split(','))) {
        const folded = foldLine(word.trim().replace(/\s+/g, ' '))
        if (folded === '' || known.has(folded)) continue
        known.add(folded)
        this.#add(folded, kind)
      }
    }
    for (const bucket of this.#phrases.values()) {
      bucket.sort((a, b) => b.text.length - a.text.length)
    }
  }

  findAll(text: string): Found<Kind>[] {
    const found: Found<Kind>[] = []
    for (let at = 0; at < text.length; ) {
      const match = this.matchAt(text, at)
      if (match === null) at++
      else {
        found.push(match)
        at = match.end
      }
    }
    return found
  }

  hasAny(text: string): boolean {
    for (let at = 0; at < text.length; at++) if (this.matchAt(text, at) !== null) return true
    return false
  }

  /** The longest phrase at `at`; in scripts with spaces it must be a whole word. */
  matchAt(text: string, at: number): Found<Kind> | null {
    if (text.charCodeAt(at) === SPACE) return null
    const isInWord = at > 0 && isSpacedLetter(text, at) && isSpacedLetter(text, at - 1)
    if (isInWord) return null
    const bucket = this.#phrases.get(text.slice(at, at + 2))
    const single = this.#phrases.get(text.charAt(at))
    if (bucket === undefined && single === undefined) return null
    return this.#firstOf(bucket, text, at) ?? this.#firstOf(single, text, at)
  }

  #firstOf(
    phrases: readonly Phrase<Kind>[] | undefined,
    text: string,
    at: number,
  ): Found<Kind> | null {
    for (const phrase of phrases ?? []) {
      if (!text.startsWith(phrase.text, at)) continue
      const end = at + phrase.text.length
      const goesOn = isSpacedLetter(text, end - 1) && isSpacedLetter(text, end)
      if (phrase.isOpen || !goesOn) return { kind: phrase.kind, start: at, end }
    }
    return null
  }

  #add(word: string, kind: Kind): void {
    const isOpen = word.endsWith('*')
    const text = isOpen ? word.slice(0, -1) : word
    const key = text.slice(0, 2)
    const bucket = this.#phrases.get(key)
    if (bucket === undefined) this.#phrases.set(key, [{ text, isOpen, kind }])
    else bucket.push({ text, isOpen, kind })
  }
}

const SPACE = 0x20
const SPACED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}]/u

/** Whether the character belongs to a script that separates words with spaces. */
function isSpacedLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (Number.isNaN(code)) return false
  if (code < 0x80) {
    return (
      (code >= 0x61 && code <= 0x7a) ||
      (code >= 0x30 && code <= 0x39) ||
      (code >= 0x41 && code <= 0x5a)
    )
  }
  // Folded text has few other letters: Greek, Cyrillic, and letters without a plain form.
  return code < 0x0530 || (code >= 0x1e00 && code < 0x2000) ? SPACED.test(text.charAt(at)) : false
}

const INVISIBLE =
  /\u034f|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|[\ufe00-\ufe0f]|\udb40[\udc00-\udfff]/g
const ODD_SPACE = /[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g
const BEYOND_ASCII = /[^\x00-\x7f]/g
const BEYOND_ASCII_ONCE = /[^\x00-\x7f]/

/** The text without invisible characters, with every blank except line breaks as a space. */
export function visibleText(text: string): string {
  const spaced = text.includes('\t') ? text.replaceAll('\t', ' ') : text
  return BEYOND_ASCII_ONCE.test(spaced)
    ? spaced.replace(INVISIBLE, '').replace(ODD_SPACE, ' ')
    : spaced
}

/** Digits of all scripts and full-width letters as ASCII; length and case are unchanged. */
export function plainForm(line: string): string {
  return BEYOND_ASCII_ONCE.test(line) ? line.replace(BEYOND_ASCII, plainChar) : line
}

/**
 * The form in which words are compared: lower case, without diacritics. Each character maps to one
 * character, so that offsets are unchanged.
 */
export function foldLine(line: string): string {
  if (!BEYOND_ASCII_ONCE.test(line)) return line.toLowerCase()
  return line.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replace(BEYOND_ASCII, foldChar)
}

/** The zeros of scripts with ten consecutive digits. */
const ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0be6, 0x0c66, 0x0e50, 0xff10]
const FULL_WIDTH_OFFSET = 0xfee0

function plainChar(char: string): string {
  const code = char.charCodeAt(0)
  const zero = ZEROS.find((first) => code >= first && code < first + 10)
  if (zero !== undefined) return String(code - zero)
  return code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - FULL_WIDTH_OFFSET) : char
}

/** Letters that Unicode does not decompose, and variants of one character. */
const SAME_AS: ReadonlyMap<string, string> = new Map(
  "ıi İi łl Łl øo Øo đd Đd ’' ‘' ‐- ‑- –- —- −- أا إا آا"
    .split(' ')
    .map((pair) => [pair.charAt(0), pair.charAt(1)]),
)
/** Scripts above this code point have no diacritics; decomposition would change their syllables. */
const MARKED_MAX = 0x0600

const folded = new Map<string, string>()
const FOLDED_MAX = 5_000

function foldChar(char: string): string {
  const known = folded.get(char)
  if (known !== undefined) return known
  const made = makeFolded(char)
  if (folded.size < FOLDED_MAX) folded.set(char, made)
  return made
}

function makeFolded(char: string): string {
  const same = SAME_AS.get(char)
  if (same !== undefined) return same
  const plain = plainChar(char)
  if (plain !== char) return plain.toLowerCase()
  const code = char.charCodeAt(0)
  const isMarked = code < MARKED_MAX || (code >= 0x1e00 && code <= 0x1fff)
  const lower = (isMarked ? char.normalize('NFD').charAt(0) : char).toLowerCase()
  return lower.length === 1 ? lower : char
}
