// Reading inboxes.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { ShownInbox } from '#model/inbox.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/inbox.ts'
import { findPod } from '#store/pod.ts'

/** Newest first; of one pod when `pod` (id or `clientId`) is given, none when it is unknown. */
export async function listInboxes(
  deps: Pick<Deps, 'db'>,
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
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string },
): Promise<ShownInbox> {
  const inbox = await store.findShownInbox(deps.db, input.accountId, input.inboxId)
  if (inbox === null) throw notFound()
  return inbox
}
