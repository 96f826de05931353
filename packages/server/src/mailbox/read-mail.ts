// Reads and changes messages and threads.

import { LABELS_MAX, METADATA_KEYS_MAX } from '@mailroom/contract/labels.ts'
import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db, Page } from '#schema/tables.ts'
import {
  type ChangeOutcome,
  changeMessageLabels,
  changeThread,
  type ThreadChange,
} from './change-thread-rows.ts'
import {
  type Direction,
  findMessage,
  listMessages as listMessageRows,
  listThreadMessages,
  type Message,
} from './message-rows.ts'
import { CUT_READ_LENGTH } from './present-message.ts'
import type { LabelChange } from './thread-mark.ts'
import {
  findShownThread,
  findThread,
  listThreads as listThreadRows,
  type ShownThread,
  type ShownThreads,
  type Thread,
} from './thread-rows.ts'
import { keepThreadSummaries } from './thread-summary-rows.ts'

type ThreadDeps = { db: Db; log: Log }

/** Newest first, over all threads of the inbox; long bodies are read as far as CUT_READ_LENGTH. */
export async function listMessages(
  { db }: { db: Db },
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    category: MessageCategory | null
    labels: readonly string[]
  } & Page,
): Promise<{ messages: AsyncIterable<Message>; total: number }> {
  const page = await listMessageRows(db, { ...input, bodyLengthMax: CUT_READ_LENGTH })
  if (page === null) throw notFound()
  return page
}

/** `beforeLong` is awaited before a long body is read. */
export async function getMessage(
  { db }: { db: Db },
  input: { accountId: string; messageId: string; beforeLong?: () => Promise<void> },
): Promise<Message> {
  const { accountId, messageId, beforeLong: before } = input
  const message = await findMessage(db, accountId, messageId, { before })
  if (message === null) throw notFound()
  return message
}

/** By their last message, newest first. */
export async function listThreads(
  deps: ThreadDeps,
  input: {
    accountId: string
    inboxId: string
    isRead: boolean | null
    category: MessageCategory | null
    isTrashed: boolean
    marks: readonly string[]
    isSnoozed: boolean | null
    nowMs: number
  } & Page,
): Promise<{ threads: ShownThread[]; total: number }> {
  const page = await listThreadRows(deps.db, input)
  if (page === null) throw notFound()
  keepSummaries(deps, input.accountId, page)
  return page
}

export async function getThread(
  deps: ThreadDeps,
  { accountId, threadId }: { accountId: string; threadId: string },
): Promise<ShownThread> {
  const shown = await findShownThread(deps.db, accountId, threadId)
  const [thread] = shown.threads
  if (thread === undefined) throw notFound()
  keepSummaries(deps, accountId, shown)
  return thread
}

/** Nobody waits for the write: a summary that is lost is made again when the thread is next shown. */
function keepSummaries(
  { db, log }: ThreadDeps,
  accountId: string,
  { found: summaries, threads }: ShownThreads,
): void {
  const [thread] = threads
  if (thread === undefined || summaries.length === 0) return
  db.write(keepThreadSummaries, { accountId, inboxId: thread.inboxId, summaries }).catch((error) =>
    log.debug({ error }, 'summaries of threads were not kept'),
  )
}

/**
 * A thread with its messages, oldest first; all of them when `limit` is null. Long bodies are read as far as
 * CUT_READ_LENGTH.
 */
export async function readThread(
  { db }: { db: Db },
  input: { accountId: string; threadId: string; limit: number | null; offset: number },
): Promise<{ thread: Thread; count: number; messages: AsyncIterable<Message> }> {
  const thread = await findThread(db, input.accountId, input.threadId)
  if (thread === null) throw notFound()
  const limit = Math.min(input.limit ?? thread.messageCount, thread.messageCount)
  const read = { ...input, thread: thread.extent, limit, bodyLengthMax: CUT_READ_LENGTH }
  return { thread, count: limit, messages: listThreadMessages(db, read) }
}

type ChangeDeps = ThreadDeps & {
  clock: Clock
  queueClock: QueueClock
  makeId: MakeId
  wakeEvents: () => void
}

/** `not_found`, `lease_lost`, `label_limit_reached`, `metadata_limit_reached`. The same again changes nothing. */
export async function updateThread(
  deps: ChangeDeps,
  input: {
    accountId: string
    threadId: string
    change: ThreadChange
    tokenHash: Uint8Array | null
  },
): Promise<ShownThread> {
  const { accountId, threadId, change, tokenHash } = input
  const outcome = await deps.db.write(changeThread, {
    accountId,
    threadId,
    change,
    lease: { tokenHash, queueMs: deps.queueClock.now() },
    eventId: deps.makeId('evt'),
    nowMs: deps.clock.now(),
  })
  requireChanged(outcome)
  deps.wakeEvents()
  return getThread(deps, { accountId, threadId })
}

/** `not_found`, `lease_lost`, `label_limit_reached`. The same again changes nothing. */
export async function updateMessage(
  deps: ChangeDeps,
  input: {
    accountId: string
    messageId: string
    change: LabelChange
    tokenHash: Uint8Array | null
  },
): Promise<Message> {
  const { accountId, messageId, change, tokenHash } = input
  const lease = { tokenHash, queueMs: deps.queueClock.now() }
  requireChanged(await deps.db.write(changeMessageLabels, { accountId, messageId, change, lease }))
  return getMessage(deps, { accountId, messageId })
}

function requireChanged({ kind }: ChangeOutcome): void {
  switch (kind) {
    case 'changed':
      return
    case 'not_found':
      throw notFound()
    case 'lease_lost':
      throw problem('lease_lost')
    case 'label_limit_reached':
      throw problem('label_limit_reached', `At most ${LABELS_MAX} labels are allowed.`)
    case 'metadata_limit_reached':
      throw problem(
        'metadata_limit_reached',
        `At most ${METADATA_KEYS_MAX} keys of metadata are allowed.`,
      )
  }
}
