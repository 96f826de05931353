// The differences between the two SQL dialects that queries have to know. Those of the log and of the index of words
// are in `log-order.ts` and `text-index.ts`.

import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Engine, Tx } from './db.ts'

/**
 * Locks the selected rows until the transaction ends, or skips rows that another transaction holds. The
 * embedded engine has one writer and needs no locks.
 */
export function lockRows<Schema, Tables extends keyof Schema, Row>(
  tx: Pick<Tx<Schema>, 'engine'>,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  options: { skipLocked?: boolean } = {},
): SelectQueryBuilder<Schema, Tables, Row> {
  if (tx.engine === 'sqlite') return query
  return options.skipLocked === true ? query.forUpdate().skipLocked() : query.forUpdate()
}

/** Whether `lockRows` may pass over rows that another transaction holds. */
export function mayPassOver<Schema>(tx: Pick<Tx<Schema>, 'engine'>): boolean {
  return tx.engine !== 'sqlite'
}

/** Bounds how long each later statement of the transaction waits for a row. Nothing waits on the embedded engine. */
export async function limitLockWait<Schema>(tx: Tx<Schema>, waitMsMax: number): Promise<void> {
  if (tx.engine === 'sqlite') return
  await sql`set local lock_timeout = ${sql.lit(waitMsMax)}`.execute(tx.query)
}

/** Equal for texts that differ only in case. */
export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase()
}

/**
 * True wherever `foldCase` of the text contains that of `wanted`, and perhaps elsewhere. The databases fold ASCII
 * alike, and of other letters only their presence is asked.
 */
export function mayContain(
  engine: Engine,
  text: RawBuilder<string>,
  wanted: string,
): RawBuilder<SqlBool> {
  const hasOther = sql`octet_length(${text}) <> length(${text})`
  const folded = foldCase(wanted)
  if (/[^\x00-\x7f]/.test(folded)) return sql<SqlBool>`(${hasOther})`
  const isIn =
    engine === 'sqlite'
      ? sql`instr(upper(${text}), ${folded}) > 0`
      : sql`strpos(upper(${text} collate "C"), ${folded}) > 0`
  return sql<SqlBool>`(${isIn} or ${hasOther})`
}

/** Keeps other transactions from writing to the table until this one ends. */
export async function lockTable<Schema>(
  tx: Tx<Schema>,
  table: keyof Schema & string,
): Promise<void> {
  if (tx.engine === 'sqlite') return
  await sql`lock table ${sql.table(table)} in exclusive mode`.execute(tx.query)
}

/**
 * The clock of the database, in milliseconds since the epoch; null on SQLite, where one process uses its own
 * clock.
 */
export async function readSharedTime<Schema>({
  engine,
  query,
}: Pick<Tx<Schema>, 'engine' | 'query'>): Promise<number | null> {
  if (engine === 'sqlite') return null
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms
  `.execute(query)
  return rows[0]?.ms ?? null
}

/** The number of rows of an index at the server's last count; null on SQLite. */
export function countedRows(engine: Engine, index: string): RawBuilder<{ rows: number }> | null {
  if (engine === 'sqlite') return null
  return sql`
    select greatest(0, reltuples)::bigint as rows from pg_class where oid = to_regclass(${index})
  `
}

/** Whether the files keep the bytes of deleted rows until their space is used again. SQLite overwrites them. */
export function keepsFreeSpace(engine: Engine): boolean {
  return engine === 'postgres'
}

/** The text in the order of bytes, as SQLite compares it by default. */
export function byBytes(engine: Engine, text: RawBuilder<string>): RawBuilder<string> {
  return engine === 'sqlite' ? text : sql`${text} collate "C"`
}

/** Whether the column is in a list given as JSON, so that one statement serves lists of any length. */
export function isInList(
  engine: Engine,
  column: string,
  json: RawBuilder<string>,
): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql`${sql.ref(column)} in (select value from json_each(${json}))`
    : sql`${sql.ref(column)} = any(array(select json_array_elements_text(${json}::json)))`
}
