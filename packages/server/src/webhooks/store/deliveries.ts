import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { EVENT_MS } from '#events/model.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { idsOf, READY } from '#queue/leased-queue.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'
import type { Webhook, WebhookError, WebhookFailure } from '#webhooks/model.ts'

export type WebhookDelivery = Row<'webhook_deliveries'>

type OfWebhook = { accountId: string; webhookId: string }

/** Lists at most the newest COUNTED_MAX deliveries, and `total` is at most that number. */
export async function listWebhookDeliveries(
  db: ReadDb,
  input: OfWebhook & { limit: number; offset: number },
): Promise<{ deliveries: WebhookDelivery[]; total: number }> {
  const { accountId, webhookId, offset } = input
  // One index contains all columns, so rows before the page are not fetched.
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
  return { deliveries: rows, total }
}

/** Takes two index lookups per failing webhook and a bounded count. */
export async function findWebhookFailures(
  db: ReadDb,
  webhooks: readonly Webhook[],
): Promise<Map<string, WebhookFailure>> {
  const failing = webhooks.filter(({ failingSinceMs }) => failingSinceMs !== null)
  const [first] = failing
  if (first === undefined) return new Map()
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
      row
        .selectFrom(
          row
            .selectFrom('webhook_attempts')
            .select('webhook_attempts.number')
            .whereRef('webhook_attempts.lane', '=', 'webhooks.id')
            .where('is_failure', '=', sql.lit(1))
            .whereRef('settled_at', '>=', 'webhooks.failing_since')
            .limit(COUNTED_MAX)
            .as('failures'),
        )
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .as('failures'),
    ])
    .where(
      'id',
      'in',
      failing.map(({ id }) => id),
    )
    .where('account_id', '=', first.accountId)
    .execute()
  const failedIds = rows.flatMap(({ failed_id }) => failed_id ?? [])
  const byId = await findOutcomes(db, failedIds)
  return new Map(
    rows.map(({ id, failed_id, next_attempt_at, failures }) => {
      const last = failed_id === null ? undefined : byId.get(failed_id)
      const error = (last?.error ?? null) as WebhookError | null
      return [
        id,
        {
          // The error `webhook_disabled` has replaced the error of the attempt.
          error: error === 'webhook_disabled' ? null : error,
          responseStatus: last?.response_status ?? null,
          nextAttemptAtMs: next_attempt_at,
          lastFailureAtMs: last?.last_attempt_at ?? null,
          failures: Number(failures ?? 0),
        },
      ]
    }),
  )
}

type Outcome = Pick<WebhookDelivery, 'error' | 'response_status' | 'last_attempt_at'>

async function findOutcomes(db: ReadDb, ids: readonly string[]): Promise<Map<string, Outcome>> {
  if (ids.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('webhook_deliveries')
    .select(['id', 'error', 'response_status', 'last_attempt_at'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

export async function findWebhookDelivery(
  db: ReadDb,
  input: OfWebhook & { deliveryId: string },
): Promise<WebhookDelivery | null> {
  const query = db.read
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', input.deliveryId)
    .where('lane', '=', input.webhookId)
    .where('account_id', '=', input.accountId)
  return (await query.executeTakeFirst()) ?? null
}

/** The attempts of a delivery, newest first. */
export async function listWebhookAttempts(
  db: ReadDb,
  deliveryId: string,
): Promise<Row<'webhook_attempts'>[]> {
  return db.read
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .orderBy('number', 'desc')
    .execute()
}

/**
 * `pending`: the delivery is not settled. `disabled`: the webhook is disabled and this is no test.
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

export const dropWebhookDeliveries = transaction({
  name: 'dropWebhookDeliveries',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { ids }: { ids: string[] }): Promise<void> {
    if (ids.length === 0) return
    const all = tx.query.selectFrom('webhook_deliveries').select('id').where('id', 'in', ids)
    // All transactions lock rows in id order, which prevents deadlocks.
    const locked = idsOf(await lockRows(tx, all.orderBy('id')).execute())
    if (locked.length === 0) return
    await tx.query.deleteFrom('webhook_deliveries').where('id', 'in', locked).execute()
  },
})

/** Must be called until `isDone`. */
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

/** Removes up to `PURGE_STEP_ROWS` deliveries and returns their number. */
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

/** Removes up to `PURGE_STEP_ROWS` deliveries and returns their number. Skips locked rows. */
export async function purgeWebhookDeliveries(tx: Tx, nowMs: number): Promise<number> {
  const old = tx.query
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('created_at', '<=', nowMs - EVENT_MS)
    .orderBy('created_at')
    .limit(PURGE_STEP_ROWS)
  const ids = idsOf(await lockRows(tx, old, { skipLocked: true }).execute())
  if (ids.length === 0) return 0
  await tx.query.deleteFrom('webhook_deliveries').where('id', 'in', ids).execute()
  return ids.length
}
