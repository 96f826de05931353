import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { changeAccountTotal, inboxesAllowed, lockAccount } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { needsApprover } from '#accounts/store/authority.ts'
import { changePodTotal, defaultPodRow, findPodRow } from '#accounts/store/pods.ts'
import type { Domain } from '#domains/model.ts'
import { isUsable } from '#domains/model.ts'
import {
  changeDomainInboxCount,
  endCatchAll,
  findDomainsNamed,
  lockDomain,
  lockDomainsNamed,
} from '#domains/store/domains.ts'
import { insertEvent } from '#events/store/append.ts'
import type { Inbox, ShownInbox } from '#inboxes/model.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { DAY_MS } from '#platform/units.ts'
import { insertJobs } from '#queue/jobs.ts'
import type { EditsOf } from '#store/columns.ts'
import { endExports } from '#store/end-exports.ts'
import { inboxes } from '#store/nouns.ts'
import { deleteRulesOf, hasPolicy } from '#store/own-policy.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'
import {
  changeWebhook,
  findOwnWebhook,
  insertWebhookRow,
  removeWebhook,
} from '#webhooks/store/webhooks.ts'
import { findInbox, findInboxByAddress, findInboxOfClient, findShownInbox } from './inboxes.ts'
import { changedMetadata, type MetadataChange, metadataFacets, metadataOf } from './metadata.ts'

/** How long the address of a deleted inbox remains reserved for its account. */
export const RELEASED_ADDRESS_MS = 30 * DAY_MS

type NewInbox = EditsOf<typeof inboxes> & {
  accountId: string
  inboxId: string
  /** A pod id or `clientId`; null for the default pod. */
  pod: string | null
  address: string
  /** A custom domain; null for the service's own domain. */
  domain: string | null
  webhook: InboxWebhook | null
  metadata?: Readonly<Record<string, string>>
  nowMs: number
  creationsPerDay: number
}

type InboxCreation =
  | { kind: 'created'; inbox: ShownInbox }
  /** An inbox has the `clientId`. */
  | { kind: 'existing'; inbox: ShownInbox }
  | { kind: 'invalid_pod' }
  | { kind: 'invalid_domain'; reason: DomainDefect }
  | { kind: 'address_taken' }
  | { kind: 'limit_reached'; limit: number }
  | { kind: 'too_many'; retryAtMs: number }

/** A refused creation does not use up the creation limit. */
export const insertInbox = transaction({
  name: 'createInbox',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: NewInbox): Promise<InboxCreation> {
    const account = await lockAccount(tx, input.accountId)
    if (account === null) return { kind: 'invalid_pod' }
    const existing = await findNamed(tx, input)
    if (existing !== null) return { kind: 'existing', inbox: existing }
    const pod =
      input.pod === null
        ? await defaultPodRow(tx, input.accountId)
        : await findPodRow(readIn(tx), input.accountId, input.pod)
    if (pod === null) return { kind: 'invalid_pod' }
    const used = await findDomainOf(tx, input, pod.id)
    if (used.kind === 'invalid_domain') return used
    if (await isAddressTaken(tx, input, pod.id)) return { kind: 'address_taken' }
    const limit = inboxesAllowed(account.plan as Plan)
    if (account.inbox_count >= limit) return { kind: 'limit_reached', limit }
    const retryAtMs = await creationAllowedAt(tx, input)
    if (retryAtMs > input.nowMs) return { kind: 'too_many', retryAtMs }

    const inserted = await tx.query
      .insertInto('inboxes')
      .values({
        ...inboxes.edit(input),
        ...inboxes.write({
          id: input.inboxId,
          accountId: input.accountId,
          podId: pod.id,
          address: input.address,
          domainId: used.domainId,
          receivingAddress: input.address,
          metadata: input.metadata ?? {},
          createdAtMs: input.nowMs,
        }),
      })
      .onConflict((conflict) => conflict.column('receiving_address').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted === undefined) return { kind: 'address_taken' }
    await tx.query.insertInto('inbox_counters').values({ inbox_id: input.inboxId }).execute()
    await replaceFacets(tx, input, input.metadata ?? {})
    await tx.query
      .insertInto('inbox_creations')
      .values({ account_id: input.accountId, created_at: input.nowMs, inbox_id: input.inboxId })
      .execute()
    await tx.query.deleteFrom('released_addresses').where('address', '=', input.address).execute()
    const added = { column: 'inbox_count', by: 1 } as const
    await changePodTotal(tx, { accountId: input.accountId, podId: pod.id }, added)
    await changeAccountTotal(tx, input.accountId, added)
    if (used.domainId !== null) {
      await changeDomainInboxCount(tx, { domainId: used.domainId, by: 1 })
    }
    const { webhook } = input
    if (webhook !== null) await addInboxWebhook(tx, input, webhook)
    const shown = await findShownInbox(readIn(tx), input.accountId, input.inboxId)
    if (shown === null) throw new Error('A new inbox is gone.')
    return { kind: 'created', inbox: shown }
  },
})

async function findNamed(
  tx: Tx,
  { accountId, clientId }: { accountId: string; clientId?: string | null },
): Promise<ShownInbox | null> {
  return clientId == null ? null : await findInboxOfClient(readIn(tx), accountId, clientId)
}

async function findDomainOf(
  tx: Tx,
  { accountId, domain }: NewInbox,
  podId: string,
): Promise<
  { kind: 'usable'; domainId: string | null } | { kind: 'invalid_domain'; reason: DomainDefect }
> {
  if (domain === null) return { kind: 'usable', domainId: null }
  await lockDomainsNamed(tx, domain)
  const found = await findInboxDomain(readIn(tx), { accountId, domain })
  if (found.kind === 'invalid_domain') return found
  const { id, podId: scope } = found.domain
  if (scope !== null && scope !== podId) return { kind: 'invalid_domain', reason: { kind: 'pod' } }
  return { kind: 'usable', domainId: id }
}

type InboxChange = EditsOf<typeof inboxes> & {
  accountId: string
  inboxId: string
  /** Null removes the webhook. An existing webhook only gets the new URL. */
  webhook?: InboxWebhook | null
  metadata?: MetadataChange
  nowMs: number
}

export type InboxRefusal = 'metadata_limit_reached' | 'client_id_taken'

/** Changes all given fields or none. Null if the account has no such inbox. */
export const changeInbox = transaction({
  name: 'updateInbox',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: InboxChange,
  ): Promise<{ inbox: ShownInbox; isWebhookNew: boolean } | InboxRefusal | null> {
    const { accountId, inboxId, webhook, metadata } = input
    if (webhook !== undefined || input.clientId != null) {
      // Deletions take the same lock, so a webhook is never created for a deleted inbox.
      await lockAccount(tx, accountId)
      if ((await findInbox(readIn(tx), accountId, inboxId)) === null) return null
    }
    const named = await findNamed(tx, input)
    if (named !== null && named.id !== inboxId) return 'client_id_taken'
    if (metadata !== undefined) {
      const outcome = await changeMetadata(tx, input, metadata)
      if (outcome !== 'changed') return outcome
    }
    const columns = inboxes.edit(input)
    if (Object.keys(columns).length > 0) {
      await tx.query
        .updateTable('inboxes')
        .set(columns)
        .where('account_id', '=', accountId)
        .where('id', '=', inboxId)
        .execute()
    }
    const isWebhookNew = webhook !== undefined && (await changeInboxWebhook(tx, input, webhook))
    const inbox = await findShownInbox(readIn(tx), accountId, inboxId)
    return inbox === null ? null : { inbox, isWebhookNew }
  },
})

type InboxKey = { accountId: string; inboxId: string }

async function changeMetadata(
  tx: Tx,
  inbox: InboxKey,
  change: MetadataChange,
): Promise<'changed' | 'metadata_limit_reached' | null> {
  const own = tx.query
    .selectFrom('inboxes')
    .select('metadata')
    .where('account_id', '=', inbox.accountId)
    .where('id', '=', inbox.inboxId)
  const row = await lockRows(tx, own).executeTakeFirst()
  if (row === undefined) return null
  const metadata = changedMetadata(row, change)
  if (metadata === undefined) return 'metadata_limit_reached'
  await tx.query
    .updateTable('inboxes')
    .set({ metadata })
    .where('account_id', '=', inbox.accountId)
    .where('id', '=', inbox.inboxId)
    .execute()
  await replaceFacets(tx, inbox, metadataOf({ metadata }))
  return 'changed'
}

async function replaceFacets(
  tx: Tx,
  { accountId, inboxId }: InboxKey,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  await tx.query.deleteFrom('inbox_facets').where('inbox_id', '=', inboxId).execute()
  const facets = metadataFacets(metadata)
  if (facets.length === 0) return
  await tx.query
    .insertInto('inbox_facets')
    .values(facets.map((facet) => ({ inbox_id: inboxId, facet, account_id: accountId })))
    .execute()
}

/** Reserves the address. A job removes the mail, because one transaction could take too long. */
export const removeInbox = transaction({
  name: 'deleteInbox',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; actor: Actor; nowMs: number },
  ): Promise<'deleted' | 'not_found' | 'approver_required'> {
    // Locks the account first, like creations, to avoid deadlocks.
    await lockAccount(tx, input.accountId)
    const inbox = await findInbox(readIn(tx), input.accountId, input.inboxId)
    if (inbox === null) return 'not_found'
    const holder = await holderOf(tx, inbox, input.actor)
    if (holder === 'approver_required') return holder
    // Locks the domain before the inbox, in the same order as a takeover of the domain.
    if (inbox.domainId !== null) {
      await lockDomain(tx, { accountId: input.accountId, domainId: inbox.domainId })
    }
    await endCatchAll(tx, input)
    await tx.query.deleteFrom('inbox_counters').where('inbox_id', '=', inbox.id).execute()
    await tx.query.deleteFrom('inbox_facets').where('inbox_id', '=', inbox.id).execute()
    await deleteRulesOf(tx, input.accountId, { inboxId: inbox.id })
    await endExports(tx, { accountId: input.accountId, inboxId: inbox.id }, input.nowMs)
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
    // The address is null if another account has taken over the domain.
    const freed = deleted.receiving_address
    if (freed !== null) {
      await releaseAddress(tx, {
        accountId: input.accountId,
        podId: holder.podId,
        address: freed,
        nowMs: input.nowMs,
      })
    }
    const removed = { column: 'inbox_count', by: -1 } as const
    await changePodTotal(tx, { accountId: input.accountId, podId: inbox.podId }, removed)
    await changeAccountTotal(tx, input.accountId, removed)
    const purges = [inbox.id, ...(webhook === undefined ? [] : [webhook.id])]
    const job = { kind: 'purge', account_id: input.accountId, due_at: input.nowMs, payload: null }
    await insertJobs(
      tx,
      purges.map((key) => ({ ...job, key })),
    )
    return 'deleted'
  },
})

/** Removes an expired inbox and adds an event. Returns `not_found` if the expiry has changed. */
export const expireInbox = transaction({
  name: 'expireInbox',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; eventId: string; nowMs: number },
  ): Promise<'deleted' | 'not_found' | 'approver_required'> {
    const { accountId, inboxId, eventId, nowMs } = input
    await lockAccount(tx, accountId)
    const inbox = await findShownInbox(readIn(tx), accountId, inboxId)
    if (inbox?.expiresAtMs == null || inbox.expiresAtMs > nowMs) return 'not_found'
    // Any key may set the expiry, so the authority of a key is enough to remove the inbox.
    const actor: Actor = { kind: 'key', keyId: '' }
    const outcome = await removeInbox.run(tx, { ...input, actor })
    if (outcome !== 'deleted') return outcome
    const expires_at = new Date(inbox.expiresAtMs).toISOString()
    await insertEvent(tx, {
      id: eventId,
      kind: 'inbox.expired',
      account_id: accountId,
      pod_id: inbox.podId,
      inbox_id: inboxId,
      thread_id: null,
      message_id: null,
      occurred_at: nowMs,
      details: JSON.stringify({ inbox: { id: inboxId, address: inbox.address, expires_at } }),
    })
    return 'deleted'
  },
})

/** The inbox that expired first after `after`; null if there is none. */
export async function findExpired(
  db: ReadDb,
  { nowMs, after }: { nowMs: number; after: ExpiredInbox | null },
): Promise<ExpiredInbox | null> {
  let due = db.read
    .selectFrom('inboxes')
    .select(['account_id as accountId', 'id as inboxId', 'expires_at as expiresAtMs'])
    .where('expires_at', '<=', nowMs)
    .$narrowType<{ expiresAtMs: number }>()
  if (after !== null) {
    due = due
      .where('expires_at', '>=', after.expiresAtMs)
      .where(({ eb, or }) =>
        or([eb('expires_at', '>', after.expiresAtMs), eb('id', '>', after.inboxId)]),
      )
  }
  const inbox = await due.orderBy('expires_at').orderBy('id').limit(1).executeTakeFirst()
  return inbox ?? null
}

type ExpiredInbox = { accountId: string; inboxId: string; expiresAtMs: number }

/** Only the same pod may reuse the address if a key could otherwise evade the pod's policy. */
async function holderOf(
  tx: Tx,
  { id, accountId, podId }: Inbox,
  actor: Actor,
): Promise<'approver_required' | { podId: string | null }> {
  if (!(await needsApprover(tx, accountId, actor))) return { podId: null }
  // A new inbox could take the same address, but would not have the policy.
  if (await hasPolicy(tx, 'inboxes', { id, account_id: accountId })) return 'approver_required'
  const isPodsOwn = await hasPolicy(tx, 'pods', { id: podId, account_id: accountId })
  return { podId: isPodsOwn ? podId : null }
}

async function releaseAddress(
  tx: Tx,
  released: { accountId: string; podId: string | null; address: string; nowMs: number },
): Promise<void> {
  const { accountId: account_id, podId: pod_id, address, nowMs: released_at } = released
  const change = { account_id, pod_id, released_at }
  await tx.query
    .insertInto('released_addresses')
    .values({ address, ...change })
    .onConflict((conflict) => conflict.column('address').doUpdateSet(change))
    .execute()
}

async function isAddressTaken(tx: Tx, input: NewInbox, podId: string): Promise<boolean> {
  const { accountId } = input
  const inbox = await findInboxByAddress(readIn(tx), input.address)
  if (inbox !== null) return true
  const released = await tx.query
    .selectFrom('released_addresses')
    .select(['account_id', 'pod_id'])
    .where('address', '=', input.address)
    .where('released_at', '>', input.nowMs - RELEASED_ADDRESS_MS)
    .executeTakeFirst()
  if (released === undefined) return false
  const { account_id: holderId, pod_id: holdingPodId } = released
  if (holderId === accountId && holdingPodId === null) return false
  const pod = await findPodRow(readIn(tx), accountId, holdingPodId ?? holderId)
  if (pod !== null) return pod.id !== podId && (await hasPolicy(tx, 'pods', pod))
  // The addresses of another account pass to the new holder together with the domain.
  return input.domain === null
}

/** When the account may create its next inbox. A creation uses up the limit for a day. */
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

type InboxDomain =
  | { kind: 'usable'; domain: Domain }
  | { kind: 'invalid_domain'; reason: DomainDefect }

export type DomainDefect =
  | { kind: 'unknown' }
  | { kind: 'foreign' }
  | { kind: 'status'; status: Domain['status'] }
  | { kind: 'lost' }
  | { kind: 'pod' }

export async function findInboxDomain(
  db: ReadDb,
  { accountId, domain }: { accountId: string; domain: string },
): Promise<InboxDomain> {
  const all = await findDomainsNamed(db, domain)
  const own = all.find((one) => one.accountId === accountId)
  if (own === undefined) {
    // Does not reveal accounts that have not verified the domain.
    const isForeign = all.some(({ isHolder }) => isHolder)
    return refuse(isForeign ? { kind: 'foreign' } : { kind: 'unknown' })
  }
  if (isUsable(own)) return { kind: 'usable', domain: own }
  const isLost = own.verifiedAtMs !== null && !own.isHolder
  return refuse(isLost ? { kind: 'lost' } : { kind: 'status', status: own.status })
}

function refuse(reason: DomainDefect): InboxDomain {
  return { kind: 'invalid_domain', reason }
}

/** The webhook of `webhookUrl`, which receives its inbox's events and is deleted with the inbox. */
export type InboxWebhook = { id: string; url: string; sealedSecrets: Uint8Array }

type OfInbox = { accountId: string; inboxId: string; nowMs: number }

/** The caller has locked the account. */
async function addInboxWebhook(
  tx: Tx,
  { accountId, inboxId, nowMs }: OfInbox,
  webhook: InboxWebhook,
): Promise<void> {
  const filter = { kinds: [], podIds: [], inboxIds: [inboxId], categories: [] }
  const made = { ...webhook, ...filter, accountId, inboxId, isEnabled: true, nowMs }
  await insertWebhookRow(tx, made)
}

/** Enables a disabled webhook. Returns true if created. The caller has locked the account. */
async function changeInboxWebhook(
  tx: Tx,
  of: OfInbox,
  webhook: InboxWebhook | null,
): Promise<boolean> {
  const { accountId, nowMs } = of
  const kept = await findOwnWebhook(readIn(tx), of)
  if (webhook === null) {
    if (kept !== null) await removeWebhook.run(tx, { accountId, webhookId: kept.id, nowMs })
    return false
  }
  if (kept === null) {
    await addInboxWebhook(tx, of, webhook)
    return true
  }
  const change = { url: webhook.url, isEnabled: true }
  await changeWebhook.run(tx, { accountId, webhookId: kept.id, change, nowMs })
  return false
}
