// Which domain signs what an inbox sends, and to which one its bounces come.

import { isUsable } from '#domains/domain.ts'
import { findDomain } from '#domains/domain-rows.ts'
import { domainOf, type Inbox } from '#inboxes/inbox.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'

export type SendingDomain = {
  /** Whose key signs: `service` for the inbox domain of the settings. */
  owner: { ownerId: string; domain: string }
  /** Where addresses may be that bounces come to. */
  returnPathDomain: string
}

/** `invalid_domain` where the inbox's domain has failed or is another account's now. */
export async function findSendingDomain(
  deps: { db: Db; inboxDomain: string },
  inbox: Inbox,
): Promise<SendingDomain> {
  const { inboxDomain } = deps
  if (inbox.domainId === null) {
    return { owner: { ownerId: 'service', domain: inboxDomain }, returnPathDomain: inboxDomain }
  }
  const domain = await findDomain(deps.db, inbox.accountId, inbox.domainId)
  if (domain === null || !isUsable(domain)) {
    const name = domain?.domain ?? domainOf(inbox.address)
    const reason =
      domain?.isHolder === false
        ? `another account has verified ${name} in the meantime`
        : `${name} has failed its DNS checks`
    throw problem('invalid_domain', `The inbox cannot send: ${reason}.`, {
      fix: 'Publish the records that GET /v1/domains/{id} lists and verify the domain again.',
    })
  }
  return {
    owner: { ownerId: domain.id, domain: domain.domain },
    returnPathDomain: domain.takesBounces ? domain.domain : inboxDomain,
  }
}
