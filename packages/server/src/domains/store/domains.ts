// Custom domains. Like `settleDomain`, writes lock the account, then the domain's rows by id.

import { readDomainName } from '@mailroom/mail/address.ts'
import { changeAccountTotal, lockAccount } from '#accounts/store/accounts.ts'
import { changePodTotal, findPodRow } from '#accounts/store/pods.ts'
import { deleteDkimKeys, insertDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import type { Domain } from '#domains/model.ts'
import { nextCheckAt } from '#domains/model.ts'
import { transaction } from '#platform/db/db.ts'
import { isInList, lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import { domains } from '#store/nouns.ts'
import { type NewRow, type ReadDb, type Row, readIn, type Tables, type Tx } from '#store/tables.ts'

type ServedDomain = { accountId: string; domainId: string; catchAllInboxId: string | null }

export type ServingDomain = ServedDomain & { domain: string }

/** Null if no account ever verified the domain. */
export async function findServedDomain(db: ReadDb, domain: string): Promise<ServedDomain | null> {
  const [row] = await selectHolders(db.reading, { domains: JSON.stringify([domain]) })
  return row === undefined ? null : toServing(row)
}

/**
 * The domain that receives each name's mail: the name itself, or the nearest held parent if it
 * takes subdomains. As in DNS (RFC 4592 §2.2.2), a held domain below that parent owns its own
 * names. `names` are in lower-case A-labels.
 */
export async function findServingDomains(
  { db, inboxDomain }: { db: ReadDb; inboxDomain: string },
  names: readonly string[],
): Promise<Map<string, ServingDomain>> {
  const candidates = new Map(names.map((name) => [name, servingNames(name, inboxDomain)]))
  const domains = JSON.stringify([...new Set([...candidates.values()].flat())])
  const rows = await selectHolders(db.reading, { domains })
  const held = new Map(rows.map((row) => [row.domain, row]))
  const serving = new Map<string, ServingDomain>()
  for (const [name, nearestFirst] of candidates) {
    const nearest = nearestFirst.find((domain) => held.has(domain))
    const row = nearest === undefined ? undefined : held.get(nearest)
    if (row === undefined) continue
    if (nearest === name || row.takes_subdomains === 1) serving.set(name, toServing(row))
  }
  return serving
}

export async function findServingDomain(
  deps: { db: ReadDb; inboxDomain: string },
  name: string,
): Promise<ServingDomain | null> {
  return (await findServingDomains(deps, [name])).get(name) ?? null
}

/** The name and its parents, nearest first, up to the service's own domain. */
function servingNames(name: string, inboxDomain: string): string[] {
  if (readDomainName(name) !== name) return []
  const names = [name]
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const next = name.slice(dot + 1)
    if (next === inboxDomain) return names
    if (next.includes('.')) names.push(next)
  }
  return names
}

type HolderRow = Pick<
  Row<'domains'>,
  'id' | 'account_id' | 'domain' | 'takes_subdomains' | 'catch_all_inbox_id'
>

function toServing(row: HolderRow): ServingDomain {
  return {
    accountId: row.account_id,
    domainId: row.id,
    catchAllInboxId: row.catch_all_inbox_id,
    domain: row.domain,
  }
}

const selectHolders = statement<Tables, { domains: string }, HolderRow>((query, given, engine) =>
  query
    .selectFrom('domains')
    .select(['id', 'account_id', 'domain', 'takes_subdomains', 'catch_all_inbox_id'])
    .where(isInList(engine, 'domain', given('domains')))
    .where('is_holder', '=', 1),
)

/** Whether inboxes here receive, or could receive, mail for the domain (in lower-case A-labels). */
export async function isDomainHere(
  { db, inboxDomain }: { db: ReadDb; inboxDomain: string },
  domain: string,
): Promise<boolean> {
  if (domain === inboxDomain || domain.endsWith(`.${inboxDomain}`)) return true
  const labels = domain.split('.')
  const domains = JSON.stringify(labels.map((_, at) => labels.slice(at).join('.')))
  return (await selectHolders(db.reading, { domains })).length > 0
}

export async function findHeldDomain(db: ReadDb, domain: string): Promise<Domain | null> {
  const row = await db.read
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .where('is_holder', '=', 1)
    .executeTakeFirst()
  return row === undefined ? null : domains.read(row)
}

export async function findDomain(
  db: ReadDb,
  accountId: string,
  domainId: string,
): Promise<Domain | null> {
  const [row] = await selectById(db.reading, { accountId, domainId })
  return row === undefined ? null : domains.read(row)
}

const selectById = statement<Tables, { accountId: string; domainId: string }, Row<'domains'>>(
  (query, given) =>
    query
      .selectFrom('domains')
      .selectAll()
      .where('account_id', '=', given('accountId'))
      .where('id', '=', given('domainId')),
)

export async function findDomainsNamed(db: ReadDb, domain: string): Promise<Domain[]> {
  const rows = await db.read
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .orderBy('id')
    .execute()
  return rows.map(domains.read)
}

/** Newest first, limited to the pod if one is given. */
export async function listDomains(
  db: ReadDb,
  input: { accountId: string; podId: string | null; limit: number; offset: number },
): Promise<{ domains: Domain[]; total: number }> {
  let query = db.read.selectFrom('domains').selectAll().where('account_id', '=', input.accountId)
  if (input.podId !== null) query = query.where('pod_id', '=', input.podId)
  const rows = await query.orderBy('id', 'desc').limit(input.limit).offset(input.offset).execute()
  const counted =
    input.podId === null
      ? db.read.selectFrom('accounts').select('domain_count').where('id', '=', input.accountId)
      : db.read
          .selectFrom('pods')
          .select('domain_count')
          .where('account_id', '=', input.accountId)
          .where('id', '=', input.podId)
  const total = await counted.executeTakeFirst()
  return { domains: rows.map(domains.read), total: total?.domain_count ?? 0 }
}

export async function countDomains(db: ReadDb, accountId: string): Promise<number> {
  const row = await db.read
    .selectFrom('accounts')
    .select('domain_count')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row?.domain_count ?? 0
}

/** For operators: the domains of all accounts, held ones first, then the oldest. */
export async function listEveryDomain(
  db: ReadDb,
  { limit, offset }: { limit: number; offset: number },
): Promise<Domain[]> {
  const rows = await db.read
    .selectFrom('domains')
    .selectAll()
    .orderBy('is_holder', 'desc')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(domains.read)
}

export async function countEveryDomain(db: ReadDb): Promise<number> {
  const row = await db.read
    .selectFrom('domains')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

export const DOMAINS_PER_ACCOUNT_MAX = 1_000

type NewDomain = {
  accountId: string
  domainId: string
  domain: string
  pod: string | null
  subdomainsEnabled: boolean
  catchAllInboxId: string | null
  ownershipToken: string
  keys: NewRow<'dkim_keys'>[]
  nowMs: number
}

type DomainCreation =
  | { kind: 'created'; domain: Domain }
  | { kind: 'invalid_pod' }
  | { kind: 'invalid_inbox' }
  | { kind: 'taken'; by: 'own' | 'another' }
  | { kind: 'limit_reached' }

/** Several accounts may have the same name pending. */
export const insertDomain = transaction({
  name: 'createDomain',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: NewDomain): Promise<DomainCreation> {
    const { accountId, nowMs } = input
    const account = await lockAccount(tx, accountId)
    if (account === null) return { kind: 'invalid_pod' }
    const pod = input.pod === null ? null : await findPodRow(readIn(tx), accountId, input.pod)
    if (pod === null && input.pod !== null) return { kind: 'invalid_pod' }
    const podId = pod?.id ?? null
    const { catchAllInboxId } = input
    if (!(await mayCatchAll(tx, { accountId, podId, inboxId: catchAllInboxId }))) {
      return { kind: 'invalid_inbox' }
    }
    const taken = findTaker(await lockDomainsNamed(tx, input.domain), accountId)
    if (taken !== null) return { kind: 'taken', by: taken }
    if (account.domain_count >= DOMAINS_PER_ACCOUNT_MAX) return { kind: 'limit_reached' }

    const state = { status: 'pending', createdAtMs: nowMs, degradedAtMs: null } as const
    const row = await tx.query
      .insertInto('domains')
      .values({
        ...domains.write({
          ...state,
          id: input.domainId,
          accountId,
          podId,
          domain: input.domain,
          subdomainsEnabled: input.subdomainsEnabled,
          catchAllInboxId,
          ownershipToken: input.ownershipToken,
          nextCheckAtMs: nextCheckAt(state, nowMs),
        }),
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await insertDkimKeys(tx, input.keys)
    await changeDomainCounts(tx, { accountId, podId: row.pod_id, by: 1 })
    return { kind: 'created', domain: domains.read(row) }
  },
})

/** Returns whose domain prevents this account from adding the name; null if the name is free. */
export function findTaker(
  rows: readonly Pick<Domain, 'accountId' | 'isHolder' | 'status'>[],
  accountId: string,
): 'own' | 'another' | null {
  if (rows.some((row) => row.accountId === accountId)) return 'own'
  return rows.some(isHeld) ? 'another' : null
}

/** A failed domain passes to the next account that verifies it. */
export function isHeld({ isHolder, status }: Pick<Domain, 'isHolder' | 'status'>): boolean {
  return isHolder && status !== 'failed'
}

type DomainChange =
  | { kind: 'changed'; domain: Domain }
  | { kind: 'not_found' }
  | { kind: 'invalid_pod' }
  | { kind: 'invalid_inbox' }
  | { kind: 'in_use' }

/** A null `pod` removes the limit. Returns `in_use` if an inbox of the domain is in another pod. */
export const changeDomain = transaction({
  name: 'changeDomain',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: {
      accountId: string
      domainId: string
      pod?: string | null
      subdomainsEnabled?: boolean
      catchAllInboxId?: string | null
    },
  ): Promise<DomainChange> {
    const { accountId, domainId } = input
    await lockAccount(tx, accountId)
    const kept = await lockDomain(tx, input)
    if (kept === null) return { kind: 'not_found' }
    const { pod: podName } = input
    const pod = podName == null ? null : await findPodRow(readIn(tx), accountId, podName)
    if (pod === null && podName != null) return { kind: 'invalid_pod' }
    const podId = podName === undefined ? kept.podId : (pod?.id ?? null)
    if (podId !== null && podId !== kept.podId) {
      const outside = await tx.query
        .selectFrom('inboxes')
        .select('id')
        .where('domain_id', '=', domainId)
        .where('pod_id', '<>', podId)
        .limit(1)
        .executeTakeFirst()
      if (outside !== undefined) return { kind: 'in_use' }
    }
    const { catchAllInboxId: inboxId = kept.catchAllInboxId } = input
    if (!(await mayCatchAll(tx, { accountId, podId, inboxId }))) {
      return { kind: input.catchAllInboxId === undefined ? 'in_use' : 'invalid_inbox' }
    }
    const changed = await tx.query
      .updateTable('domains')
      .set(
        domains.write({
          podId,
          subdomainsEnabled: input.subdomainsEnabled,
          catchAllInboxId: inboxId,
        }),
      )
      .where('account_id', '=', accountId)
      .where('id', '=', domainId)
      .returningAll()
      .executeTakeFirstOrThrow()
    await changePodDomainCount(tx, { accountId, podId: kept.podId, by: -1 })
    await changePodDomainCount(tx, { accountId, podId, by: 1 })
    return { kind: 'changed', domain: domains.read(changed) }
  },
})

/** Whether the inbox, if there is one, is in a pod that may use the domain. */
async function mayCatchAll(
  tx: Tx,
  {
    accountId,
    podId,
    inboxId,
  }: { accountId: string; podId: string | null; inboxId: string | null },
): Promise<boolean> {
  if (inboxId === null) return true
  const inbox = await tx.query
    .selectFrom('inboxes')
    .select('pod_id')
    .where('account_id', '=', accountId)
    .where('id', '=', inboxId)
    .executeTakeFirst()
  return inbox !== undefined && (podId === null || inbox.pod_id === podId)
}

/** The caller has locked the account. */
export async function endCatchAll(
  tx: Tx,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<void> {
  await tx.query
    .updateTable('domains')
    .set({ catch_all_inbox_id: null })
    .where('account_id', '=', accountId)
    .where('catch_all_inbox_id', '=', inboxId)
    .execute()
}

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
    if (kept.inboxCount > 0) return 'not_empty'
    await deleteDkimKeys(tx, domainId)
    await tx.query
      .deleteFrom('domains')
      .where('account_id', '=', accountId)
      .where('id', '=', domainId)
      .execute()
    await changeDomainCounts(tx, { accountId, podId: kept.podId, by: -1 })
    return 'deleted'
  },
})

export async function lockDomain(
  tx: Tx,
  { accountId, domainId }: { accountId: string; domainId: string },
): Promise<Domain | null> {
  const query = tx.query
    .selectFrom('domains')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', domainId)
  const row = await lockRows(tx, query).executeTakeFirst()
  return row === undefined ? null : domains.read(row)
}

export async function lockDomainsNamed(tx: Tx, domain: string): Promise<Domain[]> {
  const query = tx.query
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .orderBy('id')
  return (await lockRows(tx, query).execute()).map(domains.read)
}

/** The caller has locked the domain. */
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
  await changeAccountTotal(tx, count.accountId, { column: 'domain_count', by: count.by })
  await changePodDomainCount(tx, count)
}

async function changePodDomainCount(tx: Tx, { accountId, podId, by }: Count): Promise<void> {
  if (podId === null) return
  await changePodTotal(tx, { accountId, podId }, { column: 'domain_count', by })
}
