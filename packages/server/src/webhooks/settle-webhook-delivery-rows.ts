// The transaction that records what became of an attempt to deliver a webhook, and with it the end of
// a webhook that has failed for days.

import { sql } from 'kysely'
import { insertEvent } from '#events/event-rows.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'
import type { WebhookDeliveryStatus, WebhookError } from './webhook.ts'
import { OVER } from './webhook-queue-rows.ts'

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
