// The queue of webhook deliveries. The lane is the webhook.

import { sql } from 'kysely'
import type { LogPosition } from '#events/event.ts'
import { findReaderPosition, insertEvent, moveReader } from '#events/event-rows.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import { idsOf, leasedQueue } from '#queue/leased-queue-rows.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { WebhookDeliveryStatus, WebhookError } from './webhook.ts'

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

/** Of nothing but failures, after which a webhook is disabled. */
const WEBHOOK_FAILING_MS_MAX = 5 * DAY_MS

export type SettledWebhookDelivery = {
  worker: string
  /** Whose webhook it is: its outcomes take turns as that account's. */
  accountId: string
  id: string
  /** As they were counted when it was claimed. */
  attempts: number
  attemptAtMs: number
  status: WebhookDeliveryStatus
  /** When it is tried again, by the queue's clock; null: the outcome stands. */
  nextAttemptAtMs: number | null
  responseStatus: number | null
  responseBody: string | null
  latencyMs: number | null
  /** `webhook_disabled` was no attempt; that and `internal_error` say nothing about the receiver. */
  error: WebhookError | null
  nowMs: number
  queueMs: number
  /** Id of the event, should the webhook be disabled. */
  eventId: string
}

/**
 * Records the outcome: `lost` when it is another's to settle, or its webhook was deleted; `disabled`
 * when the webhook has failed for so long that it is told of nothing more.
 */
export const settleWebhookDelivery = transaction({
  name: 'settleWebhookDelivery',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: SettledWebhookDelivery): Promise<'settled' | 'disabled' | 'lost'> {
    if (input.error === 'webhook_disabled') {
      return (await endUnattempted(tx, input)) ? 'settled' : 'lost'
    }
    const [row] = await updateDelivery(tx, {
      id: input.id,
      account_id: input.accountId,
      worker: input.worker,
      attempts: input.attempts,
      last_attempt_at: input.attemptAtMs,
      queue_state: input.nextAttemptAtMs === null ? null : 'waiting',
      status: input.status,
      next_attempt_at: input.nextAttemptAtMs,
      response_status: input.responseStatus,
      response_body: input.responseBody,
      latency_ms: input.latencyMs,
      error: input.error,
    })
    if (row === undefined) return 'lost'
    if (input.error === null) await clearFailing(tx, { id: row.lane, account_id: input.accountId })
    else if (input.error !== 'internal_error' && row.event_kind !== 'webhook.test') {
      return (await noteFailure(tx, row, input)) ? 'disabled' : 'settled'
    }
    return 'settled'
  },
})

/** What earlier attempts came to stays; the one that the claim counted is not one. */
async function endUnattempted(tx: Tx, input: SettledWebhookDelivery): Promise<boolean> {
  const { id, accountId, worker, status, error } = input
  const ended = await tx.query
    .updateTable('webhook_deliveries')
    .set((row) => ({ ...OVER, status, error, attempts: row('attempts', '-', 1) }))
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('leased_by', '=', worker)
    .returning('id')
    .execute()
  return ended.length > 0
}

/** True when it disabled the webhook. Most failures change nothing, and lock nothing. */
async function noteFailure(
  tx: Tx,
  { lane: id }: SettledRow,
  input: SettledWebhookDelivery,
): Promise<boolean> {
  const { accountId: account_id } = input
  const [webhook] = await selectFailing(tx, { id, account_id })
  if (webhook === undefined || webhook.is_enabled === 0) return false
  const { failing_since: sinceMs } = webhook
  const { queueMs, nowMs } = input
  // A time to come was written before the clock was set back.
  if (sinceMs === null || sinceMs > queueMs + CLOCK_SKEW_MS) {
    await tx.query
      .updateTable('webhooks')
      .set({ failing_since: queueMs })
      .where('id', '=', id)
      .where('account_id', '=', account_id)
      .where((row) =>
        sinceMs === null ? row('failing_since', 'is', null) : row('failing_since', '=', sinceMs),
      )
      .execute()
    return false
  }
  if (sinceMs > queueMs - WEBHOOK_FAILING_MS_MAX) return false
  const [disabled] = await tx.query
    .updateTable('webhooks')
    .set({ is_enabled: 0, disabled_reason: 'failing', disabled_at: nowMs })
    .where('id', '=', id)
    .where('account_id', '=', account_id)
    .where('is_enabled', '=', 1)
    .where('failing_since', '=', sinceMs)
    .returning('url')
    .execute()
  if (disabled === undefined) return false
  await insertEvent(tx, {
    id: input.eventId,
    kind: 'webhook.disabled',
    account_id,
    pod_id: null,
    inbox_id: null,
    thread_id: null,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({ webhook: { id, url: disabled.url, reason: 'failing' } }),
  })
  return true
}

type SettledRow = Pick<Row<'webhook_deliveries'>, 'lane' | 'event_kind'>

type Change = Pick<
  Row<'webhook_deliveries'>,
  | 'id'
  | 'account_id'
  | 'attempts'
  | 'last_attempt_at'
  | 'queue_state'
  | 'status'
  | 'next_attempt_at'
  | 'response_status'
  | 'response_body'
  | 'latency_ms'
  | 'error'
> & { worker: string }

const updateDelivery = statement<Tables, Change, SettledRow>((query, place) =>
  query
    .updateTable('webhook_deliveries')
    .set({
      queue_state: place('queue_state'),
      status: place('status'),
      last_attempt_at: place('last_attempt_at'),
      next_attempt_at: place('next_attempt_at'),
      leased_by: null,
      lease_until: null,
      response_status: place('response_status'),
      response_body: place('response_body'),
      latency_ms: place('latency_ms'),
      error: place('error'),
    })
    .where('id', '=', place('id'))
    .where('account_id', '=', place('account_id'))
    .where((row) =>
      row.or([
        row('leased_by', '=', place('worker')),
        // Its lease ended, and nobody has taken it up: better known than sent again. A later attempt
        // has been counted, and what is ready again for somebody who asked for it is another.
        row.and([
          row('queue_state', '=', sql.lit('ready')),
          row('attempts', '=', place('attempts')),
          row('event_kind', '!=', sql.lit('webhook.test')),
        ]),
      ]),
    )
    .returning(['lane', 'event_kind']),
)

type OneWebhook = Pick<Row<'webhooks'>, 'id' | 'account_id'>

const clearFailing = statement<Tables, OneWebhook, never>((query, place) =>
  query
    .updateTable('webhooks')
    .set({ failing_since: null })
    .where('id', '=', place('id'))
    .where('account_id', '=', place('account_id'))
    .where('failing_since', 'is not', null),
)

const selectFailing = statement<
  Tables,
  OneWebhook,
  Pick<Row<'webhooks'>, 'is_enabled' | 'failing_since'>
>((query, place) =>
  query
    .selectFrom('webhooks')
    .select(['is_enabled', 'failing_since'])
    .where('id', '=', place('id'))
    .where('account_id', '=', place('account_id')),
)
