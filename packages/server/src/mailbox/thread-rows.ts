// Threads, to and from rows: the messages of one inbox that answer each other, with a read flag.

import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import type { ExpressionBuilder } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type ReadDb, type Row, readIn, type Tables, type Tx } from '#schema/tables.ts'
import { CANCELLED, countUpTo, findMessage, type Message, readCounters } from './message-rows.ts'
import { changeAt, changeRanges, findPageStart } from './thread-range-rows.ts'
import { type Participant, sumUpThreads, type ThreadSummary } from './thread-summary-rows.ts'

export type Thread = {
  id: string
  inboxId: string
  subject: string
  isRead: boolean
  messageCount: number
  /** Of the newest received message. */
  category: MessageCategory | null
  lastMessageAtMs: number
  createdAtMs: number
}

export type ShownThread = Thread & {
  /** The last writer comes first. */
  participants: Participant[]
  snippet: string
  unreadCount: number
}

export type ShownThreads = {
  threads: ShownThread[]
  /** Summaries that the rows lacked, for `keepThreadSummaries`. */
  found: ThreadSummary[]
}

/** Sorted by their last message, newest first; null when the account has no such inbox. */
export async function listThreads(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    isRead: boolean | null
    category?: MessageCategory | null
    limit: number
    offset: number
  },
): Promise<(ShownThreads & { total: number }) | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { category = null } = input
  if (category !== null) {
    const { rows, total } = await selectOfCategory(db, { ...input, category })
    return { ...(await toShown(db, rows)), total }
  }
  const { thread_count, unread_thread_count } = counters
  const total =
    input.isRead === null
      ? thread_count
      : input.isRead
        ? thread_count - unread_thread_count
        : unread_thread_count
  if (input.offset >= total) return { threads: [], found: [], total }
  const { positionMax, skip } = await findPageStart(db, input)
  let inList = db.read.selectFrom('threads').where('inbox_id', '=', input.inboxId)
  if (input.isRead !== null) inList = inList.where('is_read', '=', input.isRead ? 1 : 0)
  inList = inList.orderBy('last_position', 'desc')
  let skipped = inList.select('last_position')
  if (positionMax !== null) skipped = skipped.where('last_position', '<=', positionMax)
  let page = inList.selectAll().where('account_id', '=', input.accountId)
  // The index alone has what is skipped; in the page's own query each row would be read.
  if (skip > 0) page = page.where('last_position', '<=', skipped.limit(1).offset(skip))
  else if (positionMax !== null) page = page.where('last_position', '<=', positionMax)
  const rows = await page.limit(input.limit).execute()
  return { ...(await toShown(db, rows)), total }
}

/** By the index of categories: it alone has what is counted and skipped. */
async function selectOfCategory(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    isRead: boolean | null
    category: MessageCategory
    limit: number
    offset: number
  },
): Promise<{ rows: Row<'threads'>[]; total: number }> {
  let inList = db.read
    .selectFrom('threads')
    .where('inbox_id', '=', input.inboxId)
    .where('category', '=', input.category)
  if (input.isRead !== null) inList = inList.where('is_read', '=', input.isRead ? 1 : 0)
  const total = await countUpTo(db, inList.select('last_position'))
  const places = inList.select('last_position').orderBy('last_position', 'desc')
  const rows = await db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('last_position', 'in', (query) =>
      query
        .selectFrom(places.limit(input.limit).offset(input.offset).as('page'))
        .select('page.last_position'),
    )
    .orderBy('last_position', 'desc')
    .execute()
  return { rows, total }
}

/** Null also once the inbox is deleted. */
export async function findThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<Thread | null> {
  const row = await findRow(db, accountId, threadId)
  return row === undefined ? null : toThread(row)
}

/** The existing threads among these, newest first. */
export async function findShownThreads(
  db: ReadDb,
  { accountId, threadIds }: { accountId: string; threadIds: readonly string[] },
): Promise<ShownThreads> {
  if (threadIds.length === 0) return { threads: [], found: [] }
  const rows = await db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', threadIds)
    .orderBy('last_position', 'desc')
    .execute()
  return toShown(db, rows)
}

/** One thread or, where there is no such thread, none. */
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

/** Sets the read flag and keeps the inbox's total of unread threads. */
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
    // The inbox's totals are locked first, as by arriving mail.
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
    const summary = found.find(({ threadId }) => threadId === row.id)
    const { participants, snippet } = summary ?? row
    const readCount = summary?.readCount ?? row.read_count
    return {
      ...toThread(row),
      participants: JSON.parse(participants ?? '[]') as Participant[],
      snippet: snippet ?? '',
      // Every message after the last read one is inbound, because a reply marks the thread as read.
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
    category: row.category as MessageCategory | null,
    lastMessageAtMs: row.last_message_at,
    createdAtMs: row.created_at,
  }
}

/** Messages at the beginning of a thread that `findCopiedFrom` searches. */
const THREAD_COPIES_SEARCHED_MAX = 1_000

type Place = { accountId: string; threadId: string }

/** Not what was held, cancelled, rejected or waits: nobody has it, and a quote of it would send it. */
const isCorrespondence = (row: ExpressionBuilder<Tables, 'messages'>) =>
  row.or([
    row('messages.direction', '=', 'inbound'),
    row.and([
      row.or([
        row('messages.failure_reason', 'is', null),
        row('messages.failure_reason', '!=', CANCELLED),
      ]),
      row.exists(
        row
          .selectFrom('deliveries')
          .select('deliveries.id')
          .whereRef('deliveries.message_id', '=', 'messages.id'),
      ),
    ]),
  ])

/** The newest message of the thread that was received or queued; null without one. */
export async function findLastMessage(
  db: ReadDb,
  { accountId, threadId }: Place,
): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where(isCorrespondence)
    .orderBy('thread_position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : findMessage(db, accountId, row.id)
}

/**
 * Message-IDs of the thread, oldest first: one for each message, so that the last is the newest message's even
 * when an earlier message has the same. Of more than `octetsMax` octets only the first and the newest are returned.
 */
export async function listThreadIds(
  db: ReadDb,
  { accountId, threadId, octetsMax }: Place & { readonly octetsMax: number },
): Promise<string[]> {
  const inThread = db.read
    .selectFrom('messages')
    .select(['rfc_message_id', 'thread_position'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where(isCorrespondence)
  const ids: (string | null)[] = []
  let octets = 0
  let before = Number.MAX_SAFE_INTEGER
  for (let page = 0; page < PAGES_MAX && octets <= octetsMax && before !== 1; page++) {
    const rows = await inThread
      .where('thread_position', '<', before)
      .orderBy('thread_position', 'desc')
      .limit(PAGE_MESSAGES)
      .execute()
    for (const { rfc_message_id: id } of rows) {
      ids.push(id)
      octets += id?.length ?? 0
    }
    before = rows.length < PAGE_MESSAGES ? 1 : (rows.at(-1)?.thread_position ?? 1)
  }
  if (before !== 1) {
    const first = await inThread.where('thread_position', '=', 1).executeTakeFirst()
    ids.push(first?.rfc_message_id ?? null)
  }
  return ids.reverse().filter((id) => id !== null)
}

/** Most threads fit on the first page; all pages together hold about as many as a header can. */
const PAGE_MESSAGES = 500
const PAGES_MAX = 20

/**
 * The From of the first message that has the inbox in Cc; null for none. Only the beginning of a very long thread
 * is searched.
 */
export async function findCopiedFrom(
  db: ReadDb,
  { accountId, threadId }: Place,
): Promise<string | null> {
  const row = await db.read
    .selectFrom('messages')
    .select('from_addr')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where('thread_position', '<=', THREAD_COPIES_SEARCHED_MAX)
    .where('delivery_role', '=', 'cc')
    .orderBy('thread_position')
    .limit(1)
    .executeTakeFirst()
  return row?.from_addr ?? null
}
