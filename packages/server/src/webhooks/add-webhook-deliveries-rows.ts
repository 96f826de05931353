// Where deliveries of webhooks come from: the log of events, whose reader moves on in the same
// transaction, and tests that somebody asked for.

import type { LogPosition } from '#events/event.ts'
import { findReaderPosition, moveReader } from '#events/event-reader-rows.ts'
import { insertEvent } from '#events/event-rows.ts'
import { transaction } from '#platform/db/db.ts'
import type { NewRow, ReadDb, Tx } from '#schema/tables.ts'
import type { HeldWebhookDelivery } from './webhook-queue-rows.ts'

/** Each row has some ten values, and a statement takes 32,766. */
const ROWS_AT_ONCE = 500

export type NewWebhookDelivery = {
  id: string
  accountId: string
  webhookId: string
  eventId: string
  eventKind: string
  /** The trace that it goes on with, if any. */
  traceParent?: string | null
}

/** How far the log has been read for webhooks. */
export function findWebhookPosition(db: ReadDb): Promise<LogPosition> {
  return findReaderPosition(db, 'webhooks')
}

/**
 * Moves the reader from one position to another and adds what the events between them came to, ready
 * at once. False, and nothing is added, when the reader is not at `from` any more: another process was
 * there first.
 */
export const addWebhookDeliveries = transaction({
  name: 'addWebhookDeliveries',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: {
      from: LogPosition
      to: LogPosition
      deliveries: NewWebhookDelivery[]
      nowMs: number
      queueMs: number
    },
  ): Promise<boolean> {
    const { from, to, deliveries } = input
    if (!(await moveReader(tx, { name: 'webhooks', from, to }))) return false
    for (let start = 0; start < deliveries.length; start += ROWS_AT_ONCE) {
      const rows = deliveries
        .slice(start, start + ROWS_AT_ONCE)
        .map((delivery) => ({ ...newRow(delivery, input.nowMs), next_attempt_at: input.queueMs }))
      await tx.query.insertInto('webhook_deliveries').values(rows).execute()
    }
    return true
  },
})

export type WebhookTest = {
  accountId: string
  webhookId: string
  eventId: string
  deliveryId: string
  worker: string
  nowMs: number
  queueMs: number
  leaseUntilMs: number
}

/**
 * Adds an event for this webhook alone, and its delivery in the hands of `worker`; null when the
 * account has no such webhook.
 */
export const addWebhookTest = transaction({
  name: 'addWebhookTest',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: WebhookTest): Promise<HeldWebhookDelivery | null> {
    const found = await tx.query
      .selectFrom('webhooks')
      .leftJoin('inboxes', 'inboxes.id', 'webhooks.inbox_id')
      .select(['webhooks.id', 'webhooks.url', 'inboxes.id as inbox_id', 'inboxes.pod_id'])
      .where('webhooks.account_id', '=', input.accountId)
      .where('webhooks.id', '=', input.webhookId)
      .executeTakeFirst()
    if (found === undefined) return null
    const { inbox_id, pod_id, ...webhook } = found
    const kind = 'webhook.test'
    await insertEvent(tx, {
      id: input.eventId,
      kind,
      account_id: input.accountId,
      pod_id,
      inbox_id,
      thread_id: null,
      message_id: null,
      occurred_at: input.nowMs,
      details: JSON.stringify({ webhook }),
    })
    const { deliveryId: id, accountId, webhookId, eventId } = input
    const traceParent = tx.traceParent ?? null
    const held = {
      ...newRow({ id, accountId, webhookId, eventId, eventKind: kind, traceParent }, input.nowMs),
      attempts: 1,
      last_attempt_at: input.nowMs,
      next_attempt_at: input.queueMs,
      queue_state: 'leased',
      leased_by: input.worker,
      lease_until: input.leaseUntilMs,
    }
    await tx.query.insertInto('webhook_deliveries').values(held).execute()
    const { account_id, lane, event_id, event_kind, attempts, trace_parent } = held
    return { id, account_id, lane, event_id, event_kind, attempts, trace_parent }
  },
})

function newRow(delivery: NewWebhookDelivery, nowMs: number) {
  return {
    id: delivery.id,
    account_id: delivery.accountId,
    lane: delivery.webhookId,
    event_id: delivery.eventId,
    event_kind: delivery.eventKind,
    queue_state: 'ready',
    status: 'pending',
    attempts: 0,
    trace_parent: delivery.traceParent ?? null,
    created_at: nowMs,
  } satisfies Partial<NewRow<'webhook_deliveries'>>
}
