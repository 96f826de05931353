// The differences between the two SQL dialects that queries have to know.

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

/** A place in a log: a table with the columns `transaction_id` and `sequence`. */
type LogPlace = { readonly transactionId: number; readonly sequence: number }

/**
 * Limits a query on a log to rows after `after`, up to and including `until`, that are settled: nothing can
 * appear before them any more. PostgreSQL assigns sequences when rows are written, not when they commit. So
 * the transaction comes first in the order, and readers stop at the oldest open transaction that the
 * statement sees.
 */
export function inLog<Schema, Tables extends keyof Schema, Row>(
  engine: Engine,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { after, until }: { after: LogPlace; until: LogPlace | null },
): SelectQueryBuilder<Schema, Tables, Row> {
  let narrowed = query.where(isAfter(engine, after))
  if (until !== null) narrowed = narrowed.where(isUpTo(engine, until))
  return engine === 'sqlite' ? narrowed : narrowed.where(IS_SETTLED)
}

/** Selects places of a log. On SQLite `transaction_id` is constant and in no index, so it is not read. */
export function selectPlaces<Schema, Tables extends keyof Schema, Row>(
  engine: Engine,
  query: SelectQueryBuilder<Schema, Tables, Row>,
): SelectQueryBuilder<Schema, Tables, Row & { transaction_id: number; sequence: number }> {
  const number = engine === 'sqlite' ? sql<number>`0` : sql<number>`transaction_id`
  return query
    .select([number.as('transaction_id'), sql<number>`sequence`.as('sequence')])
    .$castTo<Row & { transaction_id: number; sequence: number }>()
}

/** Orders a query on a log. */
export function inLogOrder<Schema, Tables extends keyof Schema, Row>(
  engine: Engine,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  direction: 'asc' | 'desc',
): SelectQueryBuilder<Schema, Tables, Row> {
  const byTransaction = engine === 'sqlite' ? query : query.orderBy(sql`transaction_id`, direction)
  return byTransaction.orderBy(sql`sequence`, direction)
}

/**
 * Limits a query on a log to rows after `after`, settled or not; null when every committed row is settled.
 */
export function unsettledInLog<Schema, Tables extends keyof Schema, Row>(
  engine: Engine,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  after: LogPlace,
): SelectQueryBuilder<Schema, Tables, Row> | null {
  return engine === 'sqlite' ? null : query.where(isAfter(engine, after))
}

/**
 * For conditions on a log: the number of the current transaction, and whether a row comes from a transaction
 * that this server never had, as in a restored database. Null on SQLite.
 */
export function transactionNumbers(
  engine: Engine,
): { own: RawBuilder<number>; isForeign: RawBuilder<SqlBool> } | null {
  if (engine === 'sqlite') return null
  return {
    own: sql<number>`pg_current_xact_id()::text::bigint`,
    // Committed transactions are below the snapshot's end; only rows of the current transaction may not be.
    isForeign: sql<SqlBool>`(
      transaction_id >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      and transaction_id is distinct from pg_current_xact_id_if_assigned()::text::bigint
    )`,
  }
}

/** True for rows of a log after this place. */
export function isAfter(
  engine: Engine,
  { transactionId, sequence }: LogPlace,
): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`(sequence > ${sequence})`
    : sql<SqlBool>`((transaction_id, sequence) > (${transactionId}, ${sequence}))`
}

/**
 * The end of a range, in a form that limits the scan of an index; the negation of `isAfter` would be checked
 * row by row.
 */
export function isUpTo(engine: Engine, { transactionId, sequence }: LogPlace): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`(sequence <= ${sequence})`
    : sql<SqlBool>`((transaction_id, sequence) <= (${transactionId}, ${sequence}))`
}

/** True for committed rows of a log that are not settled yet; null when there are none. */
export function isUnsettled(engine: Engine): RawBuilder<SqlBool> | null {
  return engine === 'sqlite'
    ? null
    : sql<SqlBool>`transaction_id >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
}

const IS_SETTLED = sql<SqlBool>`transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

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
