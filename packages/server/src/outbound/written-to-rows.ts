// Whom an inbox has written to. A send notes its recipients when it is queued; messages that programs of before sent are
// noted here, in small steps.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { addressKey } from '#platform/email-address.ts'
import type { NewRow, ReadDb, Tables, Tx } from '#schema/tables.ts'

export const insertWrittenTo = forEachRow(
  rowInsert<Tables, NewRow<'written_to'>>(
    'written_to',
    ['inbox_id', 'address_key'],
    'on conflict do nothing',
  ),
)

/** Messages of a step; each has at most 51 recipients. */
const STEP_MESSAGES = 50

/**
 * The first inbox by id, starting at `from`, with sent messages that are not noted. Null for none. A caller that
 * continues from the returned id reads each inbox once.
 */
export async function findUnnotedInbox(db: ReadDb, from: string): Promise<string | null> {
  const inbox = await db.read
    .selectFrom('inbox_counters')
    .select('inbox_id')
    .where('inbox_id', '>=', from)
    .whereRef('noted_count', '<', 'outbound_count')
    .orderBy('inbox_id')
    .limit(1)
    .executeTakeFirst()
  return inbox?.inbox_id ?? null
}

/** Notes the recipients of the next STEP_MESSAGES sent messages. Those that wait have none yet. */
export const noteRecipientsStep = transaction({
  name: 'noteRecipientsStep',
  accountOf: () => null,
  async run(tx: Tx, { inboxId }: { inboxId: string }): Promise<void> {
    const selected = tx.query
      .selectFrom('inbox_counters')
      .select(['outbound_count', 'noted_count'])
      .where('inbox_id', '=', inboxId)
    const counters = await lockRows(tx, selected).executeTakeFirst()
    if (counters === undefined) return
    const { noted_count: from, outbound_count } = counters
    const to = Math.min(from + STEP_MESSAGES, outbound_count)
    const rows = await tx.query
      .selectFrom('messages')
      .innerJoin('deliveries', 'deliveries.message_id', 'messages.id')
      .select('deliveries.recipient')
      .where('messages.inbox_id', '=', inboxId)
      .where('messages.direction', '=', 'outbound')
      .where(({ eb, or, and }) =>
        or([
          and([
            eb('messages.direction_position', '>', from),
            eb('messages.direction_position', '<=', to),
          ]),
          // In the trash.
          and([
            eb('messages.direction_position', '<', -from),
            eb('messages.direction_position', '>=', -to),
          ]),
        ]),
      )
      .execute()
    const keys = new Set(rows.map(({ recipient }) => addressKey(recipient)))
    const noted = [...keys].map((address_key) => ({ inbox_id: inboxId, address_key }))
    if (noted.length > 0) await insertWrittenTo(tx, noted)
    await tx.query
      .updateTable('inbox_counters')
      .set({ noted_count: to })
      .where('inbox_id', '=', inboxId)
      .execute()
  },
})
