// What somebody searches for: words that all have to be there, phrases, words that must not be, and
// where. There is no wrong query: what is not one of the few forms is words.

import { isUnspaced, ownAddressWord, readAddressWord, wordsOf } from './search-words.ts'

/** Of a query: parts, and words in all of them. Each costs a look into the index. */
const SEARCH_CLAUSES_MAX = 32
const SEARCH_WORDS_MAX = 128

export type SearchField = 'subject' | 'sender' | 'recipients' | 'body'

/** Words one behind the other in one of the fields (null: any); the last may be the start of a word. */
export type SearchPhrase = {
  readonly words: readonly string[]
  readonly fields: readonly SearchField[] | null
  readonly isPrefix: boolean
}

/** Met by a message that has any of the phrases, or none of them where they are excluded. */
export type SearchClause = {
  readonly phrases: readonly SearchPhrase[]
  readonly isExcluded: boolean
}

export type SearchQuery = { readonly clauses: readonly SearchClause[] }

/** Why a query cannot be answered. */
export type QueryDefect = 'nothing_to_find' | 'too_long'

const FIELDS: Readonly<Record<string, SearchField>> = {
  from: 'sender',
  to: 'recipients',
  subject: 'subject',
}
const TEXT_FIELDS = ['subject', 'body'] as const

/**
 * Reads `q`: `word`, `"a phrase"`, `-word`, `from:`, `to:`, `subject:` before a word or phrase, and
 * `word*`. All else is words, several in one piece a phrase.
 */
export function readQuery(
  q: string,
): { kind: 'query'; query: SearchQuery } | { kind: 'defect'; defect: QueryDefect } {
  const clauses: SearchClause[] = []
  let words = 0
  for (const part of splitQuery(q)) {
    const clause = readPart(part)
    if (clause === null) continue
    clauses.push(clause)
    for (const phrase of clause.phrases) words += phrase.words.length
    if (clauses.length > SEARCH_CLAUSES_MAX || words > SEARCH_WORDS_MAX) {
      return { kind: 'defect', defect: 'too_long' }
    }
  }
  const hasSomething = clauses.some(({ isExcluded }) => !isExcluded)
  if (!hasSomething) return { kind: 'defect', defect: 'nothing_to_find' }
  return { kind: 'query', query: { clauses } }
}

type Part = { text: string; field: SearchField | null; isExcluded: boolean; isQuoted: boolean }

/** A quote opens a phrase only where another one closes it. */
const PART = /(-?)(?:(from|to|subject):)?(?:"([^"]*)"|([^\s"]+))|\S/gi

function* splitQuery(q: string): Generator<Part, void, undefined> {
  for (const [, minus, field, phrase, word] of q.replace(/[“”„«»]/g, '"').matchAll(PART)) {
    const text = phrase ?? word
    if (text === undefined) continue
    yield {
      text,
      field: field === undefined ? null : (FIELDS[field.toLowerCase()] ?? null),
      isExcluded: minus === '-',
      isQuoted: phrase !== undefined,
    }
  }
}

function readPart({ text, field, isExcluded, isQuoted }: Part): SearchClause | null {
  const isStart = !isQuoted && text.endsWith('*')
  const fields = field === null ? null : [field]
  const address = readAddressWord(text.replace(/\*+$/, ''))
  if (address !== null && field !== 'subject') {
    const whole = [address, ownAddressWord(address)].map((word) => ({
      words: [word],
      fields,
      isPrefix: isStart,
    }))
    if (field !== null) return { phrases: whole, isExcluded }
    const written = readWords(text, { fields: TEXT_FIELDS, isStart })
    return { phrases: written === null ? whole : [...whole, written], isExcluded }
  }
  const phrase = readWords(text, { fields, isStart })
  return phrase === null ? null : { phrases: [phrase], isExcluded }
}

function readWords(
  text: string,
  { fields, isStart }: { fields: readonly SearchField[] | null; isStart: boolean },
): SearchPhrase | null {
  const words = wordsOf(text, SEARCH_WORDS_MAX + 1)
  const last = words.at(-1)
  if (last === undefined) return null
  // One letter begins half of all words.
  const isPrefix = isStart && (last.length > 1 || isUnspaced(last))
  return { words, fields, isPrefix }
}
