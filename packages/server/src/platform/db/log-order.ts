// The order of a log: a table with the columns `transaction_id` and `sequence`. PostgreSQL assigns sequences when rows
// are written, not when they commit. So the transaction comes first in the order there, and readers stop at the oldest
// open transaction that the statement sees. On SQLite the sequence is the order of commits.

import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Engine } from './db.ts'

type Position = { readonly transactionId: number; readonly sequence: number }

/** Committed rows are settled once nothing can appear before them any more. */
type LogOrder = {
  /** The columns of a position. */
  readonly columns: { transaction_id: RawBuilder<number>; sequence: RawBuilder<number> }
  /** The columns to order by. */
  readonly by: readonly RawBuilder<number>[]
  isAfter(position: Position): RawBuilder<SqlBool>
  /** Limits the scan of an index; the negation of `isAfter` would be checked row by row. */
  isUpTo(position: Position): RawBuilder<SqlBool>
  /** Null where every committed row is settled. */
  readonly isSettled: RawBuilder<SqlBool> | null
  readonly isUnsettled: RawBuilder<SqlBool> | null
  /**
   * The number of the current transaction, and whether a row comes from a transaction that this server never had, as
   * in a restored database. Null on SQLite.
   */
  readonly numbers: { own: RawBuilder<number>; isForeign: RawBuilder<SqlBool> } | null
}

const sequence = sql<number>`sequence`
const transactionId = sql<number>`transaction_id`

const orders: Readonly<Record<Engine, LogOrder>> = {
  sqlite: {
    // The transaction is constant and in no index, so it is not read.
    columns: { transaction_id: sql<number>`0`, sequence },
    by: [sequence],
    isAfter: (position) => sql<SqlBool>`(sequence > ${position.sequence})`,
    isUpTo: (position) => sql<SqlBool>`(sequence <= ${position.sequence})`,
    isSettled: null,
    isUnsettled: null,
    numbers: null,
  },
  postgres: {
    columns: { transaction_id: transactionId, sequence },
    by: [transactionId, sequence],
    isAfter: (position) =>
      sql<SqlBool>`((transaction_id, sequence) > (${position.transactionId}, ${position.sequence}))`,
    isUpTo: (position) =>
      sql<SqlBool>`((transaction_id, sequence) <= (${position.transactionId}, ${position.sequence}))`,
    isSettled: sql<SqlBool>`transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
    isUnsettled: sql<SqlBool>`transaction_id >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
    numbers: {
      own: sql<number>`pg_current_xact_id()::text::bigint`,
      // Committed transactions are below the snapshot's end; only rows of the current transaction may not be.
      isForeign: sql<SqlBool>`(
        transaction_id >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        and transaction_id is distinct from pg_current_xact_id_if_assigned()::text::bigint
      )`,
    },
  },
}

export function logOrder({ engine }: { readonly engine: Engine }): LogOrder {
  return orders[engine]
}

type Reader = { readonly reading: { readonly engine: Engine } }

/** Limits the query to settled rows after `after`, up to and including `until`. */
export function inLog<Schema, Tables extends keyof Schema, Row>(
  { reading }: Reader,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { after, until }: { after: Position; until: Position | null },
): SelectQueryBuilder<Schema, Tables, Row> {
  const { isAfter, isUpTo, isSettled } = logOrder(reading)
  let narrowed = query.where(isAfter(after))
  if (until !== null) narrowed = narrowed.where(isUpTo(until))
  return isSettled === null ? narrowed : narrowed.where(isSettled)
}

export function selectPositions<Schema, Tables extends keyof Schema, Row>(
  { reading }: Reader,
  query: SelectQueryBuilder<Schema, Tables, Row>,
): SelectQueryBuilder<Schema, Tables, Row & { transaction_id: number; sequence: number }> {
  const { columns } = logOrder(reading)
  return query
    .select([columns.transaction_id.as('transaction_id'), columns.sequence.as('sequence')])
    .$castTo<Row & { transaction_id: number; sequence: number }>()
}

export function inLogOrder<Schema, Tables extends keyof Schema, Row>(
  { reading }: Reader,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  direction: 'asc' | 'desc',
): SelectQueryBuilder<Schema, Tables, Row> {
  return logOrder(reading).by.reduce((ordered, by) => ordered.orderBy(by, direction), query)
}
