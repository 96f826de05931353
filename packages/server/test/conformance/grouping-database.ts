// PostgreSQL with writes in groups, and groups of the test's own choice.

import type { GroupedInput } from '#db/db.ts'
import { openPostgres } from '#db/postgres.ts'
import type { ReceiveInput } from '#store/receive-message.ts'
import type { Tables } from '#store/tables.ts'
import { type Db, groupForms, transactions } from '#store/transactions.ts'

export type Grouping = { db: Db; groups: number[] }

/** The port on a migrated database, with the sizes of its transactions. */
export async function openGrouping(url: string): Promise<Grouping> {
  const groups: number[] = []
  const db = await openPostgres<Tables, typeof transactions>({
    url,
    transactions,
    groupForms,
    observer: { committed: (size) => groups.push(size) },
    onError: () => {},
  })
  return { db, groups }
}

export const waiting = (input: ReceiveInput, traceParent?: string): GroupedInput<unknown> => ({
  input,
  ...(traceParent !== undefined && { traceParent }),
})

/** What came of each, in one group. */
export async function receiveTogether(
  db: Db,
  inputs: readonly GroupedInput<unknown>[],
): Promise<unknown[]> {
  const settled = await db.grouped?.write('receiveMessage', inputs)
  return (settled ?? []).map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
}
