import { type SqlBool, sql } from 'kysely'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { Share } from '#queue/dispatched-queue.ts'
import { idsOf, leasedQueue } from '#queue/leased-queue.ts'
import type { Row, Tables, Tx } from '#store/tables.ts'

/** One `to`, fifty `cc` and the author who copied the inbox. */
const MESSAGE_RECIPIENTS_MAX = 52

export type HeldDelivery = Pick<Row<'deliveries'>, (typeof HELD_COLUMNS)[number]>

const HELD_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'message_id',
  'raw_id',
  'size_bytes',
  'needs_smtputf8',
  'recipient',
  'return_path',
  'lane',
  'status',
  'attempts',
  'ambiguous_attempts',
  'expires_at',
  'trace_parent',
] as const

export const deliveryQueue = leasedQueue({
  table: 'deliveries',
  noun: 'Deliveries',
  columns: HELD_COLUMNS,
  // The process that lost the lease may have sent the message.
  takenBack: {
    response_code: null,
    enhanced_code: null,
    response: 'The service stopped during an attempt and will retry it.',
  },
  // The lease has overwritten the time of an earlier attempt, so that time is lost.
  returned: {
    last_attempt_at: sql<number | null>`case when attempts > 1 then last_attempt_at end`,
  },
  isLiving: sql<SqlBool>`exists (select 1 from inboxes where inboxes.id = deliveries.inbox_id)`,
  complete: completeMessage,
  dropOrphans,
})

/** Adds the message's other recipients even beyond the limit, because they share an attempt. */
async function completeMessage(
  tx: Tx,
  head: Share,
  ready: HeldDelivery[],
): Promise<HeldDelivery[]> {
  const last = ready.at(-1)
  if (last === undefined || ready.length < head.limit) return ready
  const siblings = await selectSiblings(tx, { lane: head.lane, messageId: last.message_id })
  const known = new Set(idsOf(ready))
  return [...ready, ...siblings.filter(({ id }) => !known.has(id))]
}

async function dropOrphans(tx: Tx, held: HeldDelivery[]): Promise<HeldDelivery[]> {
  const inboxIds = [...new Set(held.map((delivery) => delivery.inbox_id))]
  const rows = await tx.query
    .selectFrom('inboxes')
    .select('id')
    .where('id', 'in', inboxIds)
    .execute()
  if (rows.length === inboxIds.length) return held
  const living = new Set(rows.map((row) => row.id))
  const orphans = held.filter((delivery) => !living.has(delivery.inbox_id))
  await tx.query.deleteFrom('deliveries').where('id', 'in', idsOf(orphans)).execute()
  return held.filter((delivery) => living.has(delivery.inbox_id))
}

const selectSiblings = statement<Tables, { lane: string; messageId: string }, HeldDelivery>(
  (query, given, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('deliveries')
        .select(HELD_COLUMNS)
        .where('message_id', '=', given('messageId'))
        .where('queue_state', '=', sql.lit('ready'))
        .where('lane', '=', given('lane'))
        .orderBy('id')
        .limit(sql.lit(MESSAGE_RECIPIENTS_MAX)),
      { skipLocked: true },
    ),
)
