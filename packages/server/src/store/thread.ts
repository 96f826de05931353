// Threads, to and from rows.

import { lockRows } from '#db/dialect.ts'
import type { Thread } from '#model/thread.ts'
import { readCounters } from './message.ts'
import { type ReadDb, type Row, readIn, type Tx } from './tables.ts'
import { countInRange, findPageStart } from './thread-range.ts'

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
): Promise<{ threads: Thread[]; total: number } | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { thread_count, unread_thread_count } = counters
  const total =
    input.isRead === null
      ? thread_count
      : input.isRead
        ? thread_count - unread_thread_count
        : unread_thread_count
  if (input.offset >= total) return { threads: [], total }
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
  return { threads: rows.map(toThread), total }
}

/** A thread of the account, or null; also null once its inbox is deleted. */
export async function findThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<Thread | null> {
  const row = await db.read
    .selectFrom('threads')
    .innerJoin('inboxes', 'inboxes.id', 'threads.inbox_id')
    .selectAll('threads')
    .where('threads.id', '=', threadId)
    .where('threads.account_id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : toThread(row)
}

/** Sets the read flag and keeps the inbox's total of unread threads. Setting it twice is one. */
export async function setThreadRead(
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
    .set({ is_read: input.isRead ? 1 : 0 })
    .where('account_id', '=', input.accountId)
    .where('id', '=', thread.id)
    .returning('last_position')
    .executeTakeFirstOrThrow()
  await countInRange(tx, { inboxId: thread.inboxId, position: last_position, threads: 0, unread })
  await tx.query
    .updateTable('inbox_counters')
    .set((row) => ({ unread_thread_count: row('unread_thread_count', '+', unread) }))
    .where('inbox_id', '=', thread.inboxId)
    .execute()
  return { ...thread, isRead: input.isRead }
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
