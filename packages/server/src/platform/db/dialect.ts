// The differences between the two SQL dialects, except for logs and the full-text index.

import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Engine, Tx } from './db.ts'

/** No effect on SQLite, which has a single writer. */
export function lockRows<Schema, Tables extends keyof Schema, Row>(
  tx: Pick<Tx<Schema>, 'engine'>,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  options: { skipLocked?: boolean } = {},
): SelectQueryBuilder<Schema, Tables, Row> {
  if (tx.engine === 'sqlite') return query
  return options.skipLocked === true ? query.forUpdate().skipLocked() : query.forUpdate()
}

export function mayPassOver<Schema>(tx: Pick<Tx<Schema>, 'engine'>): boolean {
  return tx.engine !== 'sqlite'
}

/** Bounds the wait of later statements for a row lock. No effect on SQLite. */
export async function limitLockWait<Schema>(tx: Tx<Schema>, waitMsMax: number): Promise<void> {
  if (tx.engine === 'sqlite') return
  await sql`set local lock_timeout = ${sql.lit(waitMsMax)}`.execute(tx.query)
}

export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase()
}

/** Lower case differs between databases except for ASCII, so any other text is included. */
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

export async function lockTable<Schema>(
  tx: Tx<Schema>,
  table: keyof Schema & string,
): Promise<void> {
  if (tx.engine === 'sqlite') return
  await sql`lock table ${sql.table(table)} in exclusive mode`.execute(tx.query)
}

/** The database's time; null on SQLite, where one process uses its own clock. */
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

/** PostgreSQL's estimate of an index's rows; null on SQLite. */
export function countedRows(engine: Engine, index: string): RawBuilder<{ rows: number }> | null {
  if (engine === 'sqlite') return null
  return sql`
    select greatest(0, reltuples)::bigint as rows from pg_class where oid = to_regclass(${index})
  `
}

export function keepsFreeSpace(engine: Engine): boolean {
  return engine === 'postgres'
}

/** Makes PostgreSQL compare by bytes, as SQLite does by default. */
export function byBytes(engine: Engine, text: RawBuilder<string>): RawBuilder<string> {
  return engine === 'sqlite' ? text : sql`${text} collate "C"`
}

/** The list is a JSON array, so that one statement serves lists of any length. */
export function isInList(
  engine: Engine,
  column: string,
  json: RawBuilder<string>,
): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql`${sql.ref(column)} in (select value from json_each(${json}))`
    : sql`${sql.ref(column)} = any(array(select json_array_elements_text(${json}::json)))`
}
