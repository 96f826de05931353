import { LABELS_MAX, METADATA_KEYS_MAX } from '@mailroom/contract/labels.ts'
import { EXPIRED_STEP, expireClaims, hasDueClaim } from '#mailbox/claims/store/claims.ts'
import type { LabelChange } from '#mailbox/labels/store/facets.ts'
import { CUT_READ_LENGTH } from '#mailbox/messages/present-message.ts'
import {
  findMessage,
  findMessagesOf,
  listThreadMessages,
  type Message,
  readCounters,
} from '#mailbox/messages/store/messages.ts'
import { type Filtered, filterMessages, filterThreads } from '#mailbox/store/filters.ts'
import {
  type ChangeOutcome,
  changeMessageLabels,
  changeThread,
  type ThreadChange,
} from '#mailbox/threads/store/change-threads.ts'
import {
  findShownThread,
  findShownThreads,
  findThread,
  type ShownThread,
  type Thread,
  type ThreadKey,
} from '#mailbox/threads/store/threads.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

type FilterDeps = { db: Db; searchSlots: Semaphore }

/** Runs for a few seconds at most. Throws `service_unavailable` if too many searches wait. */
export async function filterMessagesOf(
  { db, searchSlots }: FilterDeps,
  input: Parameters<typeof filterMessages.run>[1],
  signal: AbortSignal,
): Promise<{ messages: AsyncIterable<Message> } & Counted> {
  const { accountId } = input
  await requireInbox(db, input)
  const { ids: messageIds, ...counted } = await searchSlots.run({ key: accountId, signal }, () =>
    db.readLong(filterMessages, input, signal),
  )
  const found = { accountId, messageIds, bodyLengthMax: CUT_READ_LENGTH }
  return { messages: await findMessagesOf(db, found), ...counted }
}

type Counted = Omit<Filtered, 'ids'>

async function requireInbox(
  db: Db,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<void> {
  if ((await readCounters(db, accountId, inboxId)) === null) throw notFound()
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

export async function filterThreadsOf(
  { db, searchSlots }: FilterDeps,
  input: Parameters<typeof filterThreads.run>[1],
  signal: AbortSignal,
): Promise<{ threads: ShownThread[] } & Counted> {
  const { accountId } = input
  await requireInbox(db, input)
  const { ids: threadIds, ...counted } = await searchSlots.run({ key: accountId, signal }, () =>
    db.readLong(filterThreads, input, signal),
  )
  return { threads: await findShownThreads(db, { accountId, threadIds }), ...counted }
}

export async function getThread(
  { db }: { db: Db },
  { accountId, threadId }: ThreadKey,
): Promise<ShownThread> {
  const thread = await findShownThread(db, accountId, threadId)
  if (thread === null) throw notFound()
  return thread
}

/** Lists messages oldest first, all if `limit` is null. Bodies are cut at CUT_READ_LENGTH. */
export async function readThread(
  { db }: { db: Db },
  input: ThreadKey & { limit: number | null; offset: number },
): Promise<{ thread: Thread; count: number; messages: AsyncIterable<Message> }> {
  const thread = await findThread(db, input.accountId, input.threadId)
  if (thread === null) throw notFound()
  const limit = Math.min(input.limit ?? thread.messageCount, thread.messageCount)
  const read = { ...input, limit, bodyLengthMax: CUT_READ_LENGTH }
  return { thread, count: limit, messages: listThreadMessages(db, read) }
}

export function claimWork(deps: ChangeDeps): FeatureWork {
  const run = () => expireDueClaims(deps)
  return { tasks: [{ name: 'thread claims', everyMs: SECOND_MS, by: 'leader', run }] }
}

/** Returns true if more claims may be due. */
async function expireDueClaims(deps: ChangeDeps): Promise<boolean> {
  const { db, queueClock } = deps
  await queueClock.check()
  const queueMs = queueClock.now()
  if (!(await hasDueClaim(db, queueMs))) return false
  const eventIds = Array.from({ length: EXPIRED_STEP }, () => deps.makeId('evt'))
  const ended = await db.write(expireClaims, { eventIds, queueMs, nowMs: deps.clock.now() })
  if (ended > 0) deps.wakeEvents()
  return ended === EXPIRED_STEP
}

type ChangeDeps = Store & { queueClock: QueueClock }

/**
 * Idempotent. Throws `not_found`, `lease_lost`, `label_limit_reached`, `metadata_limit_reached`.
 */
export async function updateThread(
  deps: ChangeDeps,
  input: ThreadKey & { change: ThreadChange; tokenHash: Uint8Array | null },
): Promise<ShownThread> {
  const { accountId, threadId, change, tokenHash } = input
  const outcome = await deps.db.write(changeThread, {
    accountId,
    threadId,
    change,
    claim: { tokenHash, queueMs: deps.queueClock.now() },
    eventId: deps.makeId('evt'),
    nowMs: deps.clock.now(),
  })
  requireChanged(outcome)
  deps.wakeEvents()
  return getThread(deps, { accountId, threadId })
}

/** Throws `not_found`, `lease_lost` or `label_limit_reached`. The update is idempotent. */
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
  const claim = { tokenHash, queueMs: deps.queueClock.now() }
  requireChanged(await deps.db.write(changeMessageLabels, { accountId, messageId, change, claim }))
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
