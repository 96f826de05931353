import { asciiDomain } from '@mailroom/mail/address.ts'
import { findServedDomain } from '#domains/domains-rows.ts'
import { inboxAddressOf, type ReachedInbox, unquote } from '#inboxes/inboxes.ts'
import { findInboxByAddress } from '#inboxes/inboxes-rows.ts'
import { isReturnPath } from '#outbound/outbound.ts'
import type { Db } from '#schema/tables.ts'

export type Recipient =
  | { kind: 'inbox'; inbox: ReachedInbox }
  /** RFC 5321 §4.5.1: always accepted. */
  | { kind: 'postmaster' }
  /** For reports about sent mail. Any address of this form is accepted, forged or not. */
  | { kind: 'return_path'; localPart: string }
  /** For complaints (RFC 2142 §4); with the inbox of this name, where there is one. */
  | { kind: 'abuse'; inbox: ReachedInbox | null }
  | { kind: 'unknown_mailbox' }
  | { kind: 'foreign_domain' }

export type AcceptedRecipient = Exclude<
  Recipient,
  { kind: 'unknown_mailbox' | 'foreign_domain' }
> & {
  /** In the client's spelling. */
  readonly address: string
}

/** A recipient that gets the message as mail, not as a report. */
export type MailRecipient = Extract<AcceptedRecipient, { kind: 'inbox' | 'postmaster' }>

/** Where mail for `local-part@domain`, or for the bare `postmaster` of RFC 5321 §4.5.1, goes. */
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
  // Looked up last: most mail is for an inbox, whose address has the domain.
  if (domain !== deps.inboxDomain && (await findServedDomain(deps.db, domain)) === null) {
    return { kind: 'foreign_domain' }
  }
  if (isReturnPath(localPart)) return { kind: 'return_path', localPart }
  if (isAbuse) return { kind: 'abuse', inbox }
  return mailbox === `postmaster@${domain}` ? { kind: 'postmaster' } : { kind: 'unknown_mailbox' }
}
