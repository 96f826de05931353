// The offset of each reader that follows the complete log.

import type { LogOffset } from '#events/model.ts'
import type { ReadDb, Tx } from '#store/tables.ts'

export type LogReaderName = 'webhooks' | 'figures' | 'inbox_days'

export async function findReaderOffset(db: ReadDb, name: LogReaderName): Promise<LogOffset> {
  const row = await db.read
    .selectFrom('event_readers')
    .select(['transaction_id', 'sequence'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

/** False if another process has already moved the reader from `from`. */
export async function moveReader(
  tx: Tx,
  { name, from, to }: { name: LogReaderName; from: LogOffset; to: LogOffset },
): Promise<boolean> {
  const moved = await tx.query
    .updateTable('event_readers')
    .set({ transaction_id: to.transactionId, sequence: to.sequence })
    .where('name', '=', name)
    .where('transaction_id', '=', from.transactionId)
    .where('sequence', '=', from.sequence)
    .returning('name')
    .execute()
  return moved.length === 1
}
