// The full-text index: FTS5 or tsvector. A caller's words are never interpreted as query syntax.

import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { Engine } from './db.ts'

const TEXT_FIELDS = ['subject', 'sender', 'recipients', 'body'] as const
type TextField = (typeof TEXT_FIELDS)[number]

export type TextEntry = {
  /** A positive safe integer. Searches return entries in descending order of their ids. */
  readonly id: number
  /** Letters and digits. Words of different scopes never match. */
  readonly scope: string
  /** Filter terms apart from the words: letters, digits and dots. */
  readonly marks: readonly string[]
  /** Words contain no spaces and, of ASCII, only letters, digits and WORD_CHARACTERS. */
  readonly fields: Readonly<Record<TextField, readonly string[]>>
}

type TextPhrase = {
  readonly kind: 'phrase'
  readonly words: readonly string[]
  /** Null searches all fields. */
  readonly fields: readonly TextField[] | null
  readonly isPrefix: boolean
}

export type TextQuery =
  | TextPhrase
  | { readonly kind: 'all' | 'any'; readonly parts: readonly TextQuery[] }
  | { readonly kind: 'not'; readonly part: TextQuery }

export type TextFilter = (
  id: RawBuilder<number>,
  matches: (query: TextQuery) => RawBuilder<boolean>,
) => RawBuilder<boolean>

export type TextSearch = {
  readonly scope: string
  /** At least one mark is required. */
  readonly marks: readonly string[]
  /** Null finds all entries with the marks. */
  readonly query: TextQuery | null
  readonly filter: TextFilter | null
  readonly until: number
  readonly limit: number
}

/** ASCII characters of words besides letters and digits, as in the SQLite table's definition. */
export const WORD_CHARACTERS = '!#$%&*+-./:=?^_{|}~@'

type AnyTx = { readonly engine: Engine; readonly query: QueryExecutorProvider }

export async function addTextEntries(tx: AnyTx, entries: readonly TextEntry[]): Promise<void> {
  if (tx.engine === 'sqlite') {
    for (const { id, scope, marks, fields } of entries) {
      const join = (words: readonly string[]) => words.map((word) => scoped(scope, word)).join(' ')
      await sql`
        insert into search_index (rowid, marks, subject, sender, recipients, body)
        values (cast(${id} as integer), ${join(marks.map(markOf))}, ${join(fields.subject)}, ${join(fields.sender)},
          ${join(fields.recipients)}, ${join(fields.body)})
      `.execute(tx.query)
    }
    return
  }
  if (entries.length === 0) return
  const rows = entries.map((entry) => sql`(${entry.id}::bigint, ${vectorOf(entry)}::tsvector)`)
  await sql`insert into search_index (id, words) values ${sql.join(rows)}`.execute(tx.query)
}

export async function removeTextEntries(tx: AnyTx, ids: readonly number[]): Promise<void> {
  if (tx.engine === 'sqlite') {
    for (const id of ids)
      await sql`delete from search_index where rowid = cast(${id} as integer)`.execute(tx.query)
    return
  }
  if (ids.length === 0) return
  await sql`delete from search_index where id = any(${ids}::bigint[])`.execute(tx.query)
}

export async function findTextEntries(db: AnyTx, search: TextSearch): Promise<number[]> {
  const id = db.engine === 'sqlite' ? sql`rowid as id` : sql`id`
  const found = sql<{ id: number }>`${selectFound(db.engine, search, id)}`
  return (await found.execute(db.query)).rows.map(({ id }) => id)
}

/** A higher `worth` is a better match. Values are comparable only within one search. */
export async function rankTextEntries(
  db: AnyTx,
  search: TextSearch,
): Promise<{ id: number; worth: number }[]> {
  if (db.engine === 'sqlite') {
    const worth = sql`-bm25(search_index, 0, 10, 5, 2, 1) as worth`
    const ranked = sql<Ranked>`${selectFound(db.engine, search, sql`rowid as id, ${worth}`)}`
    return (await ranked.execute(db.query)).rows
  }
  const wanted = search.query === null ? null : wantedOf(search.query)
  const worth =
    wanted === null
      ? sql`0`
      : sql`ts_rank_cd('{0.1, 0.2, 0.5, 1}', words, ${tsquery(search.scope, wanted)}::tsquery, 1)`
  const found = selectFound(db.engine, search, sql`id, words`)
  const ranked = sql<Ranked>`select id, ${worth} as worth from (${found}) as found order by id desc`
  return (await ranked.execute(db.query)).rows
}

type Ranked = { id: number; worth: number }

/** SQLite's index needs integer bounds; `id + 0` makes PostgreSQL use the index of words. */
function selectFound(
  engine: Engine,
  search: TextSearch,
  columns: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { query, filter, until, limit } = search
  if (engine === 'sqlite') {
    const matches = (inner: TextQuery) => sql<boolean>`search_index.rowid in (
      select rowid from search_index where search_index match ${matchOf(search, inner)})`
    const rest = filter === null ? sql`` : sql`and ${filter(sql`search_index.rowid`, matches)}`
    return sql`
      select ${columns} from search_index
      where search_index match ${matchOf(search, query)} and rowid <= cast(${until} as integer) ${rest}
      order by rowid desc limit ${limit}`
  }
  const matches = (inner: TextQuery) =>
    sql<boolean>`(words @@ ${tsquery(search.scope, inner)}::tsquery)`
  const rest = filter === null ? sql`` : sql`and ${filter(sql`search_index.id`, matches)}`
  return sql`
    select ${columns} from search_index
    where words @@ ${tsqueryOf(search, query)}::tsquery and id + 0 <= ${until} ${rest}
    order by id + 0 desc limit ${limit}`
}

const ROUND_ID = 0

/** Keeps FTS5 from continuing a merge that may have copied words of entries removed since. */
async function addOwnPart(tx: AnyTx): Promise<void> {
  await sql`insert into search_index (rowid, marks) values (${sql.lit(ROUND_ID)}, '.')`.execute(
    tx.query,
  )
  await sql`insert into search_index (search_index) values ('flush')`.execute(tx.query)
  await sql`delete from search_index where rowid = ${sql.lit(ROUND_ID)}`.execute(tx.query)
}

/** True once no word remains of entries removed before the first step, or on PostgreSQL. */
export async function eraseTextStep(
  tx: AnyTx,
  { pages, isFirst }: { pages: number; isFirst: boolean },
): Promise<boolean> {
  if (tx.engine === 'postgres') return true
  const changes = async () => {
    const { rows } = await sql<{ n: number }>`select total_changes() as n`.execute(tx.query)
    return rows[0]?.n ?? 0
  }
  if (isFirst) await addOwnPart(tx)
  const before = await changes()
  await sql`
    insert into search_index (search_index, rank) values ('merge', ${isFirst ? -pages : pages})
  `.execute(tx.query)
  // https://www.sqlite.org/fts5.html#the_merge_command
  return (await changes()) - before < 2
}

export function keepsRemovedText(engine: Engine): boolean {
  return engine === 'sqlite'
}

function scoped(scope: string, word: string): string {
  return `${scope}:${word}`
}

/** Words never begin with a dot, so a mark never equals a word. */
function markOf(mark: string): string {
  return `.${mark}`
}

/** Every word is quoted, and quotes within it are doubled. */
function matchOf({ scope, marks }: TextSearch, query: TextQuery | null): string {
  const quote = (word: string) => `"${scoped(scope, word).replaceAll('"', '""')}"`
  const [mark = '', ...furtherMarks] = marks.map((name) => quote(markOf(name)))
  // NOT needs two operands: exclusions alone apply to all entries with the mark.
  const except = (wanted: readonly string[], excluded: readonly string[]) => {
    const all = wanted.length === 0 ? mark : wanted.join(' AND ')
    return excluded.length === 0 ? `(${all})` : `((${all}) NOT (${excluded.join(' OR ')}))`
  }
  const all = (parts: readonly TextQuery[], first: readonly string[]) => {
    const wanted = parts.flatMap((part) => (part.kind === 'not' ? [] : [match(part)]))
    const excluded = parts.flatMap((part) => (part.kind === 'not' ? [match(part.part)] : []))
    return except([...first, ...wanted], excluded)
  }
  const match = (part: TextQuery): string => {
    if (part.kind === 'not') return except([], [match(part.part)])
    if ('parts' in part) {
      return part.kind === 'all' ? all(part.parts, []) : `(${part.parts.map(match).join(' OR ')})`
    }
    const columns = part.fields === null ? '' : `{${part.fields.join(' ')}} : `
    return `${columns}${part.words.map(quote).join(' + ')}${part.isPrefix ? ' *' : ''}`
  }
  const parts = query === null ? [] : query.kind === 'all' ? query.parts : [query]
  // The marks come first, so that the rest is matched only in entries with these marks.
  return all(parts, [mark, ...furtherMarks])
}

const WEIGHTS: Readonly<Record<TextField, string>> = {
  subject: 'A',
  sender: 'B',
  recipients: 'C',
  body: 'D',
}

function tsqueryOf({ scope, marks }: TextSearch, query: TextQuery | null): string {
  const marked = marks.map((mark) => lexeme(scoped(scope, markOf(mark))))
  return [...marked, ...(query === null ? [] : [tsquery(scope, query)])].join(' & ')
}

/** The query without its exclusions; null if nothing is left. */
function wantedOf(query: TextQuery): TextQuery | null {
  if (query.kind === 'not') return null
  if (query.kind === 'phrase') return query
  const parts = query.parts.map(wantedOf).filter((part) => part !== null)
  return parts.length === 0 ? null : { kind: query.kind, parts }
}

function tsquery(scope: string, query: TextQuery): string {
  if (query.kind === 'not') return `!(${tsquery(scope, query.part)})`
  if (query.kind !== 'phrase') {
    const parts = query.parts.map((part) => tsquery(scope, part))
    return `(${parts.join(query.kind === 'all' ? ' & ' : ' | ')})`
  }
  const { words, fields, isPrefix } = query
  const weights = fields === null ? '' : fields.map((field) => WEIGHTS[field]).join('')
  const parts = words.map((word, index) => {
    const marks = `${isPrefix && index === words.length - 1 ? '*' : ''}${weights}`
    return `${lexeme(scoped(scope, word))}${marks === '' ? '' : `:${marks}`}`
  })
  return `(${parts.join(' <-> ')})`
}

/** Limits of PostgreSQL. */
const POSITION_MAX = 16_383
const POSITIONS_MAX = 255

function vectorOf({ scope, marks, fields }: TextEntry): string {
  const positions = new Map<string, string[]>()
  let position = 1
  for (const field of TEXT_FIELDS) {
    for (const word of fields[field]) {
      const ofWord = positions.get(word) ?? []
      if (ofWord.length < POSITIONS_MAX && position <= POSITION_MAX) {
        ofWord.push(`${position}${WEIGHTS[field]}`)
      }
      positions.set(word, ofWord)
      position += 1
    }
    // A gap keeps phrases from matching across fields.
    position += 1
  }
  const words = Array.from(positions, ([word, ofWord]) =>
    ofWord.length === 0 ? lexeme(scoped(scope, word)) : `${lexeme(scoped(scope, word))}:${ofWord}`,
  )
  return [...marks.map((mark) => lexeme(scoped(scope, markOf(mark)))), ...words].join(' ')
}

function lexeme(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
