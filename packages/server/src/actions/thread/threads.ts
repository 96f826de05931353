// Reading threads and setting their read flag.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import { notFound } from '#model/problem.ts'
import type { Thread } from '#model/thread.ts'
import { listThreadMessages, type Messages } from '#store/message.ts'
import * as store from '#store/thread.ts'

/** By their last message, newest first. */
export async function listThreads(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string; isRead: boolean | null } & Page,
): Promise<{ threads: Thread[]; total: number }> {
  const page = await store.listThreads(deps.db, input)
  if (page === null) throw notFound()
  return page
}

/** `not_found` when the account has no such thread. */
export async function getThread(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; threadId: string },
): Promise<Thread> {
  const thread = await store.findThread(deps.db, input.accountId, input.threadId)
  if (thread === null) throw notFound()
  return thread
}

/** A thread with its messages, oldest first; all of them when `limit` is null. */
export async function readThread(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; threadId: string; limit: number | null; offset: number },
): Promise<{ thread: Thread; messages: Messages }> {
  const thread = await getThread(deps, input)
  const limit = Math.min(input.limit ?? thread.messageCount, thread.messageCount)
  return { thread, messages: await listThreadMessages(deps.db, { ...input, limit }) }
}

/** Sets the read flag; setting it twice is one. */
export async function markThread(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; threadId: string; isRead: boolean },
): Promise<Thread> {
  const thread = await deps.db.write('setThreadRead', input)
  if (thread === null) throw notFound()
  return thread
}
