// Inboxes come, change and go, with the guards of their creation.

import { inboxesAllowed, type Plan } from '#accounts/account.ts'
import { deleteRulesOf } from '#accounts/account-counters-rows.ts'
import { lockAccount } from '#accounts/account-rows.ts'
import { changeInboxCounts, defaultPodRow, findPodRow } from '#accounts/pod-rows.ts'
import {
  changeDomainInboxCount,
  lockDomain,
  lockDomainsNamed,
} from '#domains/change-domain-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { DAY_MS } from '#platform/units.ts'
import { enqueueJob } from '#queue/job-rows.ts'
import { readIn, type Tx } from '#schema/tables.ts'
import type { ShownInbox } from './inbox.ts'
import { type DomainDefect, findInboxDomain } from './inbox-domain-rows.ts'
import { findInbox, findInboxByAddress, findShownInbox, toInbox } from './inbox-rows.ts'
import { addInboxWebhook, changeInboxWebhook, type InboxWebhook } from './inbox-webhook-rows.ts'

/** How long an address freed by deleting its inbox stays with its account. */
export const RELEASED_ADDRESS_MS = 30 * DAY_MS

export type NewInbox = {
  accountId: string
  inboxId: string
  /** Pod id or `clientId`; null for the default pod. */
  pod: string | null
  address: string
  /** The custom domain that it is on; null for the one of the service. */
  domain: string | null
  displayName: string | null
  webhook: InboxWebhook | null
  nowMs: number
  /** Creations allowed in any 24 hours. */
  creationsPerDay: number
}

export type InboxCreation =
  | { kind: 'created'; inbox: ShownInbox }
  | { kind: 'invalid_pod' }
  | { kind: 'invalid_domain'; reason: DomainDefect }
  | { kind: 'address_taken' }
  | { kind: 'limit_reached'; limit: number }
  | { kind: 'too_many'; retryAtMs: number }

/** Adds an inbox, or says which guard refused it; a refusal uses up nothing. */
export const insertInbox = transaction({
  name: 'createInbox',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: NewInbox): Promise<InboxCreation> {
    const account = await lockAccount(tx, input.accountId)
    if (account === null) return { kind: 'invalid_pod' }
    const pod =
      input.pod === null
        ? await defaultPodRow(tx, input.accountId)
        : await findPodRow(readIn(tx), input.accountId, input.pod)
    if (pod === null) return { kind: 'invalid_pod' }
    const place = await findPlace(tx, input, pod.id)
    if (place.kind === 'invalid_domain') return place
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
      domain_id: place.domainId,
      receiving_address: input.address,
      display_name: input.displayName,
      created_at: input.nowMs,
    }
    const inserted = await tx.query
      .insertInto('inboxes')
      .values(row)
      .onConflict((conflict) => conflict.column('receiving_address').doNothing())
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
    if (place.domainId !== null) {
      await changeDomainInboxCount(tx, { domainId: place.domainId, by: 1 })
    }
    const { webhook } = input
    if (webhook !== null) await addInboxWebhook(tx, input, webhook)
    const shown = { webhookUrl: webhook?.url ?? null, unreadThreads: 0, lastMessageAtMs: null }
    return { kind: 'created', inbox: { ...toInbox(row), ...shown } }
  },
})

/** Where its address may be: on the domain of the service, or on one of the account's for this pod. */
async function findPlace(
  tx: Tx,
  { accountId, domain }: NewInbox,
  podId: string,
): Promise<
  { kind: 'place'; domainId: string | null } | { kind: 'invalid_domain'; reason: DomainDefect }
> {
  if (domain === null) return { kind: 'place', domainId: null }
  await lockDomainsNamed(tx, domain)
  const found = await findInboxDomain(readIn(tx), { accountId, domain })
  if (found.kind === 'invalid_domain') return found
  const { id, podId: scope } = found.domain
  if (scope !== null && scope !== podId) return { kind: 'invalid_domain', reason: { kind: 'pod' } }
  return { kind: 'place', domainId: id }
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
export const changeInbox = transaction({
  name: 'updateInbox',
  accountOf: ({ accountId }) => accountId,
  async run(
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
  },
})

/**
 * Removes the inbox at once, keeps its address for the account, and leaves the removal of its mail
 * to a job: a mailbox may hold more than one transaction should touch.
 */
export const removeInbox = transaction({
  name: 'deleteInbox',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; jobId: string; nowMs: number },
  ): Promise<'deleted' | 'not_found'> {
    // The account first, as creations do, so that the two never wait for each other's rows.
    await lockAccount(tx, input.accountId)
    const inbox = await findInbox(readIn(tx), input.accountId, input.inboxId)
    if (inbox === null) return 'not_found'
    // Before the inbox, as whoever takes over its domain does.
    if (inbox.domainId !== null) {
      await lockDomain(tx, { accountId: input.accountId, domainId: inbox.domainId })
    }
    await tx.query.deleteFrom('inbox_counters').where('inbox_id', '=', inbox.id).execute()
    await tx.query.deleteFrom('thread_ranges').where('inbox_id', '=', inbox.id).execute()
    await deleteRulesOf(tx, input.accountId, { inboxId: inbox.id })
    const webhook = await tx.query
      .deleteFrom('webhooks')
      .where('inbox_id', '=', inbox.id)
      .returning('id')
      .executeTakeFirst()
    const deleted = await tx.query
      .deleteFrom('inboxes')
      .where('id', '=', inbox.id)
      .returning('receiving_address')
      .executeTakeFirst()
    if (deleted === undefined) return 'not_found'
    if (inbox.domainId !== null) {
      await changeDomainInboxCount(tx, { domainId: inbox.domainId, by: -1 })
    }
    // Where its domain is another account's by now, so is the address.
    const freed = deleted.receiving_address
    if (freed !== null) await releaseAddress(tx, { ...input, address: freed })
    await changeInboxCounts(tx, { accountId: input.accountId, podId: inbox.podId, by: -1 })
    await enqueueJob.run(tx, {
      id: input.jobId,
      kind: 'purge-inbox',
      payload: { inboxId: inbox.id, webhookId: webhook?.id ?? null },
      runAtMs: input.nowMs,
      nowMs: input.nowMs,
    })
    return 'deleted'
  },
})

/** Keeps the address for the account, see RELEASED_ADDRESS_MS. */
async function releaseAddress(
  tx: Tx,
  { accountId, address, nowMs }: { accountId: string; address: string; nowMs: number },
): Promise<void> {
  const change = { account_id: accountId, released_at: nowMs }
  await tx.query
    .insertInto('released_addresses')
    .values({ address, ...change })
    .onConflict((conflict) => conflict.column('address').doUpdateSet(change))
    .execute()
}

async function isAddressTaken(tx: Tx, input: NewInbox): Promise<boolean> {
  const inbox = await findInboxByAddress(readIn(tx), input.address)
  if (inbox !== null) return true
  // Another account gave it up before it lost the domain, and all addresses with it.
  if (input.domain !== null) return false
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
