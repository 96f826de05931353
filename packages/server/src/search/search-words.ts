// The words of a text as a search compares them, with their places in it. The same for mail and for
// queries, and for both databases, which are given nothing but these words.

/** Code points of a word that are compared; what is longer is no word that anybody types. */
export const SEARCH_WORD_LENGTH_MAX = 64

export type FoundWord = {
  readonly word: string
  /** Where it stands in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Two neighbouring letters of a script without blanks between words. */
  readonly isPair: boolean
}

/**
 * Words in the order of the text, each of letters and digits only: NFKC, lower case, without the marks
 * that Latin, Greek, Cyrillic, Arabic and Hebrew set on letters, and cut at SEARCH_WORD_LENGTH_MAX code
 * points. Scripts without blanks between words give every pair of neighbouring letters, and a letter
 * that stands alone. Time grows with the length only, whatever the text is.
 */
export function* findWords(text: string): Generator<FoundWord, void, undefined> {
  for (const chunk of text.matchAll(CHUNK)) {
    const [written] = chunk
    if (!NOT_ASCII.test(written)) {
      const word = asciiWord(written)
      yield { word, start: chunk.index, end: chunk.index + written.length, isPair: false }
      continue
    }
    const { folded, place } = foldWithPlaces(written)
    for (const { word, from, to, isPair } of cutWords(folded)) {
      const start = chunk.index + place(from)
      yield { word, start, end: Math.max(start + 1, chunk.index + place(to)), isPair }
    }
  }
}

/**
 * The same words without their places, which an index does not need: a chunk is folded as a whole, some
 * fifty times faster than letter by letter.
 */
export function* eachWord(text: string): Generator<Pick<FoundWord, 'word' | 'isPair'>> {
  for (const [written] of text.matchAll(CHUNK)) {
    if (!NOT_ASCII.test(written)) yield { word: asciiWord(written), isPair: false }
    else yield* cutWords(foldText(written))
  }
}

/** The words alone, up to `max`. */
export function wordsOf(text: string, max: number): string[] {
  const words: string[] = []
  for (const { word } of eachWord(text)) {
    if (words.length >= max) break
    words.push(word)
  }
  return words
}

/** Whether a word is of a script that is written without blanks. */
export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

/** What a text is compared by, letter by letter; other characters stay. */
export function foldText(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(DROPPED, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(SPELLED, (letter) => SPELLINGS[letter] ?? letter)
}

/**
 * What no ASCII character separates: the smallest part that normalisation may change together. Cut where
 * nobody reads on, so that whoever needs the first words does not pay for all of them.
 */
const CHUNK = /[^\s\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]{1,4096}/gu
const NOT_ASCII = /[^\x00-\x7f]/
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
const LETTERS = SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')
const UNSPACED = new RegExp(`[${LETTERS}]`, 'u')
const RUN = new RegExp(`[${LETTERS}]+|[^${LETTERS}]+`, 'gu')
/** Marks on letters that people leave out, the Arabic stretch, and what is not seen at all. */
const MARKS = [
  '0300-036f 1ab0-1aff 1dc0-1dff 20d0-20ff fe20-fe2f',
  '0591-05bd 05bf-05bf 05c1-05c2 05c4-05c5 05c7-05c7',
  '0610-061a 0640-0640 064b-065f 0670-0670 06d6-06dc 06df-06e4 06e7-06e8 06ea-06ed',
].flatMap((ranges) => ranges.split(' '))
const MARK_RANGES = MARKS.map((range) => range.replaceAll(/[0-9a-f]{4}/g, '\\u$&')).join('')
const DROPPED = new RegExp(`[${MARK_RANGES}]|\\p{Default_Ignorable_Code_Point}`, 'gu')
/** Letters that no normal form takes apart, as they are written where a keyboard lacks them. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
}
const SPELLED = /[ßæœøđðłħþıς]/g

function asciiWord(written: string): string {
  return written.slice(0, SEARCH_WORD_LENGTH_MAX).toLowerCase()
}

function* cutWords(folded: string): Generator<Cut, void, undefined> {
  for (const found of folded.matchAll(WORD)) {
    for (const run of found[0].matchAll(RUN)) {
      const cuts = isUnspaced(run[0]) ? pairsOf(run[0]) : [wholeOf(run[0])]
      const at = found.index + run.index
      for (const cut of cuts) yield { ...cut, from: at + cut.from, to: at + cut.to }
    }
  }
}

type Cut = { word: string; from: number; to: number; isPair: boolean }

function wholeOf(run: string): Cut {
  const isShort = run.length <= SEARCH_WORD_LENGTH_MAX
  const word = isShort ? run : Array.from(run).slice(0, SEARCH_WORD_LENGTH_MAX).join('')
  return { word, from: 0, to: run.length, isPair: false }
}

function* pairsOf(run: string): Generator<Cut, void, undefined> {
  let before: { letter: string; from: number } | null = null
  let from = 0
  for (const letter of run) {
    const to = from + letter.length
    if (before !== null) {
      yield { word: before.letter + letter, from: before.from, to, isPair: true }
    }
    before = { letter, from }
    from = to
  }
  // Of one letter only.
  if (before !== null && before.from === 0) {
    yield { word: before.letter, from: 0, to: before.letter.length, isPair: false }
  }
}

/** The folded text, and where in `written` the unit at an index of it comes from. */
function foldWithPlaces(written: string): { folded: string; place: (index: number) => number } {
  const folded = foldText(written)
  if (folded.length === written.length && folded === written.toLowerCase()) {
    return { folded, place: (index) => index }
  }
  // Letter by letter, each with the marks on it, which belong to no other.
  const places: number[] = []
  let text = ''
  for (const letter of written.matchAll(LETTER)) {
    const part = foldLetter(letter[0])
    for (let unit = 0; unit < part.length; unit++) places.push(letter.index)
    text += part
  }
  return { folded: text, place: (index) => places[index] ?? written.length }
}

/** A text repeats its letters: each is folded once for some thousands of them. */
const foldedLetters = new Map<string, string>()
const FOLDED_LETTERS_MAX = 4096
const FOLDED_LETTER_LENGTH_MAX = 8

function foldLetter(letter: string): string {
  const known = foldedLetters.get(letter)
  if (known !== undefined) return known
  const folded = foldText(letter)
  if (letter.length > FOLDED_LETTER_LENGTH_MAX) return folded
  if (foldedLetters.size >= FOLDED_LETTERS_MAX) foldedLetters.clear()
  foldedLetters.set(letter, folded)
  return folded
}

/** With its marks, and with the vowels and endings of a Hangul syllable in parts. */
const LETTER = /[\s\S](?:\p{M}|[\u1160-\u11ff\uff9e\uff9f])*/gu
