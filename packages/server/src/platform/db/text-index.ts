// The full-text index on both engines: FTS5 and tsvector. Callers pass words that need no further analysis;
// nothing in them is read as query syntax.

import { type QueryExecutorProvider, sql } from 'kysely'
import type { Engine } from './db.ts'

const TEXT_FIELDS = ['subject', 'sender', 'recipients', 'body'] as const
type TextField = (typeof TEXT_FIELDS)[number]

export type TextEntry = {
  /** A positive safe integer. Entries are found in the order of their ids. */
  readonly id: number
  /** Limits searches: letters and digits. Words of different scopes never match. */
  readonly scope: string
  /** Further terms of the entry, apart from its words: letters, digits and dots. */
  readonly marks: readonly string[]
  /** In order. Words contain no spaces and, of ASCII, only letters, digits and WORD_CHARACTERS. */
  readonly fields: Readonly<Record<TextField, readonly string[]>>
}

type TextPhrase = {
  readonly words: readonly string[]
  /** Null for any field. */
  readonly fields: readonly TextField[] | null
  readonly isPrefix: boolean
}

export type TextClause = { readonly phrases: readonly TextPhrase[]; readonly isExcluded: boolean }

export type TextSearch = {
  readonly scope: string
  readonly marks: readonly string[]
  /** All clauses must match; at least one is not an exclusion. */
  readonly clauses: readonly TextClause[]
  /** The highest id to find. */
  readonly until: number
  readonly limit: number
}

/** ASCII characters of words beside letters and digits, as in the definition of the SQLite table. */
export const WORD_CHARACTERS = '!#$%&*+-./:=?^_{|}~@'

type AnyTx = { readonly engine: Engine; readonly query: QueryExecutorProvider }

/** Adds entries; their ids must be new. */
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

/** Removes entries; ignores unknown ids. */
export async function removeTextEntries(tx: AnyTx, ids: readonly number[]): Promise<void> {
  if (tx.engine === 'sqlite') {
    for (const id of ids)
      await sql`delete from search_index where rowid = cast(${id} as integer)`.execute(tx.query)
    return
  }
  if (ids.length === 0) return
  await sql`delete from search_index where id = any(${ids}::bigint[])`.execute(tx.query)
}

/** The ids that the search finds, the highest first. */
export async function findTextEntries(db: AnyTx, search: TextSearch): Promise<number[]> {
  const { until, limit } = search
  // SQLite takes a JavaScript number for a real, but its index needs integers as bounds. On PostgreSQL the
  // expression `id + 0` makes the planner use the index of words.
  const query =
    db.engine === 'sqlite'
      ? sql<{ id: number }>`
          select rowid as id from search_index
          where search_index match ${matchOf(search)} and rowid <= cast(${until} as integer)
          order by rowid desc limit ${limit}`
      : sql<{ id: number }>`
          select id from search_index
          where words @@ ${tsqueryOf(search)}::tsquery and id + 0 <= ${until}
          order by id + 0 desc limit ${limit}`
  return (await query.execute(db.query)).rows.map(({ id }) => id)
}

/** The same with a rank, higher for better matches. Ranks compare only within one search. */
export async function rankTextEntries(
  db: AnyTx,
  search: TextSearch,
): Promise<{ id: number; worth: number }[]> {
  const { until, limit } = search
  const query =
    db.engine === 'sqlite'
      ? sql<{ id: number; worth: number }>`
          select rowid as id, -bm25(search_index, 0, 10, 5, 2, 1) as worth from search_index
          where search_index match ${matchOf(search)} and rowid <= cast(${until} as integer)
          order by rowid desc limit ${limit}`
      : sql<{ id: number; worth: number }>`
          select id, ts_rank_cd('{0.1, 0.2, 0.5, 1}', words, ${wantedOf(search)}::tsquery, 1) as worth
          from (
            select id, words from search_index
            where words @@ ${tsqueryOf(search)}::tsquery and id + 0 <= ${until}
            order by id + 0 desc limit ${limit}
          ) as found
          order by id desc`
  return (await query.execute(db.query)).rows
}

/**
 * Rewrites some `pages` of the index without the words of removed entries; true when none is left. The first
 * step of a round starts it. PostgreSQL needs none of this.
 */
export async function eraseTextStep(
  tx: AnyTx,
  { pages, isFirst }: { pages: number; isFirst: boolean },
): Promise<boolean> {
  if (tx.engine === 'postgres') return true
  const changes = async () => {
    const { rows } = await sql<{ n: number }>`select total_changes() as n`.execute(tx.query)
    return rows[0]?.n ?? 0
  }
  const before = await changes()
  await sql`
    insert into search_index (search_index, rank) values ('merge', ${isFirst ? -pages : pages})
  `.execute(tx.query)
  // https://www.sqlite.org/fts5.html#the_merge_command
  return (await changes()) - before < 2
}

/** Whether words of removed entries stay in the index until `eraseTextStep` removes them. */
export function keepsRemovedText(engine: Engine): boolean {
  return engine === 'sqlite'
}

function scoped(scope: string, word: string): string {
  return `${scope}:${word}`
}

/** No word begins with a dot. */
function markOf(mark: string): string {
  return `.${mark}`
}

/** A query in the syntax of FTS5. Every word is quoted, and quotes within it are doubled. */
function matchOf({ scope, marks, clauses }: TextSearch): string {
  const quote = (word: string) => `"${scoped(scope, word).replaceAll('"', '""')}"`
  const phrase = ({ words, fields, isPrefix }: TextPhrase) => {
    const columns = fields === null ? '' : `{${fields.join(' ')}} : `
    return `${columns}${words.map(quote).join(' + ')}${isPrefix ? ' *' : ''}`
  }
  const any = (phrases: readonly TextPhrase[]) => `(${phrases.map(phrase).join(' OR ')})`
  const wanted = clauses.filter(({ isExcluded }) => !isExcluded)
  const excluded = clauses.filter(({ isExcluded }) => isExcluded)
  // The marks come first, so that all else is matched only in their entries.
  const all = [
    ...marks.map((mark) => quote(markOf(mark))),
    ...wanted.map((one) => any(one.phrases)),
  ]
  const match = all.join(' AND ')
  if (excluded.length === 0) return match
  return `(${match}) NOT (${excluded.map((one) => any(one.phrases)).join(' OR ')})`
}

const WEIGHTS: Readonly<Record<TextField, string>> = {
  subject: 'A',
  sender: 'B',
  recipients: 'C',
  body: 'D',
}

/** A query in the syntax of tsquery, with every word quoted. */
function tsqueryOf(search: TextSearch): string {
  const { scope, marks, clauses } = search
  const excluded = clauses
    .filter(({ isExcluded }) => isExcluded)
    .map((clause) => `!${clauseOf(scope, clause)}`)
  const marked = marks.map((mark) => lexeme(scoped(scope, markOf(mark))))
  return [...marked, wantedOf(search), ...excluded].join(' & ')
}

function wantedOf({ scope, clauses }: TextSearch): string {
  const wanted = clauses.filter(({ isExcluded }) => !isExcluded)
  return wanted.map((clause) => clauseOf(scope, clause)).join(' & ')
}

function clauseOf(scope: string, { phrases }: TextClause): string {
  const phrase = ({ words, fields, isPrefix }: TextPhrase) => {
    const weights = fields === null ? '' : fields.map((field) => WEIGHTS[field]).join('')
    const parts = words.map((word, index) => {
      const marks = `${isPrefix && index === words.length - 1 ? '*' : ''}${weights}`
      return `${lexeme(scoped(scope, word))}${marks === '' ? '' : `:${marks}`}`
    })
    return `(${parts.join(' <-> ')})`
  }
  return `(${phrases.map(phrase).join(' | ')})`
}

/** The highest position that PostgreSQL stores, and the most positions of one word. */
const POSITION_MAX = 16_383
const POSITIONS_MAX = 255

function vectorOf({ scope, marks, fields }: TextEntry): string {
  const places = new Map<string, string[]>()
  let position = 1
  for (const field of TEXT_FIELDS) {
    for (const word of fields[field]) {
      const ofWord = places.get(word) ?? []
      if (ofWord.length < POSITIONS_MAX && position <= POSITION_MAX) {
        ofWord.push(`${position}${WEIGHTS[field]}`)
      }
      places.set(word, ofWord)
      position += 1
    }
    // A gap keeps phrases from matching across fields.
    position += 1
  }
  const words = Array.from(places, ([word, ofWord]) =>
    ofWord.length === 0 ? lexeme(scoped(scope, word)) : `${lexeme(scoped(scope, word))}:${ofWord}`,
  )
  return [...marks.map((mark) => lexeme(scoped(scope, markOf(mark)))), ...words].join(' ')
}

function lexeme(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
