// Deliveries of webhooks, from rows: what an account sees of them, what it may have done again, and
// what goes when they are no longer told.

import { sql } from 'kysely'
import type { EventKind } from '#events/event.ts'
import { EVENT_MS } from '#events/event.ts'
import { COUNTED_MAX } from '#events/event-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { idsOf, READY } from '#queue/leased-queue-rows.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import type {
  WebhookDelivery,
  WebhookDeliveryStatus,
  WebhookError,
  WebhookFailure,
} from './webhook.ts'

/** Deliveries are told for as long as their events. */
const WEBHOOK_DELIVERY_MS = EVENT_MS

type OfWebhook = { accountId: string; webhookId: string }

/** Newest first, of the first `COUNTED_MAX`, as far as `total` is counted; beyond them there is nothing. */
export async function listWebhookDeliveries(
  db: ReadDb,
  input: OfWebhook & { limit: number; offset: number },
): Promise<{ deliveries: WebhookDelivery[]; total: number }> {
  const { accountId, webhookId, offset } = input
  // By the index alone: a row of which only the webhook is asked is not looked up.
  const all = db.read
    .selectFrom('webhook_deliveries')
    .where('lane', '=', webhookId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhooks')
          .select('id')
          .where('id', '=', webhookId)
          .where('account_id', '=', accountId),
      ),
    )
    .select('id')
  const { total } = await db.read
    .selectFrom(all.limit(COUNTED_MAX).as('counted'))
    .select((row) => row.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const limit = Math.min(input.limit, total - offset)
  if (limit <= 0) return { deliveries: [], total }
  const rows = await db.read
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', 'in', all.orderBy('id', 'desc').limit(limit).offset(offset))
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .execute()
  return { deliveries: rows.map(toWebhookDelivery), total }
}

/** How each of these webhooks of the account fails, by its id: two looks into an index for each. */
export async function findWebhookFailures(
  db: ReadDb,
  { accountId, webhookIds }: { accountId: string; webhookIds: readonly string[] },
): Promise<Map<string, WebhookFailure>> {
  if (webhookIds.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('webhooks')
    .select((row) => [
      'id',
      row
        .selectFrom('webhook_deliveries')
        .select('webhook_deliveries.id')
        .whereRef('lane', '=', 'webhooks.id')
        .where('error', 'is not', null)
        .where('last_attempt_at', 'is not', null)
        .orderBy('last_attempt_at', 'desc')
        .limit(1)
        .as('failed_id'),
      row
        .selectFrom('webhook_deliveries')
        .select(({ fn }) => fn.min<number | null>('next_attempt_at').as('at'))
        .whereRef('lane', '=', 'webhooks.id')
        .where('queue_state', '=', sql.lit('waiting'))
        .as('next_attempt_at'),
    ])
    .where('id', 'in', webhookIds)
    .where('account_id', '=', accountId)
    .execute()
  const failedIds = rows.flatMap(({ failed_id }) => failed_id ?? [])
  const failed =
    failedIds.length === 0
      ? []
      : await db.read
          .selectFrom('webhook_deliveries')
          .select(['id', 'error', 'response_status'])
          .where('id', 'in', failedIds)
          .execute()
  const byId = new Map(failed.map((row) => [row.id, row]))
  return new Map(
    rows.map(({ id, failed_id, next_attempt_at }) => {
      const last = failed_id === null ? undefined : byId.get(failed_id)
      const error = (last?.error ?? null) as WebhookError | null
      return [
        id,
        {
          // Written over the error of an attempt, whose status stays.
          error: error === 'webhook_disabled' ? null : error,
          responseStatus: last?.response_status ?? null,
          nextAttemptAtMs: next_attempt_at,
        },
      ]
    }),
  )
}

/** The delivery of this webhook with this id, or null. */
export async function findWebhookDelivery(
  db: ReadDb,
  input: OfWebhook & { deliveryId: string },
): Promise<WebhookDelivery | null> {
  const row = await db.read
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', input.deliveryId)
    .where('lane', '=', input.webhookId)
    .where('account_id', '=', input.accountId)
    .executeTakeFirst()
  return row === undefined ? null : toWebhookDelivery(row)
}

/**
 * Makes a delivery that is over due at once; `pending` when it is not over, `disabled` when its webhook
 * is, which only tests are posted to.
 */
export const retryWebhookDelivery = transaction({
  name: 'retryWebhookDelivery',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: OfWebhook & { deliveryId: string; queueMs: number },
  ): Promise<'pending' | 'disabled' | 'retried' | 'not_found'> {
    const ofAccount = { account_id: input.accountId, lane: input.webhookId, id: input.deliveryId }
    const retried = await tx.query
      .updateTable('webhook_deliveries')
      .set({ ...READY, status: 'pending', next_attempt_at: input.queueMs })
      .where((row) => row.and(ofAccount))
      .where('status', '!=', 'pending')
      .where(({ eb, exists, or, selectFrom }) =>
        or([
          eb('event_kind', '=', 'webhook.test'),
          exists(
            selectFrom('webhooks')
              .select('id')
              .where('id', '=', input.webhookId)
              .where('is_enabled', '=', 1),
          ),
        ]),
      )
      .returning('id')
      .execute()
    if (retried.length > 0) return 'retried'
    const kept = await tx.query
      .selectFrom('webhook_deliveries')
      .innerJoin('webhooks', 'webhooks.id', 'webhook_deliveries.lane')
      .select('webhook_deliveries.status')
      .where('webhook_deliveries.id', '=', input.deliveryId)
      .where('webhooks.id', '=', input.webhookId)
      .where('webhooks.account_id', '=', input.accountId)
      .executeTakeFirst()
    if (kept === undefined) return 'not_found'
    return kept.status === 'pending' ? 'pending' : 'disabled'
  },
})

/** Removes deliveries whose event or webhook is gone. */
export const dropWebhookDeliveries = transaction({
  name: 'dropWebhookDeliveries',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { ids }: { ids: string[] }): Promise<void> {
    if (ids.length === 0) return
    const all = tx.query.selectFrom('webhook_deliveries').select('id').where('id', 'in', ids)
    // In one order with all who lock several, so that no two wait for each other.
    const locked = idsOf(await lockRows(tx, all.orderBy('id')).execute())
    if (locked.length === 0) return
    await tx.query.deleteFrom('webhook_deliveries').where('id', 'in', locked).execute()
  },
})

/** Removes up to `PURGE_STEP_ROWS` deliveries of a webhook that was deleted; call until it is done. */
export const purgeWebhookStep = transaction({
  name: 'purgeWebhookStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { webhookId }: { webhookId: string }): Promise<{ isDone: boolean }> {
    const rows = await tx.query
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('lane', '=', webhookId)
      .limit(PURGE_STEP_ROWS)
      .execute()
    await dropWebhookDeliveries.run(tx, { ids: idsOf(rows) })
    return { isDone: rows.length < PURGE_STEP_ROWS }
  },
})

/** Removes up to `PURGE_STEP_ROWS` deliveries of these events, and says how many. */
export async function purgeDeliveriesOfEvents(tx: Tx, eventIds: string[]): Promise<number> {
  if (eventIds.length === 0) return 0
  const rows = await tx.query
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('event_id', 'in', eventIds)
    .limit(PURGE_STEP_ROWS)
    .execute()
  await dropWebhookDeliveries.run(tx, { ids: idsOf(rows) })
  return rows.length
}

/**
 * Removes up to `PURGE_STEP_ROWS` deliveries that have outlived their time, and says how many. One that
 * is being settled goes the next time.
 */
export async function purgeWebhookDeliveries(tx: Tx, nowMs: number): Promise<number> {
  const old = tx.query
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('created_at', '<=', nowMs - WEBHOOK_DELIVERY_MS)
    .orderBy('created_at')
    .limit(PURGE_STEP_ROWS)
  const ids = idsOf(await lockRows(tx, old, { skipLocked: true }).execute())
  if (ids.length === 0) return 0
  await tx.query.deleteFrom('webhook_deliveries').where('id', 'in', ids).execute()
  return ids.length
}

function toWebhookDelivery(row: Row<'webhook_deliveries'>): WebhookDelivery {
  return {
    id: row.id,
    webhookId: row.lane,
    eventId: row.event_id,
    eventKind: row.event_kind as EventKind,
    status: row.status as WebhookDeliveryStatus,
    attempts: row.attempts,
    lastAttemptAtMs: row.last_attempt_at,
    nextAttemptAtMs: row.next_attempt_at,
    responseStatus: row.response_status,
    responseBody: row.response_body,
    latencyMs: row.latency_ms,
    error: row.error as WebhookError | null,
    createdAtMs: row.created_at,
  }
}
