// Removes threads, moves them into the trash and restores them, in steps of bounded size.

import { type SqlBool, sql } from 'kysely'
import { reportAddedThreads } from '#events/store/append.ts'
import { type ClaimToken, mayChange } from '#mailbox/claims/store/claim-token.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { DAY_MS } from '#platform/units.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'
import {
  changeCounters,
  changeLists,
  type LockedInbox,
  leavesList,
  lockInbox,
  REMOVE_STEP_MESSAGES,
  removeMessages,
  removeThreads,
} from './remove-mail.ts'

/** The time is part of the API. */
export const TRASH_MS = 30 * DAY_MS

/** The step is smaller because restored messages are indexed in the same transaction. */
const RESTORE_STEP_MESSAGES = 50

export type Refusal = 'not_found' | 'delivery_pending' | 'lease_lost'

type OfThread = { accountId: string; threadId: string; nowMs: number }

/** Without a lease, the service itself acts. */
type Leased = { lease?: ClaimToken }

function isAllowed(thread: Row<'threads'>, { lease }: Leased): boolean {
  return lease === undefined || mayChange(thread, lease)
}

/** Removes the thread with its last message. Refuses a pending message. */
export const removeMessage = transaction({
  name: 'removeMessage',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; messageId: string; nowMs: number } & Leased,
  ): Promise<Refusal | { blobIds: string[] }> {
    const find = () =>
      tx.query
        .selectFrom('messages')
        .select(['inbox_id', 'thread_id', 'status'])
        .where('id', '=', input.messageId)
        .where('account_id', '=', input.accountId)
        .executeTakeFirst()
    const found = await find()
    if (found === undefined) return 'not_found'
    const inbox = await lockInbox(tx, { ...input, inboxId: found.inbox_id })
    const message = await find()
    if (inbox === null || message === undefined) return 'not_found'
    const of = { accountId: input.accountId, threadId: message.thread_id }
    const thread = await lockRows(tx, selectThread(tx, of)).executeTakeFirst()
    if (thread !== undefined && !isAllowed(thread, input)) return 'lease_lost'
    if (message.status === 'pending') return 'delivery_pending'
    return { blobIds: await removeMessages(tx, inbox, { ...input, ids: [input.messageId] }) }
  },
})

/** `moving` is null when the move is complete. */
export type ThreadMove = { moving: { trashedAtMs: number | null } | null }

export const trashThread = transaction({
  name: 'trashThread',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: OfThread & Leased): Promise<Refusal | ThreadMove> {
    const found = await lockThread(tx, input)
    if (found === null) return 'not_found'
    const { inbox, thread } = found
    if (!isAllowed(thread, input)) return 'lease_lost'
    if (thread.trashed_at !== null) return moveOf(thread)
    if (await isSending(tx, thread.id)) return 'delivery_pending'
    return move(tx, inbox, { thread, trashedAtMs: input.nowMs })
  },
})

/** Emits no event for clients, but wakes claims that wait for the thread. */
export const restoreThread = transaction({
  name: 'restoreThread',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: OfThread & { eventId: string } & Leased,
  ): Promise<'not_found' | 'lease_lost' | ThreadMove> {
    const found = await lockThread(tx, input)
    if (found === null) return 'not_found'
    const { inbox, thread } = found
    if (!isAllowed(thread, input)) return 'lease_lost'
    if (thread.trashed_at === null) return moveOf(thread)
    await reportAddedThreads(tx, { ...input, id: input.eventId, inboxId: thread.inbox_id })
    return move(tx, inbox, { thread, trashedAtMs: null })
  },
})

function moveOf(thread: Row<'threads'>): ThreadMove {
  return { moving: thread.is_moving === 1 ? { trashedAtMs: thread.trashed_at } : null }
}

/** Also removes a thread from the trash, as far as one transaction reaches. */
export const removeThread = transaction({
  name: 'removeThread',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: OfThread & Leased,
  ): Promise<Refusal | { isDone: boolean; blobIds: string[] }> {
    const found = await lockThread(tx, input)
    if (found === null) return 'not_found'
    const { inbox, thread } = found
    if (!isAllowed(thread, input)) return 'lease_lost'
    if (await isSending(tx, thread.id)) return 'delivery_pending'
    return removeSome(tx, inbox, { threads: [thread], nowMs: input.nowMs })
  },
})

/** `isDone` is true once nothing of the thread remains. */
export const removeThreadStep = transaction({
  name: 'removeThreadStep',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: OfThread): Promise<{ isDone: boolean; blobIds: string[] }> {
    const found = await lockAnyThread(tx, input)
    if (found === null || found.thread.trashed_at !== 0) return { isDone: true, blobIds: [] }
    return removeSome(tx, found.inbox, { threads: [found.thread], nowMs: input.nowMs })
  },
})

/** Locks the inbox first. Returns null even during removal. */
async function lockThread(
  tx: Tx,
  of: Omit<OfThread, 'nowMs'>,
): Promise<{ inbox: LockedInbox; thread: Row<'threads'> } | null> {
  const found = await lockAnyThread(tx, of)
  if (found === null || found.thread.trashed_at === 0) return null
  return found
}

async function lockAnyThread(
  tx: Tx,
  { accountId, threadId }: Omit<OfThread, 'nowMs'>,
): Promise<{ inbox: LockedInbox; thread: Row<'threads'> } | null> {
  const found = selectThread(tx, { accountId, threadId })
  const row = await found.executeTakeFirst()
  if (row === undefined) return null
  const inbox = await lockInbox(tx, { accountId, inboxId: row.inbox_id })
  // Claims lock the thread alone.
  const thread = await lockRows(tx, found).executeTakeFirst()
  return inbox === null || thread === undefined ? null : { inbox, thread }
}

function selectThread(tx: Tx, { accountId, threadId }: Omit<OfThread, 'nowMs'>) {
  return tx.query
    .selectFrom('threads')
    .selectAll()
    .where('id', '=', threadId)
    .where('account_id', '=', accountId)
}

/** Sends that are held or scheduled are included. */
async function isSending(tx: Tx, threadId: string): Promise<boolean> {
  const pending = await tx.query
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('status', '=', 'pending')
    .limit(1)
    .executeTakeFirst()
  return pending !== undefined
}

async function move(
  tx: Tx,
  inbox: LockedInbox,
  { thread, trashedAtMs }: { thread: Row<'threads'>; trashedAtMs: number | null },
): Promise<ThreadMove> {
  const unread = 1 - thread.is_read
  const isTrashed = trashedAtMs !== null
  await tx.query
    .updateTable('threads')
    .set({ trashed_at: trashedAtMs, is_moving: 1 })
    .where('id', '=', thread.id)
    .execute()
  if (thread.facet_count > 0) {
    await tx.query
      .updateTable('thread_facets')
      .set({ is_trashed: isTrashed ? 1 : 0 })
      .where('thread_id', '=', thread.id)
      .execute()
  }
  const by = isTrashed ? 1 : -1
  await changeCounters(tx, inbox, {
    thread_count: -by,
    unread_thread_count: -by * unread,
    trashed_thread_count: by,
    trashed_unread_count: by * unread,
  })
  const { after } = await moveSome(tx, inbox, { threadId: thread.id, isTrashed, after: null })
  return { moving: after === null ? null : { trashedAtMs } }
}

type Moment = Pick<Row<'messages'>, 'created_at' | 'id'>

/** `after` is null once all messages are moved. */
async function moveSome(
  tx: Tx,
  inbox: LockedInbox,
  { threadId, isTrashed, after }: { threadId: string; isTrashed: boolean; after: Moment | null },
): Promise<{ after: Moment | null }> {
  const limit = isTrashed ? REMOVE_STEP_MESSAGES : RESTORE_STEP_MESSAGES
  const is_trashed = isTrashed ? 1 : 0
  let query = tx.query
    .selectFrom('messages')
    .select(['id', 'created_at', 'direction', 'arrival', 'is_trashed'])
    .where('thread_id', '=', threadId)
  if (after !== null) {
    query = query.where(sql<SqlBool>`(created_at, id) > (${after.created_at}, ${after.id})`)
  }
  const next = await query.orderBy('created_at').orderBy('id').limit(limit).execute()
  const messages = next.filter((message) => message.is_trashed !== is_trashed)
  if (messages.length > 0) {
    const ids = messages.map(({ id }) => id)
    await tx.query.updateTable('messages').set({ is_trashed }).where('id', 'in', ids).execute()
    await tx.query
      .updateTable('message_labels')
      .set({ is_trashed })
      .where('message_id', 'in', ids)
      .execute()
    const changes = await changeLists(tx, inbox, { messages, isBack: !isTrashed })
    await changeCounters(tx, inbox, changes)
  }
  const last = next.at(-1)
  if (next.length === limit && last !== undefined) {
    return { after: { created_at: last.created_at, id: last.id } }
  }
  await tx.query.updateTable('threads').set({ is_moving: 0 }).where('id', '=', threadId).execute()
  return { after: null }
}

/** `after` is null when the move is complete, or was replaced by a later one. */
export const moveThreadStep = transaction({
  name: 'moveThreadStep',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: {
      accountId: string
      threadId: string
      trashedAtMs: number | null
      after: Moment | null
    },
  ): Promise<{ after: Moment | null }> {
    const found = await lockThread(tx, input)
    if (found === null || found.thread.trashed_at !== input.trashedAtMs) return { after: null }
    return moveSome(tx, found.inbox, { ...input, isTrashed: input.trashedAtMs !== null })
  },
})

export async function findMovingThread(
  db: ReadDb,
): Promise<{ accountId: string; threadId: string; trashedAtMs: number | null } | null> {
  const row = await db.read
    .selectFrom('threads')
    .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'threads.inbox_id')
    .select([
      'threads.account_id as accountId',
      'threads.id as threadId',
      'threads.trashed_at as trashedAtMs',
    ])
    .where('threads.is_moving', '=', 1)
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

const TRASH_STEP_THREADS = 100

/** Removes expired threads and finishes interrupted removals. Must be called until it is done. */
export const purgeTrashStep = transaction({
  name: 'purgeTrashStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { untilMs, nowMs }: { untilMs: number; nowMs: number },
  ): Promise<{ isDone: boolean; blobIds: string[] }> {
    const expired = tx.query
      .selectFrom('threads')
      .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'threads.inbox_id')
      .where('threads.trashed_at', '<=', untilMs)
    const first = await expired
      .select(['threads.account_id', 'threads.inbox_id'])
      .orderBy('threads.trashed_at')
      .limit(1)
      .executeTakeFirst()
    if (first === undefined) return { isDone: true, blobIds: [] }
    const { account_id: accountId, inbox_id: inboxId } = first
    const inbox = await lockInbox(tx, { accountId, inboxId })
    if (inbox === null) return { isDone: false, blobIds: [] }
    const threads = await expired
      .selectAll('threads')
      .where('threads.inbox_id', '=', inboxId)
      .orderBy('threads.trashed_at')
      .limit(TRASH_STEP_THREADS)
      .execute()
    // The threads were restored or removed while this transaction waited for the inbox.
    if (threads.length === 0) return { isDone: false, blobIds: [] }
    const { blobIds } = await removeSome(tx, inbox, { threads, nowMs })
    return { isDone: false, blobIds }
  },
})

/** Unlists the threads, and removes their first REMOVE_STEP_MESSAGES messages. */
async function removeSome(
  tx: Tx,
  inbox: LockedInbox,
  { threads, nowMs }: { threads: readonly Row<'threads'>[]; nowMs: number },
): Promise<{ isDone: boolean; blobIds: string[] }> {
  const ids = threads.map(({ id }) => id)
  const listed = threads.filter(({ trashed_at }) => trashed_at !== 0)
  if (listed.length > 0) {
    await tx.query
      .updateTable('threads')
      .set({ trashed_at: 0, is_moving: 0 })
      .where('id', 'in', ids)
      .execute()
    await tx.query.deleteFrom('thread_facets').where('thread_id', 'in', ids).execute()
    await changeCounters(tx, inbox, leavesList(listed))
  }
  const messages = await tx.query
    .selectFrom('messages')
    .select(['id', 'thread_id'])
    .where('thread_id', 'in', ids)
    .limit(REMOVE_STEP_MESSAGES)
    .execute()
  const blobIds = await removeMessages(tx, inbox, { ids: messages.map(({ id }) => id), nowMs })
  const isDone = messages.length < REMOVE_STEP_MESSAGES
  if (isDone) await removeThreads(tx, inbox, { ids, nowMs })
  return { isDone, blobIds }
}
