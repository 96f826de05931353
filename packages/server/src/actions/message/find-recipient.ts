// Where mail for an address goes: an inbox, the postmaster, or nowhere.

import type { Deps } from '#actions/deps.ts'
import { asciiDomain, type Inbox, inboxAddressOf } from '#model/inbox.ts'
import { findInboxByAddress } from '#store/inbox.ts'

export type Recipient =
  | { kind: 'inbox'; inbox: Inbox }
  /** RFC 5321 §4.5.1: always accepted. */
  | { kind: 'postmaster' }
  | { kind: 'unknown_mailbox' }
  | { kind: 'foreign_domain' }

/** `address` is `local-part@domain`, or the bare `postmaster` of RFC 5321 §4.5.1. */
export async function findRecipient(
  deps: Pick<Deps, 'db' | 'inboxDomain'>,
  address: string,
): Promise<Recipient> {
  const at = address.lastIndexOf('@')
  const localPart = at < 0 ? address : address.slice(0, at)
  const domain = at < 0 ? deps.inboxDomain : asciiDomain(address.slice(at + 1))
  const mailbox = inboxAddressOf(unquote(localPart), domain)
  const inbox = await findInboxByAddress(deps.db, mailbox)
  if (inbox !== null) return { kind: 'inbox', inbox }
  if (domain !== deps.inboxDomain) return { kind: 'foreign_domain' }
  return mailbox === `postmaster@${domain}` ? { kind: 'postmaster' } : { kind: 'unknown_mailbox' }
}

/** RFC 5321 §4.1.2: `"name"` and `name` are the same local part. */
function unquote(localPart: string): string {
  if (!localPart.startsWith('"') || !localPart.endsWith('"')) return localPart
  return localPart.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** The account's inbox that mail to `address` reaches, or null. */
export async function findOwnInbox(
  deps: Pick<Deps, 'db'>,
  accountId: string,
  address: string,
): Promise<Inbox | null> {
  const at = address.lastIndexOf('@')
  const mailbox = inboxAddressOf(unquote(address.slice(0, at)), address.slice(at + 1))
  const inbox = await findInboxByAddress(deps.db, mailbox)
  return inbox?.accountId === accountId ? inbox : null
}
