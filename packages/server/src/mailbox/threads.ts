// Reading threads and setting their read flag.

import type { Log } from '#platform/log.ts'
import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import { CUT_READ_LENGTH } from './cut-bodies.ts'
import type { Message } from './message.ts'
import { listThreadMessages } from './message-rows.ts'
import type { ShownThread, Thread } from './thread.ts'
import * as store from './thread-rows.ts'
import { setThreadRead } from './thread-rows.ts'
import { keepThreadSummaries } from './thread-summary-rows.ts'

type ThreadDeps = { db: Db; log: Log }

/** By their last message, newest first. */
export async function listThreads(
  deps: ThreadDeps,
  input: { accountId: string; inboxId: string; isRead: boolean | null } & Page,
): Promise<{ threads: ShownThread[]; total: number }> {
  const page = await store.listThreads(deps.db, input)
  if (page === null) throw notFound()
  keepSummaries(deps, input.accountId, page)
  return page
}

/** `not_found` when the account has no such thread. */
export async function getThread(
  deps: ThreadDeps,
  input: { accountId: string; threadId: string },
): Promise<ShownThread> {
  const shown = await store.findShownThread(deps.db, input.accountId, input.threadId)
  const [thread] = shown.threads
  if (thread === undefined) throw notFound()
  keepSummaries(deps, input.accountId, shown)
  return thread
}

/**
 * Keeps what had to be found out about threads of one inbox. Nobody waits for it, and where it cannot be
 * written it is found out again.
 */
function keepSummaries(deps: ThreadDeps, accountId: string, shown: store.ShownThreads): void {
  const { found: summaries, threads } = shown
  const [thread] = threads
  if (thread === undefined || summaries.length === 0) return
  deps.db
    .write(keepThreadSummaries, { accountId, inboxId: thread.inboxId, summaries })
    .catch((error) => deps.log.debug({ error }, 'summaries of threads were not kept'))
}

/**
 * A thread with its messages, oldest first; all of them when `limit` is null. Long bodies are read as far as
 * CUT_READ_LENGTH.
 */
export async function readThread(
  deps: { db: Db },
  input: { accountId: string; threadId: string; limit: number | null; offset: number },
): Promise<{ thread: Thread; count: number; messages: AsyncIterable<Message> }> {
  const thread = await store.findThread(deps.db, input.accountId, input.threadId)
  if (thread === null) throw notFound()
  const limit = Math.min(input.limit ?? thread.messageCount, thread.messageCount)
  const read = { ...input, limit, bodyLengthMax: CUT_READ_LENGTH }
  return { thread, count: limit, messages: listThreadMessages(deps.db, read) }
}

/** Sets the read flag; setting it twice is one. */
export async function markThread(
  deps: ThreadDeps,
  input: { accountId: string; threadId: string; isRead: boolean },
): Promise<ShownThread> {
  if ((await deps.db.write(setThreadRead, input)) === null) throw notFound()
  return getThread(deps, input)
}
