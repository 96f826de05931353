// Whether an account may make inboxes on a custom domain.

import type { Domain } from '#domains/domain.ts'
import { isUsable } from '#domains/domain.ts'
import { findDomainsNamed } from '#domains/domain-rows.ts'
import type { ReadDb } from '#schema/tables.ts'

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
