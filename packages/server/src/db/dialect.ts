// Every difference between the two SQL dialects that a query has to know.

import { type SelectQueryBuilder, sql } from 'kysely'
import type { Tx } from './db.ts'

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
