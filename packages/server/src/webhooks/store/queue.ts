// The queue of webhook deliveries, with one lane per webhook.

import { sql } from 'kysely'
import type { LogOffset } from '#events/model.ts'
import { insertEvent } from '#events/store/append.ts'
import { moveReader } from '#events/store/readers.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import { idsOf, leasedQueue } from '#queue/leased-queue.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import type { WebhookDeliveryStatus, WebhookError, WebhookRequest } from '#webhooks/model.ts'

/** A row has some ten values, and a statement may have 32,766. */
const ROWS_AT_ONCE = 500

export type NewWebhookDelivery = {
  id: string
  accountId: string
  webhookId: string
  eventId: string
  eventKind: string
  traceParent?: string | null
}

/**
 * Moves the log reader and adds deliveries that are immediately ready. Returns false without
 * changes if another process has moved the reader from `from`.
 */
export const addWebhookDeliveries = transaction({
  name: 'addWebhookDeliveries',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: {
      from: LogOffset
      to: LogOffset
      deliveries: NewWebhookDelivery[]
      nowMs: number
      queueMs: number
    },
  ): Promise<boolean> {
    const { from, to, deliveries, nowMs, queueMs } = input
    if (!(await moveReader(tx, { name: 'webhooks', from, to }))) return false
    const rows = deliveries.map((one) => ({ ...newRow(one, nowMs), next_attempt_at: queueMs }))
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const some = rows.slice(start, start + ROWS_AT_ONCE)
      await tx.query.insertInto('webhook_deliveries').values(some).execute()
    }
    return true
  },
})

/** Adds an event for this webhook alone and a leased delivery. Null without the webhook. */
export const addWebhookTest = transaction({
  name: 'addWebhookTest',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: {
      accountId: string
      webhookId: string
      eventId: string
      deliveryId: string
      worker: string
      nowMs: number
      queueMs: number
      leaseUntilMs: number
    },
  ): Promise<HeldWebhookDelivery | null> {
    const { accountId, webhookId, eventId, deliveryId: id, nowMs } = input
    const found = await tx.query
      .selectFrom('webhooks')
      .leftJoin('inboxes', 'inboxes.id', 'webhooks.inbox_id')
      .select(['webhooks.id', 'webhooks.url', 'inboxes.id as inbox_id', 'inboxes.pod_id'])
      .where('webhooks.account_id', '=', accountId)
      .where('webhooks.id', '=', webhookId)
      .executeTakeFirst()
    if (found === undefined) return null
    const { inbox_id, pod_id, ...webhook } = found
    const eventKind = 'webhook.test'
    await insertEvent(tx, {
      id: eventId,
      kind: eventKind,
      account_id: accountId,
      pod_id,
      inbox_id,
      thread_id: null,
      message_id: null,
      occurred_at: nowMs,
      details: JSON.stringify({ webhook }),
    })
    const traceParent = tx.traceParent ?? null
    const held = {
      ...newRow({ id, accountId, webhookId, eventId, eventKind, traceParent }, nowMs),
      attempts: 1,
      last_attempt_at: nowMs,
      next_attempt_at: input.queueMs,
      queue_state: 'leased',
      leased_by: input.worker,
      lease_until: input.leaseUntilMs,
    }
    await tx.query.insertInto('webhook_deliveries').values(held).execute()
    return held
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
  // The receiver may already have the event and gets it again.
  takenBack: {},
  returned: {},
  endLost: endTests,
})

/** The callers of tests are no longer waiting. */
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

const OVER = {
  queue_state: null,
  leased_by: null,
  lease_until: null,
  next_attempt_at: null,
} as const

/** Omits events without a message. */
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

/** A webhook that has failed for this time without a success is disabled. */
const WEBHOOK_FAILING_MS_MAX = 5 * DAY_MS

export type SettledWebhookDelivery = {
  worker: string
  accountId: string
  id: string
  /** The number of attempts when the delivery was leased. */
  attempts: number
  attemptAtMs: number
  status: WebhookDeliveryStatus
  /** The next attempt in queue time; null if the outcome is final. */
  nextAttemptAtMs: number | null
  /** Null if nothing was posted. */
  request: WebhookRequest | null
  responseStatus: number | null
  responseBody: string | null
  latencyMs: number | null
  /** `webhook_disabled` and `internal_error` are not held against the receiver. */
  error: WebhookError | null
  nowMs: number
  queueMs: number
  /** The id of the event that is emitted if the webhook is disabled. */
  eventId: string
}

/**
 * `lost`: another worker has leased the delivery, or its webhook was deleted. `disabled`: the
 * webhook has failed for WEBHOOK_FAILING_MS_MAX.
 */
export const settleWebhookDelivery = transaction({
  name: 'settleWebhookDelivery',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: SettledWebhookDelivery): Promise<'settled' | 'disabled' | 'lost'> {
    const { accountId, nextAttemptAtMs, error } = input
    if (error === 'webhook_disabled') {
      return (await endUnattempted(tx, input)) ? 'settled' : 'lost'
    }
    const queueState = nextAttemptAtMs === null ? null : 'waiting'
    const [row] = await updateDelivery(tx, { ...input, queueState })
    if (row === undefined) return 'lost'
    const { lane: webhookId, event_kind } = row
    const isFailure = error !== null && error !== 'internal_error' && event_kind !== 'webhook.test'
    await recordAttempt(tx, { ...input, webhookId, isFailure })
    if (error === null) await clearFailing(tx, { webhookId, accountId })
    if (!isFailure) return 'settled'
    return (await noteFailure(tx, webhookId, input)) ? 'disabled' : 'settled'
  },
})

/** The attempts recorded per delivery; only manual retries exceed this number. */
export const WEBHOOK_ATTEMPTS_KEPT = 20

async function recordAttempt(
  tx: Tx,
  input: SettledWebhookDelivery & { webhookId: string; isFailure: boolean },
): Promise<void> {
  const { id, attempts, request } = input
  await insertAttempt(tx, {
    delivery_id: id,
    number: attempts,
    lane: input.webhookId,
    attempted_at: input.attemptAtMs,
    settled_at: input.queueMs,
    is_failure: input.isFailure ? 1 : 0,
    request_url: request?.url ?? null,
    request_headers: request === null ? null : JSON.stringify(request.headers),
    response_status: input.responseStatus,
    response_body: input.responseBody,
    latency_ms: input.latencyMs,
    error: input.error,
  })
  if (attempts <= WEBHOOK_ATTEMPTS_KEPT) return
  await tx.query
    .deleteFrom('webhook_attempts')
    .where('delivery_id', '=', id)
    .where('number', '<=', attempts - WEBHOOK_ATTEMPTS_KEPT)
    .execute()
}

/** The first outcome wins when a returned attempt is repeated with its number. */
const insertAttempt = statement<Tables, Row<'webhook_attempts'>, never>((query, given) =>
  query
    .insertInto('webhook_attempts')
    .values({
      delivery_id: given('delivery_id'),
      number: given('number'),
      lane: given('lane'),
      attempted_at: given('attempted_at'),
      settled_at: given('settled_at'),
      is_failure: given('is_failure'),
      request_url: given('request_url'),
      request_headers: given('request_headers'),
      response_status: given('response_status'),
      response_body: given('response_body'),
      latency_ms: given('latency_ms'),
      error: given('error'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Keeps the outcomes of earlier attempts and uncounts this one. */
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

/** True when this failure disables the webhook. Most failures lock nothing. */
async function noteFailure(
  tx: Tx,
  webhookId: string,
  { accountId, queueMs, nowMs, eventId }: SettledWebhookDelivery,
): Promise<boolean> {
  const [webhook] = await selectFailing(tx, { webhookId, accountId })
  if (webhook === undefined || webhook.is_enabled === 0) return false
  const { failing_since: sinceMs } = webhook
  const update = tx.query
    .updateTable('webhooks')
    .where('id', '=', webhookId)
    .where('account_id', '=', accountId)
    .where('failing_since', sinceMs === null ? 'is' : '=', sinceMs)
  // A future time was written before the clock was set back.
  if (sinceMs === null || sinceMs > queueMs + CLOCK_SKEW_MS) {
    await update.set({ failing_since: queueMs }).execute()
    return false
  }
  if (sinceMs > queueMs - WEBHOOK_FAILING_MS_MAX) return false
  const reason = 'failing'
  const [disabled] = await update
    .set({ is_enabled: 0, disabled_reason: reason, disabled_at: nowMs })
    .where('is_enabled', '=', 1)
    .returning(['url', 'approver_id'])
    .execute()
  if (disabled === undefined) return false
  // The event would disclose the URL of an approver to the keys of the account.
  if (disabled.approver_id !== null) return true
  await insertEvent(tx, {
    id: eventId,
    kind: 'webhook.disabled',
    account_id: accountId,
    pod_id: null,
    inbox_id: null,
    thread_id: null,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({ webhook: { id: webhookId, url: disabled.url, reason } }),
  })
  return true
}

const updateDelivery = statement<
  Tables,
  SettledWebhookDelivery & { queueState: string | null },
  Pick<Row<'webhook_deliveries'>, 'lane' | 'event_kind'>
>((query, given) =>
  query
    .updateTable('webhook_deliveries')
    .set({
      queue_state: given('queueState'),
      status: given('status'),
      last_attempt_at: given('attemptAtMs'),
      next_attempt_at: given('nextAttemptAtMs'),
      leased_by: null,
      lease_until: null,
      response_status: given('responseStatus'),
      response_body: given('responseBody'),
      latency_ms: given('latencyMs'),
      error: given('error'),
    })
    .where('id', '=', given('id'))
    .where('account_id', '=', given('accountId'))
    .where((row) =>
      row.or([
        row('leased_by', '=', given('worker')),
        // The lease expired and the delivery was not leased again. Recording the outcome prevents a
        // second post. A test that is ready was retried manually.
        row.and([
          row('queue_state', '=', sql.lit('ready')),
          row('attempts', '=', given('attempts')),
          row('event_kind', '!=', sql.lit('webhook.test')),
        ]),
      ]),
    )
    .returning(['lane', 'event_kind']),
)

type OneWebhook = { webhookId: string; accountId: string }

const clearFailing = statement<Tables, OneWebhook, never>((query, given) =>
  query
    .updateTable('webhooks')
    .set({ failing_since: null })
    .where('id', '=', given('webhookId'))
    .where('account_id', '=', given('accountId'))
    .where('failing_since', 'is not', null),
)

const selectFailing = statement<
  Tables,
  OneWebhook,
  Pick<Row<'webhooks'>, 'is_enabled' | 'failing_since'>
>((query, given) =>
  query
    .selectFrom('webhooks')
    .select(['is_enabled', 'failing_since'])
    .where('id', '=', given('webhookId'))
    .where('account_id', '=', given('accountId')),
)
