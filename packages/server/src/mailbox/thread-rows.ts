// Threads, to and from rows.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#schema/tables.ts'
import { readCounters } from './message-rows.ts'
import type { ShownThread, Thread } from './thread.ts'
import { changeAt, changeRanges, findPageStart } from './thread-range-rows.ts'
import type { Participant } from './thread-summary.ts'
import { sumUpThreads, type ThreadSummary } from './thread-summary-rows.ts'

/** `found` are summaries that were missing: whoever shows the threads keeps them for the next time. */
export type ShownThreads = { threads: ShownThread[]; found: ThreadSummary[] }

/** Threads of an inbox by their last message, newest first; null when there is no such inbox. */
export async function listThreads(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    isRead: boolean | null
    limit: number
    offset: number
  },
): Promise<(ShownThreads & { total: number }) | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { thread_count, unread_thread_count } = counters
  const total =
    input.isRead === null
      ? thread_count
      : input.isRead
        ? thread_count - unread_thread_count
        : unread_thread_count
  if (input.offset >= total) return { threads: [], found: [], total }
  const { positionMax, skip } = await findPageStart(db, input)
  let query = db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
  if (input.isRead !== null) query = query.where('is_read', '=', input.isRead ? 1 : 0)
  if (positionMax !== null) query = query.where('last_position', '<=', positionMax)
  const rows = await query
    .orderBy('last_position', 'desc')
    .limit(input.limit)
    .offset(skip)
    .execute()
  return { ...(await toShown(db, rows)), total }
}

/** A thread of the account, or null; also null once its inbox is deleted. */
export async function findThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<Thread | null> {
  const row = await findRow(db, accountId, threadId)
  return row === undefined ? null : toThread(row)
}

/** The same with what a list shows of it, for one thread. */
export async function findShownThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<ShownThreads> {
  const row = await findRow(db, accountId, threadId)
  return toShown(db, row === undefined ? [] : [row])
}

function findRow(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<Row<'threads'> | undefined> {
  return db.read
    .selectFrom('threads')
    .innerJoin('inboxes', 'inboxes.id', 'threads.inbox_id')
    .selectAll('threads')
    .where('threads.id', '=', threadId)
    .where('threads.account_id', '=', accountId)
    .executeTakeFirst()
}

/** Sets the read flag and keeps the inbox's total of unread threads. Setting it twice is one. */
export const setThreadRead = transaction({
  name: 'setThreadRead',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; threadId: string; isRead: boolean },
  ): Promise<Thread | null> {
    const inbox = await tx.query
      .selectFrom('threads')
      .select('inbox_id')
      .where('id', '=', input.threadId)
      .where('account_id', '=', input.accountId)
      .executeTakeFirst()
    if (inbox === undefined) return null
    // The inbox's totals are locked first, as arriving mail does.
    const totals = tx.query
      .selectFrom('inbox_counters')
      .select('inbox_id')
      .where('inbox_id', '=', inbox.inbox_id)
    if ((await lockRows(tx, totals).executeTakeFirst()) === undefined) return null
    const thread = await findThread(readIn(tx), input.accountId, input.threadId)
    if (thread === null || thread.isRead === input.isRead) return thread
    const unread = input.isRead ? -1 : 1
    const { last_position } = await tx.query
      .updateTable('threads')
      .set(({ ref }) => ({ is_read: input.isRead ? 1 : 0, read_count: ref('message_count') }))
      .where('account_id', '=', input.accountId)
      .where('id', '=', thread.id)
      .returning('last_position')
      .executeTakeFirstOrThrow()
    const change = { position: last_position, threads: 0, unread }
    await changeRanges(tx, [changeAt(thread.inboxId, change)])
    await tx.query
      .updateTable('inbox_counters')
      .set((row) => ({ unread_thread_count: row('unread_thread_count', '+', unread) }))
      .where('inbox_id', '=', thread.inboxId)
      .execute()
    return { ...thread, isRead: input.isRead }
  },
})

async function toShown(db: ReadDb, rows: Row<'threads'>[]): Promise<ShownThreads> {
  const found = await sumUpThreads(db, rows)
  const threads = rows.map((row) => {
    const { participants, snippet, readCount } = found.find(
      ({ threadId }) => threadId === row.id,
    ) ?? { ...row, readCount: row.read_count }
    return {
      ...toThread(row),
      participants: JSON.parse(participants ?? '[]') as Participant[],
      snippet: snippet ?? '',
      // What follows the last message that was read has come in: an answer marks the thread as read.
      unreadCount: row.is_read === 1 ? 0 : Math.max(1, row.message_count - readCount),
    }
  })
  return { threads, found }
}

function toThread(row: Row<'threads'>): Thread {
  return {
    id: row.id,
    inboxId: row.inbox_id,
    subject: row.subject,
    isRead: row.is_read === 1,
    messageCount: row.message_count,
    lastMessageAtMs: row.last_message_at,
    createdAtMs: row.created_at,
  }
}
