// The order of a log with the columns `transaction_id` and `sequence`. PostgreSQL assigns sequences
// before commits. There, the order is by transaction first, and readers stop at the oldest open
// transaction.

import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Engine } from './db.ts'

type Offset = { readonly transactionId: number; readonly sequence: number }

/** A committed row is settled once no row can appear before it. */
type LogOrder = {
  readonly columns: { transaction_id: RawBuilder<number>; sequence: RawBuilder<number> }
  readonly by: readonly RawBuilder<number>[]
  isAfter(offset: Offset): RawBuilder<SqlBool>
  /** Bounds the index scan; a negated `isAfter` would be checked row by row. */
  isUpTo(offset: Offset): RawBuilder<SqlBool>
  /** Null where every committed row is settled. */
  readonly isSettled: RawBuilder<SqlBool> | null
  readonly isUnsettled: RawBuilder<SqlBool> | null
  /** `isForeign` finds rows of another server's transactions, as in a restored database. */
  readonly numbers: { own: RawBuilder<number>; isForeign: RawBuilder<SqlBool> } | null
}

const sequence = sql<number>`sequence`
const transactionId = sql<number>`transaction_id`

const orders: Readonly<Record<Engine, LogOrder>> = {
  sqlite: {
    // The transaction is constant on SQLite and in no index, so the column is not read.
    columns: { transaction_id: sql<number>`0`, sequence },
    by: [sequence],
    isAfter: (offset) => sql<SqlBool>`(sequence > ${offset.sequence})`,
    isUpTo: (offset) => sql<SqlBool>`(sequence <= ${offset.sequence})`,
    isSettled: null,
    isUnsettled: null,
    numbers: null,
  },
  postgres: {
    columns: { transaction_id: transactionId, sequence },
    by: [transactionId, sequence],
    isAfter: (offset) =>
      sql<SqlBool>`((transaction_id, sequence) > (${offset.transactionId}, ${offset.sequence}))`,
    isUpTo: (offset) =>
      sql<SqlBool>`((transaction_id, sequence) <= (${offset.transactionId}, ${offset.sequence}))`,
    isSettled: sql<SqlBool>`transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
    isUnsettled: sql<SqlBool>`transaction_id >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
    numbers: {
      own: sql<number>`pg_current_xact_id()::text::bigint`,
      // Committed transactions are below the snapshot's end; only the current one may be above it.
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

export function inLog<Schema, Tables extends keyof Schema, Row>(
  { reading }: Reader,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { after, until }: { after: Offset; until: Offset | null },
): SelectQueryBuilder<Schema, Tables, Row> {
  const { isAfter, isUpTo, isSettled } = logOrder(reading)
  let narrowed = query.where(isAfter(after))
  if (until !== null) narrowed = narrowed.where(isUpTo(until))
  return isSettled === null ? narrowed : narrowed.where(isSettled)
}

export function selectOffsets<Schema, Tables extends keyof Schema, Row>(
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
