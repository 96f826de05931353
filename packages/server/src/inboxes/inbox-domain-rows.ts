// Inboxes and the custom domains that they are on: whether an account may make one there, and whether one
// still gets the mail for its address.

import type { Domain } from '#domains/domain.ts'
import { isUsable } from '#domains/domain.ts'
import { findDomainsNamed } from '#domains/domain-rows.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'

export type InboxDomain =
  | { kind: 'usable'; domain: Domain }
  | { kind: 'invalid_domain'; reason: DomainDefect }

/** What is wrong with the domain, for this account. */
export type DomainDefect =
  | { kind: 'unknown' }
  | { kind: 'foreign' }
  | { kind: 'status'; status: Domain['status'] }
  /** Another account has verified it since. */
  | { kind: 'lost' }
  /** It may be used in another pod only. */
  | { kind: 'pod' }

/** The account's domain of this name, if inboxes may be made on it. */
export async function findInboxDomain(
  db: ReadDb,
  { accountId, domain }: { accountId: string; domain: string },
): Promise<InboxDomain> {
  const all = await findDomainsNamed(db, domain)
  const own = all.find((one) => one.accountId === accountId)
  if (own === undefined) {
    // Of those who have only asked for it nobody is told.
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

/** Whether its domain is its account's still, which cannot change then until the transaction ends. */
export async function stillReceives(tx: Tx, inboxId: string): Promise<boolean> {
  // What is locked here whoever takes over a domain locks, too.
  const counters = tx.query
    .selectFrom('inbox_counters')
    .select('inbox_id')
    .where('inbox_id', '=', inboxId)
  await lockRows(tx, counters).execute()
  const inbox = await tx.query
    .selectFrom('inboxes')
    .select('receiving_address')
    .where('id', '=', inboxId)
    .executeTakeFirst()
  return inbox !== undefined && inbox.receiving_address !== null
}
