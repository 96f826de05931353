// Custom domains, from rows. Their writes are in the files beside it.

import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables } from '#schema/tables.ts'
import type { Domain, DomainStatus, RecordCheck } from './domain.ts'

/** Whose mail the domain's is; null where nobody here ever verified it. For arriving mail. */
export async function findServedDomain(
  db: ReadDb,
  domain: string,
): Promise<{ accountId: string; domainId: string } | null> {
  const [row] = await selectHolder(db.reading, { domain })
  return row === undefined ? null : { accountId: row.account_id, domainId: row.id }
}

const selectHolder = statement<
  Tables,
  { domain: string },
  Pick<Row<'domains'>, 'id' | 'account_id'>
>((query, place) =>
  query
    .selectFrom('domains')
    .select(['id', 'account_id'])
    .where('domain', '=', place('domain'))
    .where('is_holder', '=', 1),
)

/** The domain of this name of whoever holds it; null where nobody here ever verified it. */
export async function findHeldDomain(db: ReadDb, domain: string): Promise<Domain | null> {
  const row = await db.read
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .where('is_holder', '=', 1)
    .executeTakeFirst()
  return row === undefined ? null : toDomain(row)
}

/** The account's domain with this id, or null. */
export async function findDomain(
  db: ReadDb,
  accountId: string,
  domainId: string,
): Promise<Domain | null> {
  const [row] = await selectById(db.reading, { accountId, domainId })
  return row === undefined ? null : toDomain(row)
}

const selectById = statement<Tables, { accountId: string; domainId: string }, Row<'domains'>>(
  (query, place) =>
    query
      .selectFrom('domains')
      .selectAll()
      .where('account_id', '=', place('accountId'))
      .where('id', '=', place('domainId')),
)

/** All that have this name, of whichever account, in the order in which they are locked. */
export async function findDomainsNamed(db: ReadDb, domain: string): Promise<Domain[]> {
  const rows = await db.read
    .selectFrom('domains')
    .selectAll()
    .where('domain', '=', domain)
    .orderBy('id')
    .execute()
  return rows.map(toDomain)
}

/** Newest first; those scoped to one pod when `podId` is given. */
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
  return { domains: rows.map(toDomain), total: total?.domain_count ?? 0 }
}

/** How many domains the account has. */
export async function countDomains(db: ReadDb, accountId: string): Promise<number> {
  const row = await db.read
    .selectFrom('accounts')
    .select('domain_count')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row?.domain_count ?? 0
}

/** A domain from its row. */
export function toDomain(row: Row<'domains'>): Domain {
  return {
    id: row.id,
    accountId: row.account_id,
    podId: row.pod_id,
    domain: row.domain,
    status: row.status as DomainStatus,
    ownershipToken: row.ownership_token,
    checks: JSON.parse(row.checks) as RecordCheck[],
    inboxCount: row.inbox_count,
    isHolder: row.is_holder === 1,
    takesBounces: row.takes_bounces === 1,
    degradedAtMs: row.degraded_at,
    nextCheckAtMs: row.next_check_at,
    createdAtMs: row.created_at,
    verifiedAtMs: row.verified_at,
    lastCheckedAtMs: row.last_checked_at,
  }
}
