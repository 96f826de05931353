import { lockAccount } from '#accounts/accounts-rows.ts'
import type { EventFilter, EventKind, MessageCategory } from '#events/events.ts'
import { readLogHead } from '#events/events-rows.ts'
import { type GroupedInput, groupTransaction, transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { insertJobs } from '#queue/job-rows.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#schema/tables.ts'
import type { Webhook, WebhookDisabledReason } from './webhook.ts'

export const WEBHOOKS_PER_ACCOUNT_MAX = 100

export type NewWebhook = {
  id: string
  accountId: string
  inboxId: string | null
  url: string
  filter: EventFilter
  isEnabled: boolean
  sealedSecrets: Uint8Array
  nowMs: number
}

/**
 * Adds a webhook without an inbox; an account may have WEBHOOKS_PER_ACCOUNT_MAX of them. Those of one account wait for
 * its row, so many at once share transactions: the last would wait for the commits of all others.
 */
export const insertWebhook = groupTransaction({
  name: 'createWebhook',
  accountOf: ({ accountId }) => accountId,
  group: {
    sizeOf: ({ url, filter, sealedSecrets }: NewWebhook) =>
      url.length + JSON.stringify(filter).length + sealedSecrets.length,
    run: insertTogether,
  },
})

type Inserted = Webhook | 'limit_reached' | 'no_account'

async function insertTogether(
  tx: Tx,
  writes: readonly GroupedInput<NewWebhook>[],
): Promise<Inserted[]> {
  const counts = new Map<string, number | null>()
  // In one order everywhere, so that two transactions do not deadlock.
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

/** The webhooks of the account without an inbox; null without the account. */
async function lockAndCount(tx: Tx, accountId: string): Promise<number | null> {
  if ((await lockAccount(tx, accountId)) === null) return null
  return countWebhooks(readIn(tx), accountId, { withInboxes: false })
}

/** Inserts a webhook; that of an inbox in the transaction of the inbox, which has locked the account. */
export async function insertWebhookRow(tx: Tx, input: NewWebhook): Promise<Webhook> {
  const row: Row<'webhooks'> = {
    id: input.id,
    account_id: input.accountId,
    inbox_id: input.inboxId,
    ...filterColumns(input.filter),
    url: input.url,
    is_enabled: input.isEnabled ? 1 : 0,
    disabled_reason: input.isEnabled ? null : 'by_request',
    disabled_at: input.isEnabled ? null : input.nowMs,
    ...(await enabledFromNowOn(tx)),
    failing_since: null,
    sealed_secrets: input.sealedSecrets,
    created_at: input.nowMs,
  }
  await tx.query.insertInto('webhooks').values(row).execute()
  return toWebhook(row)
}

export type WebhookChange = {
  url?: string
  filter?: Partial<EventFilter>
  isEnabled?: boolean
}

/** Changes the given fields and the given parts of the filter. */
export const changeWebhook = transaction({
  name: 'updateWebhook',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; webhookId: string; change: WebhookChange; nowMs: number },
  ): Promise<Webhook | null> {
    const row = await lockWebhook(tx, input)
    if (row === null) return null
    const { url, filter, isEnabled } = input.change
    const change = {
      // The failures of another URL say nothing about this one.
      ...(url !== undefined && url !== row.url && { url, failing_since: null }),
      ...(filter !== undefined && filterColumns({ ...filterOf(row), ...filter })),
      ...(await switchColumns(tx, row, { isEnabled, nowMs: input.nowMs })),
    }
    if (Object.keys(change).length > 0) {
      await tx.query.updateTable('webhooks').set(change).where('id', '=', row.id).execute()
    }
    return toWebhook({ ...row, ...change })
  },
})

/** The columns that enabling or disabling sets; none if it changes nothing. */
async function switchColumns(
  tx: Tx,
  row: Row<'webhooks'>,
  { isEnabled, nowMs }: { isEnabled: boolean | undefined; nowMs: number },
) {
  if (isEnabled === undefined || (row.is_enabled === 1) === isEnabled) return {}
  if (!isEnabled) return { is_enabled: 0, disabled_reason: 'by_request', disabled_at: nowMs }
  return {
    is_enabled: 1,
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    ...(await enabledFromNowOn(tx)),
  }
}

/**
 * The end of the settled log. Events committed after that position and not settled yet are delivered
 * although they are a moment older.
 */
async function enabledFromNowOn(tx: Tx) {
  const { transactionId, sequence } = await readLogHead(readIn(tx))
  return { enabled_after_transaction_id: transactionId, enabled_after_sequence: sequence }
}

/** Replaces the secrets `kept`; false when they have been replaced since they were read. */
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

/** Removes it at once and leaves its deliveries to a job; false when the account has no such webhook. */
export const removeWebhook = transaction({
  name: 'deleteWebhook',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: WebhookRemoval & { webhookId: string }): Promise<boolean> {
    const removed = await tx.query
      .deleteFrom('webhooks')
      .where('account_id', '=', input.accountId)
      .where('id', '=', input.webhookId)
      .returning('id')
      .execute()
    if (removed.length === 0) return false
    const { accountId: account_id, webhookId: key, nowMs: due_at } = input
    await insertJobs(tx, [{ kind: 'purge', key, account_id, due_at, payload: null }])
    return true
  },
})

/** The account's webhook with this id, or the one of an inbox's `webhookUrl`; or null. */
export async function findOwnWebhook(
  db: ReadDb,
  { accountId, ...named }: { accountId: string } & ({ webhookId: string } | { inboxId: string }),
): Promise<Webhook | null> {
  const ofAccount = db.read.selectFrom('webhooks').selectAll().where('account_id', '=', accountId)
  const query =
    'webhookId' in named
      ? ofAccount.where('id', '=', named.webhookId)
      : ofAccount.where('inbox_id', '=', named.inboxId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : toWebhook(row)
}

/** The webhook with this id, of any account; for deliveries. */
export async function findWebhook(db: ReadDb, webhookId: string): Promise<Webhook | null> {
  const query = db.read.selectFrom('webhooks').selectAll().where('id', '=', webhookId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : toWebhook(row)
}

/**
 * The enabled webhooks of these accounts, and of these inboxes of theirs, whatever their filters.
 */
export async function findEnabledWebhooks(
  db: ReadDb,
  { accountIds, inboxIds }: { accountIds: readonly string[]; inboxIds: readonly string[] },
): Promise<Webhook[]> {
  if (accountIds.length === 0) return []
  const enabled = db.read.selectFrom('webhooks').selectAll().where('is_enabled', '=', 1)
  const ofAccounts = enabled.where('inbox_id', 'is', null).where('account_id', 'in', accountIds)
  const ofInboxes = enabled.where('account_id', 'in', accountIds).where('inbox_id', 'in', inboxIds)
  const all = inboxIds.length === 0 ? ofAccounts : ofAccounts.unionAll(ofInboxes)
  return (await all.execute()).map(toWebhook)
}

/** Newest first. */
export async function listWebhooks(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ webhooks: Webhook[]; total: number }> {
  const rows = await db.read
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const total = await countWebhooks(db, input.accountId, { withInboxes: true })
  return { webhooks: rows.map(toWebhook), total }
}

/** The limits of webhooks and inboxes keep this count cheap. */
async function countWebhooks(
  db: ReadDb,
  accountId: string,
  { withInboxes }: { withInboxes: boolean },
): Promise<number> {
  const { total } = await db.read
    .selectFrom('webhooks')
    .where('account_id', '=', accountId)
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
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}

function filterColumns({ kinds, podIds, inboxIds, categories }: EventFilter) {
  return {
    event_types: JSON.stringify(kinds),
    pod_ids: JSON.stringify(podIds),
    inbox_ids: JSON.stringify(inboxIds),
    categories: JSON.stringify(categories),
  }
}

function filterOf(row: Row<'webhooks'>): EventFilter {
  return {
    kinds: JSON.parse(row.event_types) as EventKind[],
    podIds: JSON.parse(row.pod_ids) as string[],
    inboxIds: JSON.parse(row.inbox_ids) as string[],
    categories: JSON.parse(row.categories) as MessageCategory[],
  }
}

function toWebhook(row: Row<'webhooks'>): Webhook {
  return {
    id: row.id,
    accountId: row.account_id,
    inboxId: row.inbox_id,
    url: row.url,
    filter: filterOf(row),
    isEnabled: row.is_enabled === 1,
    disabledReason: row.disabled_reason as WebhookDisabledReason | null,
    disabledAtMs: row.disabled_at,
    enabledAfter: {
      transactionId: row.enabled_after_transaction_id,
      sequence: row.enabled_after_sequence,
    },
    failingSinceMs: row.failing_since,
    sealedSecrets: row.sealed_secrets,
    createdAtMs: row.created_at,
  }
}
