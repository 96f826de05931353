// The queue of webhook deliveries. The lane is the webhook.

import { idsOf, leasedQueue } from '#queue/leased-queue-rows.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'

/** A webhook delivery that a worker has leased. */
export type HeldWebhookDelivery = Pick<Row<'webhook_deliveries'>, (typeof HELD_COLUMNS)[number]>

const HELD_COLUMNS = [
  'id',
  'account_id',
  'lane',
  'event_id',
  'event_kind',
  'attempts',
  'trace_parent',
] as const

export const webhookQueue = leasedQueue({
  table: 'webhook_deliveries',
  noun: 'WebhookDeliveries',
  columns: HELD_COLUMNS,
  // The receiver may have the event already, and gets it again.
  takenBack: {},
  // Only the outcome of an attempt sets its time.
  returned: {},
  endLost: endTests,
})

/** Whoever asked for a test has had an answer, or none; a later attempt would surprise them. */
async function endTests(tx: Tx, ids: string[]): Promise<string[]> {
  const ended = await tx.query
    .updateTable('webhook_deliveries')
    .set({
      ...OVER,
      status: 'failed',
      error: 'internal_error',
      response_status: null,
      response_body: null,
      latency_ms: null,
    })
    .where('id', 'in', ids)
    .where('event_kind', '=', 'webhook.test')
    .returning('id')
    .execute()
  return idsOf(ended)
}

/** To be set when no attempt follows. */
export const OVER = {
  queue_state: null,
  leased_by: null,
  lease_until: null,
  next_attempt_at: null,
} as const

/** Octets of the messages that these events are about; an event of no message has none. */
export async function findEventSizes(db: ReadDb, eventIds: string[]): Promise<Map<string, number>> {
  if (eventIds.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('events')
    .innerJoin('messages', 'messages.id', 'events.message_id')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select(['events.id', 'raw_messages.size_bytes'])
    .where('events.id', 'in', eventIds)
    .execute()
  return new Map(rows.map((row) => [row.id, row.size_bytes]))
}
