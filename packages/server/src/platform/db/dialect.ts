// Every difference between the two SQL dialects that a query has to know.

import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Engine, Tx } from './db.ts'

/**
 * Locks the selected rows until the transaction ends, or passes over rows that another transaction
 * holds. The embedded engine has one writer, so there nothing needs locking.
 */
export function lockRows<Schema, Tables extends keyof Schema, Row>(
  tx: Pick<Tx<Schema>, 'engine'>,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  options: { skipLocked?: boolean } = {},
): SelectQueryBuilder<Schema, Tables, Row> {
  if (tx.engine === 'sqlite') return query
  return options.skipLocked === true ? query.forUpdate().skipLocked() : query.forUpdate()
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
 * The clock that every process on this database shares, in milliseconds since the epoch; null where
 * there is one process, whose own clock will do.
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

/** A place in a log, a table with the columns `transaction_id` and `sequence`. */
type LogPlace = { readonly transactionId: number; readonly sequence: number }

/**
 * Narrows a query on a log to what lies behind `after`, up to and with `until`, and is settled: nothing
 * can appear before it any more. PostgreSQL gives sequences when rows are written, not when they are
 * committed; so the transaction comes first in the order, and readers stop at the oldest one that is
 * under way as the statement itself sees it.
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

/** Selects places of a log; a column that is always alike is not read, for no index holds it. */
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
 * Narrows a query on a log to what lies behind `after`, settled or not; null where a committed row is
 * settled at once.
 */
export function unsettledInLog<Schema, Tables extends keyof Schema, Row>(
  engine: Engine,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  after: LogPlace,
): SelectQueryBuilder<Schema, Tables, Row> | null {
  return engine === 'sqlite' ? null : query.where(isAfter(engine, after))
}

/**
 * For conditions on a log: the number of the transaction that asks, and whether a row was written by
 * one that this server never had, as in a database that was restored from another. Null where
 * transactions have no numbers.
 */
export function transactionNumbers(
  engine: Engine,
): { own: RawBuilder<number>; isForeign: RawBuilder<SqlBool> } | null {
  if (engine === 'sqlite') return null
  return {
    own: sql<number>`pg_current_xact_id()::text::bigint`,
    // Whoever committed stands below the snapshot's end; only what this transaction wrote may not.
    isForeign: sql<SqlBool>`(
      transaction_id >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      and transaction_id is distinct from pg_current_xact_id_if_assigned()::text::bigint
    )`,
  }
}

/** Holds for rows of a log behind this one. */
export function isAfter(
  engine: Engine,
  { transactionId, sequence }: LogPlace,
): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`(sequence > ${sequence})`
    : sql<SqlBool>`((transaction_id, sequence) > (${transactionId}, ${sequence}))`
}

/** The end of a range, written so that an index ends there, too: a `not` of the other is looked at row by row. */
function isUpTo(engine: Engine, { transactionId, sequence }: LogPlace): RawBuilder<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`(sequence <= ${sequence})`
    : sql<SqlBool>`((transaction_id, sequence) <= (${transactionId}, ${sequence}))`
}

/** Holds for committed rows of a log that cannot be read yet; null where there are none. */
export function isUnsettled(engine: Engine): RawBuilder<SqlBool> | null {
  return engine === 'sqlite'
    ? null
    : sql<SqlBool>`transaction_id >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
}

const IS_SETTLED = sql<SqlBool>`transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

/**
 * How many rows an index held when the server last counted them, which it does by itself as they
 * change; null where nobody counts.
 */
export function countedRows(engine: Engine, index: string): RawBuilder<{ rows: number }> | null {
  if (engine === 'sqlite') return null
  return sql`
    select greatest(0, reltuples)::bigint as rows from pg_class where oid = to_regclass(${index})
  `
}
