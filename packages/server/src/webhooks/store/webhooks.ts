import { reviewEventKinds } from '@mailroom/contract/vocabulary.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import type { EventFilter } from '#events/model.ts'
import { readLogHead } from '#events/store/log.ts'
import { type GroupedInput, groupTransaction, transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { insertJobs } from '#queue/jobs.ts'
import { webhooks } from '#store/nouns.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#store/tables.ts'
import type { Webhook } from '#webhooks/model.ts'

export const WEBHOOKS_PER_ACCOUNT_MAX = 100

export type NewWebhook = EventFilter &
  Pick<Webhook, 'id' | 'accountId' | 'inboxId' | 'url' | 'isEnabled' | 'sealedSecrets'> &
  Partial<Pick<Webhook, 'approverId' | 'headers'>> & { nowMs: number }

/** Concurrent calls share a transaction, because those of one account wait for its row. */
export const insertWebhook = groupTransaction({
  name: 'createWebhook',
  accountOf: ({ accountId }) => accountId,
  group: {
    sizeOf: ({ sealedSecrets, ...rest }: NewWebhook) =>
      JSON.stringify(rest).length + sealedSecrets.length,
    run: insertTogether,
  },
})

type Inserted = Webhook | 'limit_reached' | 'no_account'

async function insertTogether(
  tx: Tx,
  writes: readonly GroupedInput<NewWebhook>[],
): Promise<Inserted[]> {
  const counts = new Map<string, number | null>()
  // The order prevents deadlocks.
  for (const accountId of [...new Set(writes.map(({ input }) => input.accountId))].sort()) {
    counts.set(accountId, await lockAndCount(tx, accountId))
  }
  const inserted: Inserted[] = []
  for (const { input } of writes) {
    const { accountId } = input
    const count = counts.get(accountId) ?? null
    const hasRoom = count !== null && count < WEBHOOKS_PER_ACCOUNT_MAX
    counts.set(accountId, hasRoom ? count + 1 : count)
    if (hasRoom) inserted.push(await insertWebhookRow(tx, input))
    else inserted.push(count === null ? 'no_account' : 'limit_reached')
  }
  return inserted
}

async function lockAndCount(tx: Tx, accountId: string): Promise<number | null> {
  if ((await lockAccount(tx, accountId)) === null) return null
  return countWebhooks(readIn(tx), accountId, { withInboxes: false })
}

/** The account must be locked. */
export async function insertWebhookRow(tx: Tx, input: NewWebhook): Promise<Webhook> {
  const { nowMs, ...given } = input
  const webhook: Webhook = {
    approverId: null,
    headers: [],
    ...given,
    disabledReason: given.isEnabled ? null : 'by_request',
    disabledAtMs: given.isEnabled ? null : nowMs,
    ...(await enabledFromNowOn(tx)),
    failingSinceMs: null,
    createdAtMs: nowMs,
  }
  await tx.query.insertInto('webhooks').values(webhooks.write(webhook)).execute()
  return webhook
}

export type WebhookChange = Partial<EventFilter & Pick<Webhook, 'url' | 'isEnabled' | 'headers'>>

export const changeWebhook = transaction({
  name: 'updateWebhook',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; webhookId: string; change: WebhookChange; nowMs: number },
  ): Promise<Webhook | null> {
    const row = await lockWebhook(tx, input)
    if (row === null) return null
    const kept = webhooks.read(row)
    const { isEnabled, ...given } = input.change
    const columns = webhooks.write({
      ...given,
      // Failures of the former URL do not count against the new one.
      ...(given.url !== undefined && given.url !== kept.url && { failingSinceMs: null }),
      // They may be credentials for the former host, and another host must not get them.
      ...(given.headers === undefined && isOtherHost(given.url, kept.url) && { headers: [] }),
      ...(await switched(tx, kept, { isEnabled, nowMs: input.nowMs })),
    })
    if (Object.keys(columns).length > 0) {
      await tx.query.updateTable('webhooks').set(columns).where('id', '=', kept.id).execute()
    }
    return webhooks.read({ ...row, ...columns })
  },
})

function isOtherHost(url: string | undefined, former: string): boolean {
  return url !== undefined && new URL(url).origin !== new URL(former).origin
}

async function switched(
  tx: Tx,
  webhook: Webhook,
  { isEnabled, nowMs }: { isEnabled: boolean | undefined; nowMs: number },
): Promise<Partial<Webhook>> {
  if (isEnabled === undefined || webhook.isEnabled === isEnabled) return {}
  if (!isEnabled) return { isEnabled, disabledReason: 'by_request', disabledAtMs: nowMs }
  return {
    isEnabled,
    disabledReason: null,
    disabledAtMs: null,
    failingSinceMs: null,
    ...(await enabledFromNowOn(tx)),
  }
}

/** Starts at the end of the settled log; slightly older, unsettled events are delivered too. */
async function enabledFromNowOn(tx: Tx) {
  const { transactionId, sequence } = await readLogHead(readIn(tx))
  return { enabledAfterTransactionId: transactionId, enabledAfterSequence: sequence }
}

/** False if the secrets have changed since `kept` was read. */
export const replaceWebhookSecrets = transaction({
  name: 'replaceWebhookSecrets',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; webhookId: string; kept: Uint8Array; sealedSecrets: Uint8Array },
  ): Promise<boolean> {
    const replaced = await tx.query
      .updateTable('webhooks')
      .set({ sealed_secrets: input.sealedSecrets })
      .where('account_id', '=', input.accountId)
      .where('id', '=', input.webhookId)
      .where('sealed_secrets', '=', input.kept)
      .returning('id')
      .execute()
    return replaced.length > 0
  },
})

export type WebhookRemoval = { accountId: string; nowMs: number }

export type ApproverWebhook = Pick<Webhook, 'id' | 'url' | 'sealedSecrets'>

/** The caller must lock the account. */
export async function addApproverWebhook(
  tx: Tx,
  webhook: ApproverWebhook & { accountId: string; approverId: string; nowMs: number },
): Promise<void> {
  const filter = { kinds: reviewEventKinds, podIds: [], inboxIds: [], categories: [] }
  await insertWebhookRow(tx, { ...webhook, ...filter, inboxId: null, isEnabled: true })
}

export async function removeApproverWebhook(
  tx: Tx,
  { accountId, approverId, nowMs }: WebhookRemoval & { approverId: string },
): Promise<void> {
  const removed = await tx.query
    .deleteFrom('webhooks')
    .where('account_id', '=', accountId)
    .where('approver_id', '=', approverId)
    .returning('id')
    .executeTakeFirst()
  if (removed !== undefined) await queuePurge(tx, { accountId, webhookId: removed.id, nowMs })
}

/** A job deletes the deliveries later. */
export const removeWebhook = transaction({
  name: 'deleteWebhook',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: WebhookRemoval & { webhookId: string }): Promise<boolean> {
    const removed = await tx.query
      .deleteFrom('webhooks')
      .where('account_id', '=', input.accountId)
      .where('id', '=', input.webhookId)
      .where('approver_id', 'is', null)
      .returning('id')
      .execute()
    if (removed.length === 0) return false
    await queuePurge(tx, input)
    return true
  },
})

async function queuePurge(
  tx: Tx,
  { accountId: account_id, webhookId: key, nowMs: due_at }: WebhookRemoval & { webhookId: string },
): Promise<void> {
  await insertJobs(tx, [{ kind: 'purge', key, account_id, due_at, payload: null }])
}

/** Webhooks of approvers are not found. */
export async function findOwnWebhook(
  db: ReadDb,
  { accountId, ...named }: { accountId: string } & ({ webhookId: string } | { inboxId: string }),
): Promise<Webhook | null> {
  const ofAccount = db.read
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('approver_id', 'is', null)
  const query =
    'webhookId' in named
      ? ofAccount.where('id', '=', named.webhookId)
      : ofAccount.where('inbox_id', '=', named.inboxId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : webhooks.read(row)
}

/** Not scoped by account; only for deliveries. */
export async function findWebhook(db: ReadDb, webhookId: string): Promise<Webhook | null> {
  const query = db.read.selectFrom('webhooks').selectAll().where('id', '=', webhookId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : webhooks.read(row)
}

/** Regardless of their filters. */
export async function findEnabledWebhooks(
  db: ReadDb,
  { accountIds, inboxIds }: { accountIds: readonly string[]; inboxIds: readonly string[] },
): Promise<Webhook[]> {
  if (accountIds.length === 0) return []
  const enabled = db.read.selectFrom('webhooks').selectAll().where('is_enabled', '=', 1)
  const ofAccounts = enabled.where('inbox_id', 'is', null).where('account_id', 'in', accountIds)
  const ofInboxes = enabled.where('account_id', 'in', accountIds).where('inbox_id', 'in', inboxIds)
  const all = inboxIds.length === 0 ? ofAccounts : ofAccounts.unionAll(ofInboxes)
  return (await all.execute()).map(webhooks.read)
}

/** By the ids of the approvers. */
export async function findApproverWebhooks(
  db: ReadDb,
  accountId: string,
): Promise<Map<string | null, Pick<Webhook, 'url' | 'disabledAtMs'>>> {
  const rows = await db.read
    .selectFrom('webhooks')
    .select(['approver_id', 'url', 'disabled_at as disabledAtMs'])
    .where('account_id', '=', accountId)
    .where('approver_id', 'is not', null)
    .execute()
  return new Map(rows.map(({ approver_id, ...webhook }) => [approver_id, webhook]))
}

/** Newest first, without those of approvers. */
export async function listWebhooks(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ webhooks: Webhook[]; total: number }> {
  const rows = await db.read
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('approver_id', 'is', null)
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const total = await countWebhooks(db, input.accountId, { withInboxes: true })
  return { webhooks: rows.map(webhooks.read), total }
}

async function countWebhooks(
  db: ReadDb,
  accountId: string,
  { withInboxes }: { withInboxes: boolean },
): Promise<number> {
  const { total } = await db.read
    .selectFrom('webhooks')
    .where('account_id', '=', accountId)
    .where('approver_id', 'is', null)
    .$if(!withInboxes, (query) => query.where('inbox_id', 'is', null))
    .select((row) => row.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

async function lockWebhook(
  tx: Tx,
  { accountId, webhookId }: { accountId: string; webhookId: string },
): Promise<Row<'webhooks'> | null> {
  const query = tx.query
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', webhookId)
    .where('approver_id', 'is', null)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}
