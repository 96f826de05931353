// PostgreSQL with writes in groups, and groups of the test's own choice.

import type { ReceiveInput } from '#inbound/receive-message-rows.ts'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import type { GroupedInput } from '#platform/db/db.ts'
import { openPostgres } from '#platform/db/postgres.ts'
import type { Db, Tables } from '#schema/tables.ts'

export type Grouping = { db: Db; groups: number[] }

/** The port on a migrated database, with the sizes of its transactions. */
export async function openGrouping(url: string): Promise<Grouping> {
  const groups: number[] = []
  const db = await openPostgres<Tables>({
    url,
    observer: { committed: (size) => groups.push(size) },
    onError: () => {},
  })
  return { db, groups }
}

export const waiting = (input: ReceiveInput, traceParent?: string): GroupedInput<ReceiveInput> => ({
  input,
  ...(traceParent !== undefined && { traceParent }),
})

/** What came of each, in one group. */
export async function receiveTogether(
  db: Db,
  inputs: readonly GroupedInput<ReceiveInput>[],
): Promise<unknown[]> {
  const settled = await db.writeGroup?.(storeReceived, inputs)
  return (settled ?? []).map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
}
