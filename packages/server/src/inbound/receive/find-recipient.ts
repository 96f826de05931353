import { asciiDomain } from '@mailroom/mail/address.ts'
import { findServingDomain, type ServingDomain } from '#domains/store/domains.ts'
import type { ReachedInbox } from '#inboxes/inboxes.ts'
import { inboxAddressOf } from '#inboxes/model.ts'
import { findInboxByAddress, findReachedInbox } from '#inboxes/store/inboxes.ts'
import { isReturnPath } from '#outbound/send/store/loop-marks.ts'
import { unquote } from '#platform/email-address.ts'
import type { Db } from '#store/tables.ts'

export type ReachedThrough = {
  /** The domain of the address may be a subdomain of a custom domain. */
  name: string
  domainId: string
}

export type Recipient =
  /** `through` is null on the service's own domain. */
  | { kind: 'inbox'; inbox: ReachedInbox; through: ReachedThrough | null }
  /** Mail to the postmaster is always accepted (RFC 5321 §4.5.1). */
  | { kind: 'postmaster' }
  /** Receives reports about sent mail. Even forged addresses of this form are accepted. */
  | { kind: 'return_path'; localPart: string }
  /** Receives complaints (RFC 2142 §4), for the inbox of this name if there is one. */
  | { kind: 'abuse'; inbox: ReachedInbox | null }
  | { kind: 'unknown_mailbox' }
  | { kind: 'foreign_domain' }

export type AcceptedRecipient = Exclude<
  Recipient,
  { kind: 'unknown_mailbox' | 'foreign_domain' }
> & {
  /** The address is spelled as the client wrote it. */
  readonly address: string
}

export type MailRecipient = Extract<AcceptedRecipient, { kind: 'inbox' | 'postmaster' }>

/** Resolves `local-part@domain`, or the bare `postmaster` of RFC 5321 §4.5.1. */
export async function findRecipient(
  deps: { db: Db; inboxDomain: string },
  address: string,
): Promise<Recipient> {
  const at = address.lastIndexOf('@')
  const localPart = unquote(at < 0 ? address : address.slice(0, at))
  const domain = at < 0 ? deps.inboxDomain : asciiDomain(address.slice(at + 1))
  const mailbox = inboxAddressOf(localPart, domain)
  const isAbuse = mailbox === `abuse@${domain}`
  const inbox = isReturnPath(localPart) ? null : await findInboxByAddress(deps.db, mailbox)
  if (inbox !== null) {
    const { domainId } = inbox
    const through = domainId === null ? null : { name: domain, domainId }
    return isAbuse ? { kind: 'abuse', inbox } : { kind: 'inbox', inbox, through }
  }
  // The domain is looked up last, because most mail is for an inbox.
  const isOwnDomain = domain === deps.inboxDomain
  const serving = isOwnDomain ? null : await findServingDomain(deps, domain)
  if (serving === null && !isOwnDomain) return { kind: 'foreign_domain' }
  if (isReturnPath(localPart)) return { kind: 'return_path', localPart }
  const isSubdomain = serving !== null && serving.domain !== domain
  const named = isSubdomain
    ? await findInboxByAddress(deps.db, inboxAddressOf(localPart, serving.domain))
    : null
  if (isAbuse) return { kind: 'abuse', inbox: named }
  if (named === null && mailbox === `postmaster@${domain}`) return { kind: 'postmaster' }
  const reached = named ?? (await findCatchAll(deps.db, serving))
  if (reached === null || serving === null) return { kind: 'unknown_mailbox' }
  return { kind: 'inbox', inbox: reached, through: { name: domain, domainId: serving.domainId } }
}

async function findCatchAll(db: Db, serving: ServingDomain | null): Promise<ReachedInbox | null> {
  if (serving === null || serving.catchAllInboxId === null) return null
  return findReachedInbox(db, serving.accountId, serving.catchAllInboxId)
}
