import { inboxAddressOf, type ReachedInbox, unquote } from './inbox.ts'
import { findInboxByAddress } from './inbox-rows.ts'
// Reading inboxes.

import { findPod } from '#accounts/pod-rows.ts'
import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { ShownInbox } from './inbox.ts'
import * as store from './inbox-rows.ts'

/** Newest first; of one pod when `pod` (id or `clientId`) is given, none when it is unknown. */
export async function listInboxes(
  deps: { db: Db },
  input: { accountId: string; pod: string | null } & Page,
): Promise<{ inboxes: ShownInbox[]; total: number }> {
  const { pod: name, ...rest } = input
  if (name === null) return store.listInboxes(deps.db, { ...rest, podId: null })
  const pod = await findPod(deps.db, input.accountId, name)
  if (pod === null) return { inboxes: [], total: 0 }
  return store.listInboxes(deps.db, { ...rest, podId: pod.id })
}

/** `not_found` when the account has no such inbox. */
export async function getInbox(
  deps: { db: Db },
  input: { accountId: string; inboxId: string },
): Promise<ShownInbox> {
  const inbox = await store.findShownInbox(deps.db, input.accountId, input.inboxId)
  if (inbox === null) throw notFound()
  return inbox
}

/** The account's inbox that mail to `address` reaches, or null. */
export async function findOwnInbox(
  deps: { db: Db },
  accountId: string,
  address: string,
): Promise<ReachedInbox | null> {
  const at = address.lastIndexOf('@')
  const mailbox = inboxAddressOf(unquote(address.slice(0, at)), address.slice(at + 1))
  const inbox = await findInboxByAddress(deps.db, mailbox)
  return inbox?.accountId === accountId ? inbox : null
}
