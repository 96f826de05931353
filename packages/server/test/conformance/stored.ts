// What inboxes count as stored against the rows that they count.

import assert from 'node:assert/strict'
import type { Db } from '#schema/tables.ts'

/** Every counter is the sum of its rows. */
export async function assertStoredCounted(db: Db): Promise<void> {
  const raws = await db.read.selectFrom('raw_messages').select(['id', 'size_bytes']).execute()
  const sizeOf = new Map(raws.map(({ id, size_bytes }) => [id, size_bytes]))
  const columns = ['inbox_id', 'raw_id'] as const
  const messages = await db.read.selectFrom('messages').select(columns).execute()
  const quarantined = await db.read.selectFrom('quarantined_messages').select(columns).execute()
  const sumOf = (rows: typeof messages, inboxId: string) =>
    rows
      .filter((row) => row.inbox_id === inboxId)
      .reduce((sum, row) => sum + (sizeOf.get(row.raw_id) ?? Number.NaN), 0)
  for (const counters of await db.read.selectFrom('inbox_counters').selectAll().execute()) {
    const { inbox_id: inboxId } = counters
    assert.equal(counters.stored_bytes, sumOf(messages, inboxId))
    assert.equal(counters.quarantined_bytes, sumOf(quarantined, inboxId))
    assert.equal(counters.counted_position, counters.inbound_count + counters.outbound_count)
  }
}
