import { sql } from 'kysely'
import type { Row, Tables, Tx } from './tables.ts'

/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500

type Column<Table extends keyof Tables> = keyof Row<Table> & string

/**
 * Removes up to PURGE_STEP_ROWS rows whose `time`, an indexed column, is `until` or before, the oldest first;
 * returns a column of each. `key` is the primary key. `isRenewed`: a row may be given a new time meanwhile,
 * which keeps it.
 */
export async function removeOldest<Table extends keyof Tables, Returned extends Column<Table>>(
  tx: Tx,
  table: Table,
  {
    key,
    time,
    until,
    returning,
    isRenewed = false,
  }: {
    key: readonly Column<Table>[]
    time: Column<Table>
    until: number
    returning: Returned
    isRenewed?: boolean
  },
): Promise<Row<Table>[Returned][]> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const isOld = sql`${sql.ref(time)} <= ${until}`
  const { rows } = await sql<Row<Table>>`
    delete from ${sql.table(table)}
    where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${isOld}
      order by ${sql.ref(time)} limit ${PURGE_STEP_ROWS}
    )${isRenewed ? sql` and ${isOld}` : sql``}
    returning ${sql.ref(returning)}
  `.execute(tx.query)
  return rows.map((row) => row[returning])
}
