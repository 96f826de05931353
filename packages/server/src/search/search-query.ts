// Reading a search query. No syntax is wrong: text that has none of the few forms is read as words.

import { isUnspaced, ownAddressWord, readAddressWord, wordsOf } from './search-words.ts'

/** Parts of a query, and words in all of them. Each costs an index lookup. */
const SEARCH_CLAUSES_MAX = 32
const SEARCH_WORDS_MAX = 128

export type SearchField = 'subject' | 'sender' | 'recipients' | 'body'

/** Successive words in one of the fields (null: any); the last may be the beginning of a word. */
export type SearchPhrase = {
  readonly words: readonly string[]
  readonly fields: readonly SearchField[] | null
  readonly isPrefix: boolean
}

/** Matches a message with any of the phrases, or with none of them where they are excluded. */
type SearchClause = {
  readonly phrases: readonly SearchPhrase[]
  readonly isExcluded: boolean
}

export type SearchQuery = { readonly clauses: readonly SearchClause[] }

export type QueryDefect = 'nothing_to_find' | 'too_long'

const FIELDS: Readonly<Record<string, SearchField>> = {
  from: 'sender',
  to: 'recipients',
  subject: 'subject',
}
const TEXT_FIELDS = ['subject', 'body'] as const

/**
 * Reads `word`, `"a phrase"`, `-word`, `from:`, `to:`, `subject:` before a word or phrase, and `word*`.
 * Several words without a blank between them are a phrase.
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

/** A quotation mark opens a phrase only where another one closes it. */
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
