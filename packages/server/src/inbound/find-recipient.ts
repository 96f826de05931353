// Where mail for an address goes: an inbox, the postmaster, or nowhere.

import { asciiDomain } from '@mailroom/mail/address.ts'
import { findServedDomain } from '#domains/domain-rows.ts'
import { inboxAddressOf, type ReachedInbox, unquote } from '#inboxes/inbox.ts'
import { findInboxByAddress } from '#inboxes/inbox-rows.ts'
import { isReturnPath } from '#outbound/return-path.ts'
import type { Db } from '#schema/tables.ts'

export type Recipient =
  | { kind: 'inbox'; inbox: ReachedInbox }
  /** RFC 5321 §4.5.1: always accepted. */
  | { kind: 'postmaster' }
  /** Where reports about sent mail come to; forged ones too, whoever writes there. */
  | { kind: 'return_path'; localPart: string }
  /** RFC 2142 §4, where complaints come to; with the inbox of this name, where there is one. */
  | { kind: 'abuse'; inbox: ReachedInbox | null }
  | { kind: 'unknown_mailbox' }
  | { kind: 'foreign_domain' }

export type AcceptedRecipient = Exclude<
  Recipient,
  { kind: 'unknown_mailbox' | 'foreign_domain' }
> & {
  /** As the client wrote it. */
  readonly address: string
}

/** Gets what arrives as mail. */
export type MailRecipient = Extract<AcceptedRecipient, { kind: 'inbox' | 'postmaster' }> & {
  /** Of an address for reports, which this mail is none of. */
  readonly takesReports?: true
}

/** `address` is `local-part@domain`, or the bare `postmaster` of RFC 5321 §4.5.1. */
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
  if (inbox !== null) return { kind: isAbuse ? 'abuse' : 'inbox', inbox }
  // Looked for only now: most mail is for an inbox, whose address tells the domain.
  if (domain !== deps.inboxDomain && (await findServedDomain(deps.db, domain)) === null) {
    return { kind: 'foreign_domain' }
  }
  if (isReturnPath(localPart)) return { kind: 'return_path', localPart }
  if (isAbuse) return { kind: 'abuse', inbox }
  return mailbox === `postmaster@${domain}` ? { kind: 'postmaster' } : { kind: 'unknown_mailbox' }
}
