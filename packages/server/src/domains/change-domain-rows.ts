// Custom domains come, are scoped and go. Every one of these locks the account first, then the rows of
// the domain by their ids, as all do that change a domain.

import { lockAccount } from '#accounts/account-rows.ts'
import { findPodRow } from '#accounts/pod-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type NewRow, type Row, readIn, type Tx } from '#schema/tables.ts'
import { deleteDkimKeys, insertDkimKeys } from './dkim-key-rows.ts'
import type { Domain } from './domain.ts'
import { toDomain } from './domain-rows.ts'
import { nextCheckAt } from './domain-state.ts'

export const DOMAINS_PER_ACCOUNT_MAX = 1_000

export type NewDomain = {
  accountId: string
  domainId: string
  /** In lower-case A-labels. */
  domain: string
  /** Pod id or `clientId`; null for all pods. */
  pod: string | null
  ownershipToken: string
  keys: NewRow<'dkim_keys'>[]
  nowMs: number
}

export type DomainCreation =
  | { kind: 'created'; domain: Domain }
  | { kind: 'invalid_pod' }
  /** `own`: the account has it already. */
  | { kind: 'taken'; by: 'own' | 'another' }
  | { kind: 'limit_reached' }

/** Adds a pending domain with its keys. Any number of accounts may have one of that name pending. */
export const insertDomain = transaction({
  name: 'createDomain',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: NewDomain): Promise<DomainCreation> {
    const { accountId, nowMs } = input
    const account = await lockAccount(tx, accountId)
    if (account === null) return { kind: 'invalid_pod' }
    const pod = input.pod === null ? null : await findPodRow(readIn(tx), accountId, input.pod)
    if (pod === null && input.pod !== null) return { kind: 'invalid_pod' }
    const taken = findTaker(await lockDomainsNamed(tx, input.domain), accountId)
    if (taken !== null) return { kind: 'taken', by: taken }
    if (account.domain_count >= DOMAINS_PER_ACCOUNT_MAX) return { kind: 'limit_reached' }

    const state = { status: 'pending', createdAtMs: nowMs, degradedAtMs: null } as const
    const row = await tx.query
      .insertInto('domains')
      .values({
        id: input.domainId,
        account_id: accountId,
        pod_id: pod?.id ?? null,
        domain: input.domain,
        status: state.status,
        ownership_token: input.ownershipToken,
        next_check_at: nextCheckAt(state, nowMs),
        created_at: nowMs,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await insertDkimKeys(tx, input.keys)
    await changeDomainCounts(tx, { accountId, podId: row.pod_id, by: 1 })
    return { kind: 'created', domain: toDomain(row) }
  },
})

/** Who keeps the account from adding a domain of which these are the rows; null for nobody. */
export function findTaker(
  rows: readonly Pick<Domain, 'accountId' | 'isHolder' | 'status'>[],
  accountId: string,
): 'own' | 'another' | null {
  if (rows.some((row) => row.accountId === accountId)) return 'own'
  return rows.some(isHeld) ? 'another' : null
}

/** Whether its account keeps it from all others; one that failed loses it to whoever verifies it. */
export function isHeld({ isHolder, status }: Pick<Domain, 'isHolder' | 'status'>): boolean {
  return isHolder && status !== 'failed'
}

export type DomainScoping =
  | { kind: 'scoped'; domain: Domain }
  | { kind: 'not_found' }
  | { kind: 'invalid_pod' }
  | { kind: 'in_use' }

/** Gives it to one pod, or with null to all; not while an inbox on it is in another pod. */
export const setDomainPod = transaction({
  name: 'scopeDomain',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; domainId: string; pod: string | null },
  ): Promise<DomainScoping> {
    const { accountId, domainId } = input
    await lockAccount(tx, accountId)
    const kept = await lockDomain(tx, input)
    if (kept === null) return { kind: 'not_found' }
    const pod = input.pod === null ? null : await findPodRow(readIn(tx), accountId, input.pod)
    if (pod === null && input.pod !== null) return { kind: 'invalid_pod' }
    const podId = pod?.id ?? null
    if (podId !== null && podId !== kept.pod_id) {
      const outside = await tx.query
        .selectFrom('inboxes')
        .select('id')
        .where('domain_id', '=', domainId)
        .where('pod_id', '<>', podId)
        .limit(1)
        .executeTakeFirst()
      if (outside !== undefined) return { kind: 'in_use' }
    }
    await tx.query
      .updateTable('domains')
      .set({ pod_id: podId })
      .where('account_id', '=', accountId)
      .where('id', '=', domainId)
      .execute()
    await changePodDomainCount(tx, { accountId, podId: kept.pod_id, by: -1 })
    await changePodDomainCount(tx, { accountId, podId, by: 1 })
    return { kind: 'scoped', domain: toDomain({ ...kept, pod_id: podId }) }
  },
})

/** Ends it and its keys; not while there are inboxes on it. */
export const removeDomain = transaction({
  name: 'deleteDomain',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; domainId: string },
  ): Promise<'deleted' | 'not_found' | 'not_empty'> {
    const { accountId, domainId } = input
    await lockAccount(tx, accountId)
    const kept = await lockDomain(tx, input)
    if (kept === null) return 'not_found'
    if (kept.inbox_count > 0) return 'not_empty'
    await deleteDkimKeys(tx, domainId)
    await tx.query
      .deleteFrom('domains')
      .where('account_id', '=', accountId)
      .where('id', '=', domainId)
      .execute()
    await changeDomainCounts(tx, { accountId, podId: kept.pod_id, by: -1 })
    return 'deleted'
  },
})

/** The account's row, kept from others until the transaction ends. */
export async function lockDomain(
  tx: Tx,
  { accountId, domainId }: { accountId: string; domainId: string },
): Promise<Row<'domains'> | null> {
  const query = tx.query
    .selectFrom('domains')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', domainId)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}

/** The rows of all accounts that have this name, locked in the order of their ids. */
export async function lockDomainsNamed(tx: Tx, domain: string): Promise<Domain[]> {
  const query = tx.query
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .orderBy('id')
  return (await lockRows(tx, query).execute()).map(toDomain)
}

/** Keeps the domain's number of inboxes; the caller has locked its row. */
export async function changeDomainInboxCount(
  tx: Tx,
  { domainId, by }: { domainId: string; by: 1 | -1 },
): Promise<void> {
  await tx.query
    .updateTable('domains')
    .set((row) => ({ inbox_count: row('inbox_count', '+', by) }))
    .where('id', '=', domainId)
    .execute()
}

type Count = { accountId: string; podId: string | null; by: 1 | -1 }

async function changeDomainCounts(tx: Tx, count: Count): Promise<void> {
  await tx.query
    .updateTable('accounts')
    .set((row) => ({ domain_count: row('domain_count', '+', count.by) }))
    .where('id', '=', count.accountId)
    .execute()
  await changePodDomainCount(tx, count)
}

async function changePodDomainCount(tx: Tx, { accountId, podId, by }: Count): Promise<void> {
  if (podId === null) return
  await tx.query
    .updateTable('pods')
    .set((row) => ({ domain_count: row('domain_count', '+', by) }))
    .where('account_id', '=', accountId)
    .where('id', '=', podId)
    .execute()
}
