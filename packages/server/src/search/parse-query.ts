// Parses search queries. Unknown syntax is read as words; only a condition can be invalid.

import { LABEL_PATTERN, LABEL_RULE } from '@mailroom/contract/labels.ts'
import {
  isUnspaced,
  ownAddressWord,
  readAddressWord,
  readWords as wordsIn,
} from './search-words.ts'

/** Each part of a query costs an index lookup. */
const SEARCH_PARTS_MAX = 32
const SEARCH_WORDS_MAX = 128
/** Levels of parentheses and OR; FTS5's parser allows a few more. */
const SEARCH_DEPTH_MAX = 10

export type SearchField = 'subject' | 'sender' | 'recipients' | 'body'

/** Successive words in one of the fields; null means any field. */
export type SearchPhrase = {
  readonly kind: 'phrase'
  readonly words: readonly string[]
  /** The signed form that each word must have, as in `signedWord`, or null if it needs none. */
  readonly signed: readonly (string | null)[]
  readonly fields: readonly SearchField[] | null
  readonly isPrefix: boolean
}

/** Conditions that the word index cannot answer. */
export type SearchCondition =
  | { readonly kind: 'attachment' }
  /** The label is on the message or its thread. */
  | { readonly kind: 'label'; readonly label: string }
  /** The message was received or accepted at this time or later. */
  | { readonly kind: 'since'; readonly ms: number }

export type SearchNode =
  | SearchPhrase
  | SearchCondition
  | { readonly kind: 'all' | 'any'; readonly parts: readonly SearchNode[] }
  | { readonly kind: 'not'; readonly part: SearchNode }

export type SearchQuery = { readonly root: SearchNode }

/** `message` completes a sentence that begins with the parameter's name. */
export type QueryDefect = {
  readonly code: 'bad_request' | 'invalid_query'
  readonly message: string
}

const NOTHING_TO_FIND: QueryDefect = {
  code: 'bad_request',
  message: 'must contain a word of letters or digits without a minus sign',
}
const TOO_LONG: QueryDefect = {
  code: 'bad_request',
  message: `has too many words; at most ${SEARCH_PARTS_MAX} words and phrases are allowed`,
}
const TOO_DEEP: QueryDefect = {
  code: 'invalid_query',
  message: `nests parentheses and OR too deeply; at most ${SEARCH_DEPTH_MAX} levels are allowed`,
}

type TextField = SearchField | null
type Scope = { readonly kind: 'text'; readonly field: TextField } | { readonly kind: ConditionName }
type ConditionName = 'label' | 'has' | 'before' | 'after'

const ANYWHERE: Scope = { kind: 'text', field: null }
const SCOPES: Readonly<Record<string, Scope>> = {
  from: { kind: 'text', field: 'sender' },
  to: { kind: 'text', field: 'recipients' },
  subject: { kind: 'text', field: 'subject' },
  label: { kind: 'label' },
  has: { kind: 'has' },
  before: { kind: 'before' },
  after: { kind: 'after' },
}
const TEXT_FIELDS = ['subject', 'body'] as const

/** OR binds its two neighbours first. Words without blanks between them are a phrase. */
export function readQuery(
  q: string,
): { kind: 'query'; query: SearchQuery } | { kind: 'defect'; defect: QueryDefect } {
  const reader = new QueryReader(q.replace(/[“”„«»]/g, '"'))
  const root = reader.read()
  const defect = reader.defect ?? defectOf(root)
  if (defect !== null || root === null) {
    return { kind: 'defect', defect: defect ?? NOTHING_TO_FIND }
  }
  return { kind: 'query', query: { root } }
}

function defectOf(root: SearchNode | null): QueryDefect | null {
  if (root === null || !hasSomething(root, true)) return NOTHING_TO_FIND
  return depthOf(root) > SEARCH_DEPTH_MAX ? TOO_DEEP : null
}

/** Excluded words alone would match nearly all mail. */
function hasSomething(node: SearchNode, isWanted: boolean): boolean {
  if (node.kind === 'not') return hasSomething(node.part, !isWanted)
  if ('parts' in node) return node.parts.some((part) => hasSomething(part, isWanted))
  return node.kind !== 'phrase' || isWanted
}

function depthOf(node: SearchNode): number {
  if (node.kind === 'not') return depthOf(node.part)
  return 'parts' in node ? 1 + Math.max(...node.parts.map(depthOf)) : 0
}

export function labelsIn(node: SearchNode): string[] {
  if (node.kind === 'not') return labelsIn(node.part)
  if ('parts' in node) return [...new Set(node.parts.flatMap(labelsIn))]
  return node.kind === 'label' ? [node.label] : []
}

export function wantedPhrases(node: SearchNode, isWanted = true): SearchPhrase[] {
  if (node.kind === 'not') return wantedPhrases(node.part, !isWanted)
  if ('parts' in node) return node.parts.flatMap((part) => wantedPhrases(part, isWanted))
  return node.kind === 'phrase' && isWanted ? [node] : []
}

/** An open parenthesis: all parts are required, each with its alternatives. */
type Group = {
  readonly scope: Scope
  readonly isExcluded: boolean
  readonly parts: SearchNode[][]
  isOr: boolean
}

const PREFIX = /-?(?:(from|to|subject|label|has|before|after):(?=[^\s"]|"[^"]*"))?/iy
const QUOTED = /"([^"]*)"/y
const RUN = /[^\s"]+/y
const BLANKS = /\s+/y

class QueryReader {
  readonly #q: string
  readonly #open: Group[] = [newGroup(ANYWHERE, false)]
  #at = 0
  #parts = 0
  #words = 0
  defect: QueryDefect | null = null

  constructor(q: string) {
    this.#q = q
  }

  read(): SearchNode | null {
    while (this.#at < this.#q.length && this.defect === null) this.#readNext()
    while (this.#open.length > 1) this.#close()
    const [root] = this.#open
    return root === undefined || this.defect !== null ? null : nodeOf(root)
  }

  #take(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#at
    const found = form.exec(this.#q)
    if (found !== null) this.#at = form.lastIndex
    return found
  }

  #readNext(): void {
    if (this.#take(BLANKS) !== null) return
    if (this.#q[this.#at] === ')' && this.#open.length > 1) {
      this.#at += 1
      this.#close()
      return
    }
    const start = this.#at
    const [prefix = '', name] = this.#take(PREFIX) ?? []
    const isExcluded = prefix.startsWith('-')
    const named = name === undefined ? undefined : SCOPES[name.toLowerCase()]
    const scope = named ?? this.#group.scope
    const isGroup = scope.kind === 'text' || scope.kind === 'label'
    if (this.#q[this.#at] === '(' && isGroup) {
      this.#at += 1
      this.#open.push(newGroup(scope, isExcluded))
      return
    }
    const quoted = this.#take(QUOTED)
    if (quoted !== null) {
      this.#add({ text: quoted[1] ?? '', scope, isExcluded, isQuoted: true })
      return
    }
    const run = this.#takeRun()
    if (run === '') this.#at = Math.max(this.#at, start + 1)
    else if (run === 'OR' && prefix === '') this.#group.isOr = this.#group.parts.length > 0
    else if (run !== 'AND' || prefix !== '') {
      this.#add({ text: run, scope, isExcluded, isQuoted: false })
    }
  }

  /** Ends at the parenthesis that closes a group; paired ones within the run are part of it. */
  #takeRun(): string {
    const start = this.#at
    const run = this.#take(RUN)?.[0] ?? ''
    if (this.#open.length === 1) return run
    let inner = 0
    for (let index = 0; index < run.length; index++) {
      if (run[index] === '(') inner += 1
      else if (run[index] === ')' && inner === 0) {
        this.#at = start + index
        return run.slice(0, index)
      } else if (run[index] === ')') inner -= 1
    }
    return run
  }

  get #group(): Group {
    return this.#open.at(-1) ?? newGroup(ANYWHERE, false)
  }

  #add(part: Part): void {
    const node = this.#readPart(part)
    if (node === null) return
    this.#parts += 1
    this.#words += countWords(node)
    if (this.#parts > SEARCH_PARTS_MAX || this.#words > SEARCH_WORDS_MAX) this.defect = TOO_LONG
    addTo(this.#group, part.isExcluded ? { kind: 'not', part: node } : node)
  }

  #readPart({ text, scope, isQuoted }: Part): SearchNode | null {
    if (scope.kind === 'text') return readTextPart(text, scope.field, isQuoted)
    const read = readCondition(text, scope.kind)
    if (!('message' in read)) return read
    this.defect ??= read
    return null
  }

  #close(): void {
    const group = this.#open.pop()
    const node = group === undefined ? null : nodeOf(group)
    if (node === null) return
    addTo(this.#group, group?.isExcluded === true ? negated(node) : node)
  }
}

type Part = { text: string; scope: Scope; isExcluded: boolean; isQuoted: boolean }

function newGroup(scope: Scope, isExcluded: boolean): Group {
  return { scope, isExcluded, parts: [], isOr: false }
}

function addTo(group: Group, node: SearchNode): void {
  const alternatives = group.isOr ? group.parts.at(-1) : undefined
  if (alternatives === undefined) group.parts.push([node])
  else alternatives.push(node)
  group.isOr = false
}

function nodeOf({ parts }: Group): SearchNode | null {
  if (parts.length === 0) return null
  return joined(
    'all',
    parts.map((alternatives) => joined('any', alternatives)),
  )
}

function joined(kind: 'all' | 'any', parts: readonly SearchNode[]): SearchNode {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) }
}

function negated(node: SearchNode): SearchNode {
  return node.kind === 'not' ? node.part : { kind: 'not', part: node }
}

function countWords(node: SearchNode): number {
  if (node.kind === 'phrase') return node.words.length
  return 'parts' in node ? node.parts.reduce((sum, part) => sum + countWords(part), 0) : 0
}

function readTextPart(text: string, field: TextField, isQuoted: boolean): SearchNode | null {
  const isStart = !isQuoted && text.endsWith('*')
  const fields = field === null ? null : [field]
  const address = readAddressWord(text.replace(/\*+$/, ''))
  if (address !== null && field !== 'subject') {
    const whole = [address, ownAddressWord(address)].map(
      (word): SearchPhrase => ({
        kind: 'phrase',
        words: [word],
        signed: [null],
        fields,
        isPrefix: isStart,
      }),
    )
    if (field !== null) return { kind: 'any', parts: whole }
    const written = readPhrase(text, { fields: TEXT_FIELDS, isStart })
    return { kind: 'any', parts: written === null ? whole : [...whole, written] }
  }
  return readPhrase(text, { fields, isStart })
}

function readPhrase(
  text: string,
  { fields, isStart }: { fields: readonly SearchField[] | null; isStart: boolean },
): SearchPhrase | null {
  const found = wordsIn(text, SEARCH_WORDS_MAX + 1)
  const last = found.at(-1)?.word
  if (last === undefined) return null
  // A single letter as a prefix would match half of all words.
  const isPrefix = isStart && (last.length > 1 || isUnspaced(last))
  const signed = found.map(({ signed }) => signed)
  if (isPrefix) signed[signed.length - 1] = null
  return { kind: 'phrase', words: found.map(({ word }) => word), signed, fields, isPrefix }
}

function readCondition(value: string, kind: ConditionName): SearchNode | QueryDefect {
  if (kind === 'label') return readLabel(value)
  return kind === 'has' ? readHas(value) : readTime(value, kind)
}

const LABEL = new RegExp(LABEL_PATTERN)

function readLabel(value: string): SearchNode | QueryDefect {
  const label = value.toLowerCase()
  if (LABEL.test(label)) return { kind: 'label', label }
  return wrongValue(`has "label:${shown(value)}"; a label ${LABEL_RULE}`)
}

function readHas(value: string): SearchNode | QueryDefect {
  if (/^attachments?$/i.test(value)) return { kind: 'attachment' }
  return wrongValue(`has "has:${shown(value)}"; only has:attachment is supported`)
}

const TIME =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i

function readTime(value: string, name: 'before' | 'after'): SearchNode | QueryDefect {
  const ms = readTimeMs(value)
  if (ms === null) {
    return wrongValue(
      `has "${name}:${shown(value)}"; a date such as 2026-05-31 or a time such as 2026-05-31T09:30:00Z must follow ${name}:`,
    )
  }
  const since: SearchNode = { kind: 'since', ms }
  return name === 'after' ? since : { kind: 'not', part: since }
}

/** A date begins at midnight UTC, and a time without a zone is UTC. */
function readTimeMs(value: string): number | null {
  const found = TIME.exec(value)
  if (found === null) return null
  const [, date = '', time = '00:00', seconds = '00', fraction = '', zone = 'Z'] = found
  const midnight = Date.parse(`${date}T00:00:00Z`)
  // `Date.parse` reads the 31st of a short month as the 1st of the next.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return null
  if (time > '23:59' || seconds > '59') return null
  const part = fraction.padEnd(3, '0').slice(0, 3)
  const offset = zone.toUpperCase() === 'Z' ? 'Z' : zone.replace(/(\d\d):?(\d\d)$/, '$1:$2')
  const ms = Date.parse(`${date}T${time}:${seconds}.${part}${offset}`)
  return Number.isNaN(ms) ? null : ms
}

function wrongValue(message: string): QueryDefect {
  return { code: 'invalid_query', message }
}

const SHOWN_LENGTH_MAX = 40

function shown(value: string): string {
  const points = Array.from(value.toWellFormed())
  return points.length > SHOWN_LENGTH_MAX ? `${points.slice(0, SHOWN_LENGTH_MAX).join('')}…` : value
}
