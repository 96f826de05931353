// The queue of webhook deliveries: who takes them and who holds them. The lane is the webhook.

import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import type { Share } from '#queue/dispatched-queue.ts'
import { idsOf, leasedQueue } from '#queue/leased-queue-rows.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

/** A webhook delivery in the hands of a worker. */
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

const queue = leasedQueue({
  table: 'webhook_deliveries',
  columns: HELD_COLUMNS,
  // Whether the receiver got it is not known; it gets it again.
  takenBack: {},
  // When an attempt was made is told by its outcome.
  returned: {},
  endLost: endTests,
})

/** See `LeasedQueue`. */
export const { listHeads: listWebhookHeads, hasDue: hasDueWebhookDeliveries } = queue

export const renewWebhookDeliveries = transaction({
  name: 'renewWebhookDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.renew,
})

export const returnWebhookDeliveries = transaction({
  name: 'returnWebhookDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.giveBack,
})

export const readyDueWebhookDeliveries = transaction({
  name: 'readyDueWebhookDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.readyDue,
})

export const releaseWebhookDeliveries = transaction({
  name: 'releaseWebhookDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.release,
})

/** Leases deliveries of these heads, of each the longest due first, and counts an attempt for each. */
export const claimWebhookDeliveries = transaction({
  name: 'claimWebhookDeliveries',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    input: {
      worker: string
      heads: Share[]
      leaseUntilMs: number
    },
  ): Promise<HeldWebhookDelivery[]> {
    const held: HeldWebhookDelivery[] = []
    for (const head of input.heads) held.push(...(await queue.selectReady(tx, head)))
    if (held.length === 0) return []
    const { worker, leaseUntilMs } = input
    await queue.lease(tx, { worker, ids: idsOf(held), leaseUntilMs })
    return held.map((delivery) => ({ ...delivery, attempts: delivery.attempts + 1 }))
  },
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

/** Of these, what `worker` still holds, with the end of each lease. */
export async function findHeldWebhookDeliveries(
  db: ReadDb,
  { worker, ids }: { worker: string; ids: string[] },
): Promise<{ id: string; leaseUntilMs: number }[]> {
  const found: { id: string; leaseUntilMs: number }[] = []
  for (const id of ids) {
    const rows = await selectHeld(db.reading, { worker, id })
    found.push(...rows.map((row) => ({ id: row.id, leaseUntilMs: row.lease_until ?? 0 })))
  }
  return found
}

const selectHeld = statement<
  Tables,
  { worker: string; id: string },
  Pick<Row<'webhook_deliveries'>, 'id' | 'lease_until'>
>((query, place) =>
  query
    .selectFrom('webhook_deliveries')
    .select(['id', 'lease_until'])
    .where('id', '=', place('id'))
    .where('leased_by', '=', place('worker')),
)

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
