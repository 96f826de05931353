// The domain of a new inbox: the one of the service, or a custom one that the account may use.

import { readDomainName } from '@mailroom/mail/address.ts'
import { readNamedDomain } from '#platform/domain-name.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { type DomainDefect, findInboxDomain } from './inbox-domain-rows.ts'

/** The name of the custom domain; null for that of the service. `invalid_domain`, saying why. */
export async function requireDomain(
  deps: { db: Db; inboxDomain: string },
  { accountId, domain: text }: { accountId: string; domain: string | undefined },
): Promise<string | null> {
  if (text === undefined || readDomainName(text) === deps.inboxDomain) return null
  const named = readNamedDomain(text)
  if (named.kind === 'invalid')
    throw problem('invalid_domain', `The domain name is invalid: ${named.reason}.`)
  const { domain } = named
  const found = await findInboxDomain(deps.db, { accountId, domain })
  if (found.kind === 'invalid_domain') throw invalidDomain(domain, found.reason)
  return domain
}

/** What is told of a domain on which the account may not make the inbox. */
export function invalidDomain(domain: string, defect: DomainDefect) {
  return problem('invalid_domain', `${domain} ${defectText(defect)}.`)
}

function defectText(defect: DomainDefect): string {
  switch (defect.kind) {
    case 'unknown':
      return 'is not a domain of this account'
    case 'foreign':
      return 'belongs to another account'
    case 'lost':
      return 'was verified by another account in the meantime'
    case 'pod':
      return 'may only be used by another pod'
    case 'status':
      return defect.status === 'failed'
        ? 'has failed its DNS checks and is not verified'
        : `is not verified: its status is ${defect.status}`
  }
}
