import {
  type SearchField,
  type SearchPhrase,
  type SearchQuery,
  wantedPhrases,
} from './parse-query.ts'
import {
  type FoundWord,
  findWords,
  readAddressWord,
  recipientsOf,
  SEARCH_BODY_LENGTH_MAX,
  SEARCH_ENTRY_WORDS_MAX,
  type SearchableMessage,
} from './search-words.ts'

export const SNIPPET_LENGTH_MAX = 200
const SNIPPET_HIGHLIGHTS_MAX = 50

/** Indexes of code points in the snippet; `end` is exclusive. */
type Highlight = { readonly start: number; readonly end: number }

export type Snippet = { readonly snippet: string; readonly highlights: readonly Highlight[] }

/**
 * Prefers the text and the text of attachments. If only the subject matches, the snippet is the
 * beginning of the text, because the subject is shown beside it.
 */
export function makeSnippet(message: SearchableMessage, { root }: SearchQuery): Snippet {
  const wanted = wantedPhrases(root)
  const text = onOneLine(message.bodyText)
  const places: [SearchField, string][] = [
    ['body', text],
    ['body', onOneLine(message.attachedText ?? '')],
    ['subject', onOneLine(message.subject)],
    ['sender', onOneLine(message.fromAddr)],
    ['recipients', onOneLine(recipientsOf(message))],
  ]
  for (const [field, shown] of places) {
    const inField = wanted.filter(({ fields }) => fields === null || fields.includes(field))
    const matches = inField.length === 0 ? [] : findMatches(shown, inField)
    if (matches.length === 0) continue
    return field === 'subject' && text !== '' ? cut(text, []) : cut(shown, matches)
  }
  return cut(text, [])
}

type Match = { start: number; end: number; phrase: number }

const UNSEEN = /[\p{Default_Ignorable_Code_Point}\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu
const BLANKS = /[\s\p{Cc}]+/gu

function onOneLine(text: string): string {
  const cut = text.slice(0, SEARCH_BODY_LENGTH_MAX).toWellFormed()
  return cut.replace(UNSEEN, '').replace(BLANKS, ' ').trim()
}

function findMatches(text: string, phrases: readonly SearchPhrase[]): Match[] {
  const found: FoundWord[] = []
  for (const word of findWords(text)) {
    if (found.length >= SEARCH_ENTRY_WORDS_MAX) break
    found.push(word)
  }
  const matches: Match[] = []
  for (const [at, word] of found.entries()) {
    for (const [phrase, wanted] of phrases.entries()) {
      const span = matchAt(found, at, wanted) ?? matchLetter(word, wanted)
      if (span !== null) matches.push({ ...span, phrase })
    }
  }
  return matches.length > 0 ? matches : findAddresses(text, phrases)
}

function matchAt(
  found: readonly FoundWord[],
  at: number,
  { words, signed, isPrefix }: SearchPhrase,
): { start: number; end: number } | null {
  for (const [index, wanted] of words.entries()) {
    const { word, signed: withSigns } = found[at + index] ?? {}
    const isLast = index === words.length - 1
    const isMet = isPrefix && isLast ? word?.startsWith(wanted) : word === wanted
    if (isMet !== true) return null
    if ((signed[index] ?? withSigns) !== withSigns) return null
  }
  const [first, last] = [found[at], found[at + words.length - 1]]
  return first === undefined || last === undefined ? null : { start: first.start, end: last.end }
}

/** In a script without blanks, a letter is part of every pair around it. */
function matchLetter(
  { word, isPair, start, end }: FoundWord,
  { words }: SearchPhrase,
): { start: number; end: number } | null {
  const [letter = ''] = words
  if (!isPair || words.length !== 1 || letter === word || !word.includes(letter)) return null
  const isFirst = word.startsWith(letter)
  const length = Math.min(letter.length, end - start)
  return isFirst ? { start, end: start + length } : { start: end - length, end }
}

function findAddresses(text: string, phrases: readonly SearchPhrase[]): Match[] {
  const matches: Match[] = []
  for (const piece of text.matchAll(/[^\s"'\\()<>,;:[\]`]+/g)) {
    const address = readAddressWord(piece[0])
    if (address === null) continue
    for (const [phrase, { words, isPrefix }] of phrases.entries()) {
      const [wanted = ''] = words
      const isMet =
        words.length === 1 && (isPrefix ? address.startsWith(wanted) : address === wanted)
      if (isMet) matches.push({ start: piece.index, end: piece.index + piece[0].length, phrase })
    }
  }
  return matches
}

const ELLIPSIS = '…'
const ROOM = SNIPPET_LENGTH_MAX - 2 * ELLIPSIS.length
/** The length is in UTF-16 units and leaves room around the cluster. */
const CLUSTER_LENGTH = 140

function cut(text: string, matches: readonly Match[]): Snippet {
  const cluster = bestCluster(matches)
  // A code point has at most two units.
  const from = Math.max(0, cluster.start - 2 * ROOM)
  const points = Array.from(text.slice(from, cluster.start + 4 * ROOM).toWellFormed())
  const units = [0]
  for (const point of points) units.push((units.at(-1) ?? 0) + point.length)
  const pointAt = (unit: number) => {
    const index = units.findIndex((end) => end > unit - from)
    return index === -1 ? points.length : Math.max(0, index - 1)
  }
  const first = pointAt(cluster.start)
  const last = Math.min(Math.max(pointAt(cluster.end), first), first + ROOM)
  const isHead = from === 0
  const isTail = from + (units.at(-1) ?? 0) >= text.length
  const { start, end } = widen(points, { first, last })
  const before = isHead && start === 0 ? '' : ELLIPSIS
  const after = isTail && end === points.length ? '' : ELLIPSIS
  const shift = before.length - start
  const marked = matches
    .filter((match) => match.end > from && match.start - from < (units.at(-1) ?? 0))
    .map((match) => ({
      start: Math.max(pointAt(match.start), start) + shift,
      end: Math.min(pointAt(match.end), end) + shift,
    }))
    .filter((match) => match.end > match.start)
  return {
    snippet: `${before}${points.slice(start, end).join('')}${after}`,
    highlights: joined(marked).slice(0, SNIPPET_HIGHLIGHTS_MAX),
  }
}

/** Prefers more different phrases, then more matches, then the first range. */
function bestCluster(matches: readonly Match[]): { start: number; end: number } {
  let best = { start: 0, end: 0, phrases: 0, count: 0 }
  const held = new Map<number, number>()
  let tail = 0
  for (const [index, match] of matches.entries()) {
    held.set(match.phrase, (held.get(match.phrase) ?? 0) + 1)
    for (; ; tail++) {
      const oldest = matches[tail]
      if (oldest === undefined || match.end - oldest.start <= CLUSTER_LENGTH) break
      if (oldest === match) break
      const count = (held.get(oldest.phrase) ?? 1) - 1
      if (count === 0) held.delete(oldest.phrase)
      else held.set(oldest.phrase, count)
    }
    const start = matches[tail]?.start ?? match.start
    const count = index - tail + 1
    const isBetter = held.size > best.phrases || (held.size === best.phrases && count > best.count)
    if (isBetter) best = { start, end: match.end, phrases: held.size, count }
  }
  return best
}

/** Adds complete words while there is room, a quarter of it before the range. */
function widen(
  points: readonly string[],
  { first, last }: { first: number; last: number },
): { start: number; end: number } {
  const room = ROOM - (last - first)
  let start = Math.max(0, first - Math.floor(room / 4))
  let end = Math.min(points.length, last + room - (first - start))
  // Unused room after the match is used for the text before it.
  start = Math.max(0, Math.min(start, end - ROOM))
  if (start > 0 && points[start - 1] !== ' ') {
    const blank = points.indexOf(' ', start)
    if (blank !== -1 && blank < first) start = blank + 1
  } else if (points[start] === ' ' && start < first) {
    start += 1
  }
  if (end < points.length && points[end] !== ' ') {
    const blank = points.lastIndexOf(' ', end)
    if (blank >= last && blank > start) end = blank
  }
  return { start, end }
}

function joined(marked: readonly Highlight[]): Highlight[] {
  const result: { start: number; end: number }[] = []
  for (const { start, end } of [...marked].sort((a, b) => a.start - b.start)) {
    const before = result.at(-1)
    if (before !== undefined && start <= before.end && start < before.end) {
      before.end = Math.max(before.end, end)
    } else {
      result.push({ start, end })
    }
  }
  return result
}
