// Readers of the whole log, who keep how far they have come in the transaction that does their work.

import { SECOND_MS } from '#platform/units.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'
import type { LogPosition } from './event.ts'

/** Events of one look at the log. */
export const LOG_STEP_EVENTS = 100
/** Events that nobody wants, and the time, after which the place in the log is kept all the same. */
export const FAN_OUT_UNKEPT_EVENTS_MAX = 1_000
export const FAN_OUT_UNKEPT_MS_MAX = 10 * SECOND_MS

export type LogReader = 'webhooks' | 'figures'

/** How far the log has been read. */
export async function findReaderPosition(db: ReadDb, name: LogReader): Promise<LogPosition> {
  const row = await db.read
    .selectFrom('event_readers')
    .select(['transaction_id', 'sequence'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

/** False, and nothing is moved, when the reader is not at `from` any more: another process was first. */
export async function moveReader(
  tx: Tx,
  { name, from, to }: { name: LogReader; from: LogPosition; to: LogPosition },
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
