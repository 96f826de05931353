// Inboxes, to and from rows, with the guards of their creation.

import { DAY_MS, RELEASED_ADDRESS_MS } from '#base/limits.ts'
import { statement } from '#db/statement.ts'
import { inboxesAllowed, type Plan } from '#model/account.ts'
import type { Inbox, ShownInbox } from '#model/inbox.ts'
import { lockAccount } from './account.ts'
import { addInboxWebhook, changeInboxWebhook, type InboxWebhook } from './inbox-webhook.ts'
import { enqueueJob } from './job.ts'
import { changeInboxCounts, defaultPodRow, findPodRow } from './pod.ts'
import { type ReadDb, type Row, readIn, type Tables, type Tx } from './tables.ts'

export type NewInbox = {
  accountId: string
  inboxId: string
  /** Pod id or `clientId`; null for the default pod. */
  pod: string | null
  address: string
  displayName: string | null
  webhook: InboxWebhook | null
  nowMs: number
  /** Creations allowed in any 24 hours. */
  creationsPerDay: number
}

export type InboxCreation =
  | { kind: 'created'; inbox: ShownInbox }
  | { kind: 'invalid_pod' }
  | { kind: 'address_taken' }
  | { kind: 'limit_reached'; limit: number }
  | { kind: 'too_many'; retryAtMs: number }

/** Adds an inbox, or says which guard refused it; a refusal uses up nothing. */
export async function createInbox(tx: Tx, input: NewInbox): Promise<InboxCreation> {
  const account = await lockAccount(tx, input.accountId)
  if (account === null) return { kind: 'invalid_pod' }
  const pod =
    input.pod === null
      ? await defaultPodRow(tx, input.accountId)
      : await findPodRow(readIn(tx), input.accountId, input.pod)
  if (pod === null) return { kind: 'invalid_pod' }
  if (await isAddressTaken(tx, input)) return { kind: 'address_taken' }
  const limit = inboxesAllowed(account.plan as Plan)
  if (account.inbox_count >= limit) return { kind: 'limit_reached', limit }
  const retryAtMs = await creationAllowedAt(tx, input)
  if (retryAtMs > input.nowMs) return { kind: 'too_many', retryAtMs }

  const row = {
    id: input.inboxId,
    account_id: input.accountId,
    pod_id: pod.id,
    address: input.address,
    display_name: input.displayName,
    created_at: input.nowMs,
  }
  const inserted = await tx.query
    .insertInto('inboxes')
    .values(row)
    .onConflict((conflict) => conflict.column('address').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted === undefined) return { kind: 'address_taken' }
  await tx.query.insertInto('inbox_counters').values({ inbox_id: input.inboxId }).execute()
  await tx.query
    .insertInto('inbox_creations')
    .values({ account_id: input.accountId, created_at: input.nowMs, inbox_id: input.inboxId })
    .execute()
  await tx.query.deleteFrom('released_addresses').where('address', '=', input.address).execute()
  await changeInboxCounts(tx, { accountId: input.accountId, podId: pod.id, by: 1 })
  const { webhook } = input
  if (webhook !== null) await addInboxWebhook(tx, input, webhook)
  return { kind: 'created', inbox: { ...toInbox(row), webhookUrl: webhook?.url ?? null } }
}

export type InboxChange = {
  accountId: string
  inboxId: string
  /** null clears it. */
  displayName?: string | null
  /** null removes it; where there is one, only its URL changes. */
  webhook?: InboxWebhook | null
  /** For the removal of what a webhook has delivered. */
  jobId: string
  nowMs: number
}

/** Changes what is given. Null when the account has no such inbox. */
export async function updateInbox(
  tx: Tx,
  input: InboxChange,
): Promise<{ inbox: ShownInbox; isWebhookNew: boolean } | null> {
  const { accountId, inboxId, displayName, webhook } = input
  if (webhook !== undefined) {
    // As deletions do, so that a webhook is not made for an inbox that is going.
    await lockAccount(tx, accountId)
    if ((await findInbox(readIn(tx), accountId, inboxId)) === null) return null
  }
  if (displayName !== undefined) {
    await tx.query
      .updateTable('inboxes')
      .set({ display_name: displayName })
      .where('account_id', '=', accountId)
      .where('id', '=', inboxId)
      .execute()
  }
  const isWebhookNew = webhook !== undefined && (await changeInboxWebhook(tx, input, webhook))
  const inbox = await findShownInbox(readIn(tx), accountId, inboxId)
  return inbox === null ? null : { inbox, isWebhookNew }
}

/**
 * Removes the inbox at once, keeps its address for the account, and leaves the removal of its mail
 * to a job: a mailbox may hold more than one transaction should touch.
 */
export async function deleteInbox(
  tx: Tx,
  input: { accountId: string; inboxId: string; jobId: string; nowMs: number },
): Promise<'deleted' | 'not_found'> {
  // The account first, as creations do, so that the two never wait for each other's rows.
  await lockAccount(tx, input.accountId)
  const inbox = await findInbox(readIn(tx), input.accountId, input.inboxId)
  if (inbox === null) return 'not_found'
  await tx.query.deleteFrom('inbox_counters').where('inbox_id', '=', inbox.id).execute()
  await tx.query.deleteFrom('thread_ranges').where('inbox_id', '=', inbox.id).execute()
  const webhook = await tx.query
    .deleteFrom('webhooks')
    .where('inbox_id', '=', inbox.id)
    .returning('id')
    .executeTakeFirst()
  const { length } = await tx.query
    .deleteFrom('inboxes')
    .where('id', '=', inbox.id)
    .returning('id')
    .execute()
  if (length === 0) return 'not_found'
  await tx.query
    .insertInto('released_addresses')
    .values({
      address: inbox.address,
      account_id: input.accountId,
      released_at: input.nowMs,
    })
    .onConflict((conflict) =>
      conflict
        .column('address')
        .doUpdateSet({ account_id: input.accountId, released_at: input.nowMs }),
    )
    .execute()
  await changeInboxCounts(tx, { accountId: input.accountId, podId: inbox.podId, by: -1 })
  await enqueueJob(tx, {
    id: input.jobId,
    kind: 'purge-inbox',
    payload: { inboxId: inbox.id, webhookId: webhook?.id ?? null },
    runAtMs: input.nowMs,
    nowMs: input.nowMs,
  })
  return 'deleted'
}

/** Newest first; of one pod when `podId` is given. */
export async function listInboxes(
  db: ReadDb,
  input: { accountId: string; podId: string | null; limit: number; offset: number },
): Promise<{ inboxes: ShownInbox[]; total: number }> {
  let query = selectShown(db).where('inboxes.account_id', '=', input.accountId)
  if (input.podId !== null) query = query.where('inboxes.pod_id', '=', input.podId)
  const rows = await query
    .orderBy('inboxes.id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const counted =
    input.podId === null
      ? db.read.selectFrom('accounts').select('inbox_count').where('id', '=', input.accountId)
      : db.read.selectFrom('pods').select('inbox_count').where('id', '=', input.podId)
  const total = await counted.executeTakeFirst()
  return { inboxes: rows.map(toShownInbox), total: total?.inbox_count ?? 0 }
}

/** The account's inbox with this id, or null. */
export async function findInbox(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<Inbox | null> {
  const [row] = await selectById(db.reading, { accountId, inboxId })
  return row === undefined ? null : toInbox(row)
}

/** The same with its `webhookUrl`. */
export async function findShownInbox(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<ShownInbox | null> {
  const row = await selectShown(db)
    .where('inboxes.account_id', '=', accountId)
    .where('inboxes.id', '=', inboxId)
    .executeTakeFirst()
  return row === undefined ? null : toShownInbox(row)
}

function selectShown(db: ReadDb) {
  return db.read
    .selectFrom('inboxes')
    .leftJoin('webhooks', 'webhooks.inbox_id', 'inboxes.id')
    .selectAll('inboxes')
    .select('webhooks.url as webhook_url')
}

/** Those of the ids that are inboxes of the account. */
export async function findInboxIds(
  db: ReadDb,
  accountId: string,
  inboxIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.read
    .selectFrom('inboxes')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', inboxIds)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The inbox that receives at this lower-case address, of whichever account; for arriving mail. */
export async function findInboxByAddress(db: ReadDb, address: string): Promise<Inbox | null> {
  const [row] = await selectByAddress(db.reading, { address })
  return row === undefined ? null : toInbox(row)
}

const selectById = statement<Tables, { accountId: string; inboxId: string }, Row<'inboxes'>>(
  (query, place) =>
    query
      .selectFrom('inboxes')
      .selectAll()
      .where('account_id', '=', place('accountId'))
      .where('id', '=', place('inboxId')),
)

const selectByAddress = statement<Tables, { address: string }, Row<'inboxes'>>((query, place) =>
  query.selectFrom('inboxes').selectAll().where('address', '=', place('address')),
)

async function isAddressTaken(tx: Tx, input: NewInbox): Promise<boolean> {
  const inbox = await findInboxByAddress(readIn(tx), input.address)
  if (inbox !== null) return true
  const released = await tx.query
    .selectFrom('released_addresses')
    .select('account_id')
    .where('address', '=', input.address)
    .where('released_at', '>', input.nowMs - RELEASED_ADDRESS_MS)
    .executeTakeFirst()
  return released !== undefined && released.account_id !== input.accountId
}

/** When the next creation is allowed: now, or when enough of the last day's have passed. */
async function creationAllowedAt(tx: Tx, input: NewInbox): Promise<number> {
  const recent = await tx.query
    .selectFrom('inbox_creations')
    .select('created_at')
    .where('account_id', '=', input.accountId)
    .where('created_at', '>', input.nowMs - DAY_MS)
    .orderBy('created_at', 'desc')
    .limit(input.creationsPerDay)
    .execute()
  const blocking = recent[input.creationsPerDay - 1]
  return blocking === undefined ? input.nowMs : blocking.created_at + DAY_MS
}

function toShownInbox(row: Row<'inboxes'> & { webhook_url: string | null }): ShownInbox {
  return { ...toInbox(row), webhookUrl: row.webhook_url }
}

function toInbox(row: Row<'inboxes'>): Inbox {
  return {
    id: row.id,
    accountId: row.account_id,
    podId: row.pod_id,
    address: row.address,
    displayName: row.display_name,
    createdAtMs: row.created_at,
  }
}
