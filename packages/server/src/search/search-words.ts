// Splits mail and queries into words by the same rules for both engines.

import type { Message } from '#mailbox/messages/store/messages.ts'

/** The length is in UTF-16 units. Text beyond it is quoted history or data. */
export const SEARCH_BODY_LENGTH_MAX = 64 * 1024
/** PostgreSQL stores 16,383 positions, and 1 MiB with its overhead for each word. */
export const SEARCH_ENTRY_WORDS_MAX = 10_000
export const SEARCH_ENTRY_BYTES_MAX = 256 * 1024
const SEARCH_SUBJECT_WORDS_MAX = 500
const SEARCH_ADDRESS_WORDS_MAX = 2_000

export type SearchableMessage = Pick<
  Message,
  'direction' | 'fromAddr' | 'toAddr' | 'headerTo' | 'cc' | 'subject' | 'bodyText'
> & {
  readonly attachedText?: string
  readonly sentTo?: readonly string[] | null
}

/** Words are in order, except those after SEPARATOR. */
export type SearchEntry = {
  readonly subject: readonly string[]
  readonly sender: readonly string[]
  readonly recipients: readonly string[]
  readonly body: readonly string[]
}

/** The separator is not a word, so that no phrase crosses it. */
const SEPARATOR = '/'

/** Limited by SEARCH_ENTRY_WORDS_MAX and SEARCH_ENTRY_BYTES_MAX. Attachments come last. */
export function makeSearchEntry(message: SearchableMessage): SearchEntry {
  const room = { words: SEARCH_ENTRY_WORDS_MAX, bytes: SEARCH_ENTRY_BYTES_MAX }
  const subject = takeWords(message.subject, SEARCH_SUBJECT_WORDS_MAX, room)
  const own = ownAddressOf(message)
  const sender = takeAddresses(senderOf(message), own, room)
  const recipients = takeAddresses(recipientsOf(message), own, room)
  const text = message.bodyText.slice(0, SEARCH_BODY_LENGTH_MAX)
  const body = takeWords(text, room.words, room)
  const attachedText = (message.attachedText ?? '').slice(0, SEARCH_BODY_LENGTH_MAX)
  const attached = takeWords(attachedText, room.words - 1, room)
  return {
    subject,
    sender,
    recipients,
    body: attached.length === 0 ? body : [...body, SEPARATOR, ...attached],
  }
}

export function recipientsOf({ toAddr, headerTo, cc, sentTo }: SearchableMessage): string {
  return [
    ...(sentTo ?? [toAddr]),
    ...(headerTo === null || headerTo === toAddr ? [] : [headerTo]),
    ...cc,
  ].join(', ')
}

/** Returns null if the text is not exactly one address. */
export function readAddressWord(text: string): string | null {
  if (text.length > ADDRESS_LENGTH_MAX) return null
  const folded = foldText(text)
  return WHOLE_ADDRESS.test(folded) ? folded : null
}

const ADDRESS_LENGTH_MAX = 320
// Matches unquoted characters of an address (RFC 5321 §4.1.2).
const ADDRESS_PIECE = /[^\s\x00-\x20"'\\()<>,;:[\]\x60\x7f]+/g
const WHOLE_ADDRESS =
  /^[^\s\x00-\x20"'\\()<>,;:[\]@\x60\x7f]+@[^\s\x00-\x20"'\\()<>,;:[\]@\x60\x7f]+$/

type Room = { words: number; bytes: number }

function takeWords(text: string, max: number, room: Room): string[] {
  const taken: string[] = []
  const letters = new Set<string>()
  const signed = new Set<string>()
  const take = (word: string, bytes = Buffer.byteLength(word)) => {
    if (taken.length >= max || room.words <= 0 || room.bytes < bytes) return false
    taken.push(word)
    room.words -= 1
    room.bytes -= bytes
    return true
  }
  visitWords(text, ({ word, isPair, signed: withSigns }, isAscii) => {
    // This leaves room for the single letters and signed words that are added at the end.
    const unordered = letters.size + signed.size
    if (taken.length + unordered + 4 > Math.min(max, room.words + taken.length)) return false
    if (!take(word, isAscii ? word.length : undefined)) return false
    if (isPair) for (const letter of word) letters.add(letter)
    if (withSigns !== null) signed.add(withSigns)
    return true
  })
  if (letters.size + signed.size > 0 && take(SEPARATOR)) {
    for (const letter of letters) if (isUnspaced(letter) && !take(letter)) break
    for (const word of signed) if (!take(word)) break
  }
  return taken
}

/** The inbox's own address is in every message, so only its tag is indexed as words. */
function takeAddresses(text: string, own: OwnAddress | null, room: Room): string[] {
  const cut = text.slice(0, SEARCH_BODY_LENGTH_MAX)
  const half = SEARCH_ADDRESS_WORDS_MAX / 2
  const whole = new Set<string>()
  const worded: string[] = []
  let wordedTo = 0
  for (const { piece, index } of piecesOf(cut)) {
    const address = readAddressWord(piece)
    if (address === null) continue
    const tag = own === null ? null : tagOf(address, own)
    if (tag !== null) {
      worded.push(cut.slice(wordedTo, index), tag)
      wordedTo = index + piece.length
    }
    if (whole.size < half) whole.add(tag === null ? address : ownAddressWord(address))
  }
  const words = takeWords([...worded, cut.slice(wordedTo)].join(' '), half, room)
  for (const word of [...(whole.size > 0 ? [SEPARATOR] : []), ...whole]) {
    const bytes = Buffer.byteLength(word)
    if (room.words <= 0 || room.bytes < bytes) break
    words.push(word)
    room.words -= 1
    room.bytes -= bytes
  }
  return words
}

/** No word of a query begins with SEPARATOR. */
export function ownAddressWord(address: string): string {
  return `${SEPARATOR}${address}`
}

type OwnAddress = { local: string; domain: string }

function ownAddressOf({ direction, fromAddr, toAddr }: SearchableMessage): OwnAddress | null {
  const address = readAddressWord(direction === 'inbound' ? toAddr : bareAddressOf(fromAddr))
  if (address === null) return null
  const at = address.lastIndexOf('@')
  return { local: address.slice(0, at), domain: address.slice(at + 1) }
}

/** Returns '' for an address without a tag, and null if the address is not the inbox's own. */
function tagOf(address: string, { local, domain }: OwnAddress): string | null {
  if (!address.startsWith(local) || !address.endsWith(`@${domain}`)) return null
  const rest = address.slice(local.length, -domain.length - 1)
  if (rest === '') return ''
  return rest.startsWith('+') ? rest.slice(1) : null
}

/** Omits the inbox's display name, because all messages that it sends contain it. */
function senderOf({ direction, fromAddr }: SearchableMessage): string {
  return direction === 'inbound' ? fromAddr : bareAddressOf(fromAddr)
}

function bareAddressOf(mailbox: string): string {
  return mailbox.endsWith('>') ? mailbox.slice(mailbox.lastIndexOf('<') + 1, -1) : mailbox
}

function* piecesOf(text: string): Generator<{ piece: string; index: number }> {
  for (const match of text.matchAll(ADDRESS_PIECE)) yield { piece: match[0], index: match.index }
}

export const SEARCH_WORD_LENGTH_MAX = 64

export type FoundWord = {
  readonly word: string
  readonly start: number
  readonly end: number
  /** Two neighbouring letters of a script without blanks between words. */
  readonly isPair: boolean
  /** The word as `signedWord` makes it, or null if it has no signs. */
  readonly signed: string | null
}

/**
 * Finds words in linear time: NFKC, lower case, without combining marks. Scripts without blanks
 * yield pairs of letters.
 */
export function* findWords(text: string): Generator<FoundWord, void, undefined> {
  for (let chunk = nextChunk(text, 0); chunk !== null; chunk = nextChunk(text, chunk.end)) {
    const { start, end, isAscii } = chunk
    const written = text.slice(start, end)
    const signs = signsAround(text, start, end)
    if (isAscii) {
      const word = asciiWord(written)
      yield { word, start, end, isPair: false, signed: signedWord(word, signs) }
      continue
    }
    const { folded, place } = foldWithPlaces(written)
    for (const cut of cutWords(folded)) {
      const from = start + place(cut.from)
      const to = Math.max(from + 1, start + place(cut.to))
      const signed = signedCut(cut, folded.length, signs)
      yield { word: cut.word, start: from, end: to, isPair: cut.isPair, signed }
    }
  }
}

type Word = Pick<FoundWord, 'word' | 'isPair' | 'signed'>

/** Folding large chunks is some fifty times faster than letter by letter. */
function visitWords(text: string, visit: (word: Word, isAscii: boolean) => boolean): void {
  for (let chunk = nextChunk(text, 0); chunk !== null; chunk = nextChunk(text, chunk.end)) {
    const { start, end, isAscii } = chunk
    const written = text.slice(start, end)
    const signs = signsAround(text, start, end)
    if (isAscii) {
      const word = asciiWord(written)
      if (!visit({ word, isPair: false, signed: signedWord(word, signs) }, true)) return
      continue
    }
    const { cuts, length } = cutsOf(written)
    for (const cut of cuts) {
      const signed = signedCut(cut, length, signs)
      if (!visit({ word: cut.word, isPair: cut.isPair, signed }, false)) return
    }
  }
}

type Cuts = { readonly cuts: Iterable<Cut>; readonly length: number }

/** Texts repeat their words, and folding takes far longer than a lookup. */
const cutChunks = new Map<string, Cuts>()
const CUT_CHUNKS_MAX = 4096
const CUT_CHUNK_LENGTH_MAX = 32
/** Chunks with more cuts, such as Chinese text, rarely repeat. */
const CUTS_KEPT_MAX = 4

function cutsOf(written: string): Cuts {
  const known = cutChunks.get(written)
  if (known !== undefined) return known
  const folded = foldText(written)
  const cuts = cutWords(folded)
  const { length } = folded
  if (written.length > CUT_CHUNK_LENGTH_MAX) return { cuts, length }
  const kept = { cuts: [...cuts], length }
  if (kept.cuts.length > CUTS_KEPT_MAX) return kept
  if (cutChunks.size >= CUT_CHUNKS_MAX) cutChunks.clear()
  // A slice would keep the entire text in memory.
  cutChunks.set(Buffer.from(written, 'utf16le').toString('utf16le'), kept)
  return kept
}

export function wordsOf(text: string, max: number): string[] {
  return readWords(text, max).map(({ word }) => word)
}

export function readWords(text: string, max: number): Pick<FoundWord, 'word' | 'signed'>[] {
  const words: Pick<FoundWord, 'word' | 'signed'>[] = []
  visitWords(text, ({ word, signed }) => words.length < max && words.push({ word, signed }) < max)
  return words
}

type Signs = { readonly dot: boolean; readonly after: string }

const NO_SIGNS: Signs = { dot: false, after: '' }
const SIGNS_LENGTH_MAX = 2

/** `C++`, `C#`, `A+` and `.NET` keep their signs; in `user+tag` the sign is a separator. */
function signsAround(text: string, start: number, end: number): Signs {
  let to = end
  while (to <= end + SIGNS_LENGTH_MAX && (text[to] === '+' || text[to] === '#')) to += 1
  const isAfter = to > end && to <= end + SIGNS_LENGTH_MAX && !LETTER_FIRST.test(text[to] ?? '')
  const dot = text[start - 1] === '.' && !DIGIT_FIRST.test(text[start] ?? '')
  if (!isAfter && !dot) return NO_SIGNS
  return { dot, after: isAfter ? text.slice(end, to) : '' }
}

const LETTER_FIRST = /^[\p{L}\ud800-\udbff]/u
const DIGIT_FIRST = /^[0-9]/

/** No other word begins with SEPARATOR, nor does a block's word. */
function signedWord(word: string, { dot, after }: Signs): string | null {
  if (after !== '') return `${word}${after}`
  return dot ? `${SEPARATOR}.${word}` : null
}

function signedCut(cut: Cut, length: number, { dot, after }: Signs): string | null {
  if (cut.isPair) return null
  const isLast = after !== '' && cut.to === length
  return signedWord(cut.word, { dot: dot && cut.from === 0, after: isLast ? after : '' })
}

export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

function foldText(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(DROPPED, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(SPELLED, (letter) => SPELLINGS[letter] ?? letter)
}

/** The smallest part that normalization can change as a unit. */
type Chunk = { readonly start: number; readonly end: number; readonly isAscii: boolean }

const CHUNK_LENGTH_MAX = 4096
const ASCII_PARTS = Uint8Array.from({ length: 128 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const WHITE_SPACE = /\s/
const HALVES = /[\ud800-\udbff][\udc00-\udfff]/

/** Returns null at the end. A regular expression would allocate an array for each chunk. */
function nextChunk(text: string, from: number): Chunk | null {
  let start = from
  while (start < text.length && !isPart(text, start)) start += 1
  if (start >= text.length) return null
  let end = start
  let isAscii = true
  const limit = Math.min(text.length, start + CHUNK_LENGTH_MAX)
  while (end < limit && isPart(text, end)) {
    if (text.charCodeAt(end) >= 128) isAscii = false
    end += 1
  }
  if (end === limit && HALVES.test(text.slice(end - 1, end + 1))) end += 1
  return { start, end, isAscii }
}

function isPart(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? ASCII_PARTS[code] === 1 : !WHITE_SPACE.test(text.charAt(at))
}

const NOT_ASCII = /[^\x00-\x7f]/
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
const LETTERS = SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')
const UNSPACED = new RegExp(`[${LETTERS}]`, 'u')
const RUN = new RegExp(`[${LETTERS}]+|[^${LETTERS}]+`, 'gu')
/** Optional diacritics, the Arabic tatweel, and invisible characters. */
const MARKS = [
  '0300-036f 1ab0-1aff 1dc0-1dff 20d0-20ff fe20-fe2f',
  '0591-05bd 05bf-05bf 05c1-05c2 05c4-05c5 05c7-05c7',
  '0610-061a 0640-0640 064b-065f 0670-0670 06d6-06dc 06df-06e4 06e7-06e8 06ea-06ed',
].flatMap((ranges) => ranges.split(' '))
const MARK_RANGES = MARKS.map((range) => range.replaceAll(/[0-9a-f]{4}/g, '\\u$&')).join('')
const DROPPED = new RegExp(`[${MARK_RANGES}]|\\p{Default_Ignorable_Code_Point}`, 'gu')
/** Letters that no normal form decomposes. */
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
  if (before !== null && before.from === 0) {
    yield { word: before.letter, from: 0, to: before.letter.length, isPair: false }
  }
}

/** `place` maps an index in the folded text to one in `written`. */
function foldWithPlaces(written: string): { folded: string; place: (index: number) => number } {
  const folded = foldText(written)
  if (folded.length === written.length && folded === written.toLowerCase()) {
    return { folded, place: (index) => index }
  }
  const places: number[] = []
  let text = ''
  for (const letter of written.matchAll(LETTER)) {
    const part = foldLetter(letter[0])
    for (let unit = 0; unit < part.length; unit++) places.push(letter.index)
    text += part
  }
  return { folded: text, place: (index) => places[index] ?? written.length }
}

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

/** A letter includes combining marks and further parts of a decomposed Hangul syllable. */
const LETTER = /[\s\S](?:\p{M}|[\u1160-\u11ff\uff9e\uff9f])*/gu
