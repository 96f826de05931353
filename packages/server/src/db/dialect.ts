// Every difference between the two SQL dialects that a query has to know.

import type { SelectQueryBuilder } from 'kysely'
import type { Tx } from './db.ts'

/**
 * Locks the selected rows until the transaction ends. The embedded engine has one writer, so there
 * nothing needs locking.
 */
export function lockRows<Schema, Tables extends keyof Schema, Row>(
  tx: Tx<Schema>,
  query: SelectQueryBuilder<Schema, Tables, Row>,
): SelectQueryBuilder<Schema, Tables, Row> {
  return tx.engine === 'postgres' ? query.forUpdate() : query
}
