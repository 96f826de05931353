// Threads, to and from rows: the messages of one inbox that answer each other, with a read flag.

import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { type ExpressionBuilder, sql } from 'kysely'
import { metadataOf } from '#inboxes/inboxes-rows.ts'
import type { ReadDb, Row, Tables } from '#schema/tables.ts'
import { countUpTo } from './labelled-message-rows.ts'
import { CANCELLED, readCounters, toOf } from './message-rows.ts'
import type { ThreadExtent } from './removed-range-rows.ts'
import { labelsOf } from './thread-mark.ts'
import { findPageStart } from './thread-range-rows.ts'
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
  labels: string[]
  metadata: Record<string, string>
  assignee: string | null
  /** May be past. */
  snoozedUntilMs: number | null
  /** May have run out; null when nobody has the thread. */
  claim: ThreadClaim | null
  createdAtMs: number
  /** Null while the thread is not in the trash. */
  trashedAtMs: number | null
}

/** A thread with what `listThreadMessages` needs. */
export type StoredThread = Thread & { extent: ThreadExtent }

export type ThreadClaim = {
  owner: string
  fence: number
  /** The end of the lease by the clock of the queue. */
  untilMs: number
  expiresAtMs: number
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
    /** Those in the trash, instead of those that are not. */
    isTrashed?: boolean
    marks?: readonly string[]
    isSnoozed?: boolean | null
    nowMs?: number
    limit: number
    offset: number
  },
): Promise<(ShownThreads & { total: number }) | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { category = null, isTrashed = false, marks = [], isSnoozed = null, nowMs = 0 } = input
  if (category !== null || marks.length > 0 || isSnoozed !== null) {
    const filtered = { ...input, category, isTrashed, marks, isSnoozed, nowMs }
    const { rows, total } = await selectFiltered(db, filtered)
    return { ...(await toShown(db, rows)), total }
  }
  const { all, unread } = isTrashed
    ? { all: counters.trashed_thread_count, unread: counters.trashed_unread_count }
    : { all: counters.thread_count, unread: counters.unread_thread_count }
  const total = input.isRead === null ? all : input.isRead ? all - unread : unread
  if (input.offset >= total) return { threads: [], found: [], total }
  const start = await findPageStart(db, { ...input, isTrashed })
  // With a range on both sides, PostgreSQL reads the index in its order, even before the table was first analyzed.
  const edge = start.edge ?? (isTrashed ? -1 : 1) * Number.MAX_SAFE_INTEGER
  const { skip } = start
  let inList = inListOf(db, { inboxId: input.inboxId, isTrashed })
  if (input.isRead !== null) inList = inList.where('is_read', '=', input.isRead ? 1 : 0)
  // In the trash, the newest has the lowest position.
  inList = inList.orderBy('last_position', isTrashed ? 'asc' : 'desc')
  const fromEdge = isTrashed ? '>=' : '<='
  const skipped = inList.select('last_position').where('last_position', fromEdge, edge)
  let page = inList.selectAll().where('account_id', '=', input.accountId)
  // The index alone has what is skipped; in the page's own query each row would be read.
  page = page.where('last_position', fromEdge, skip > 0 ? skipped.limit(1).offset(skip) : edge)
  const rows = await page.limit(input.limit).execute()
  return { ...(await toShown(db, rows)), total }
}

/** The threads in the inbox's list, or in its trash. Those that are being removed are in neither. */
function inListOf(db: ReadDb, { inboxId, isTrashed }: { inboxId: string; isTrashed: boolean }) {
  return db.read
    .selectFrom('threads')
    .where('threads.inbox_id', '=', inboxId)
    .where('threads.last_position', isTrashed ? '<' : '>', 0)
}

type FilteredList = {
  accountId: string
  inboxId: string
  isRead: boolean | null
  category: MessageCategory | null
  isTrashed: boolean
  /** All of them. */
  marks: readonly string[]
  isSnoozed: boolean | null
  nowMs: number
  limit: number
  offset: number
}

/** By an index of the marks, or of the categories or the read flags: it alone has what is counted and skipped. */
async function selectFiltered(
  db: ReadDb,
  input: FilteredList,
): Promise<{ rows: Row<'threads'>[]; total: number }> {
  if (input.marks.length > 0) return selectMarked(db, input)
  const order = input.isTrashed ? 'asc' : 'desc'
  const inList = threadsIn(db, input)
  const total = await countUpTo(db, inList.select('threads.last_position'))
  const places = inList
    .select('threads.last_position')
    .orderBy('threads.last_position', order)
    .limit(input.limit)
    .offset(input.offset)
  const rows = await db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('last_position', 'in', (query) =>
      query.selectFrom(places.as('page')).select('page.last_position'),
    )
    .orderBy('last_position', order)
    .execute()
  return { rows, total }
}

/** Threads of the inbox that pass the filter, apart from marks. */
function threadsIn(db: ReadDb, input: FilteredList) {
  let inList = inListOf(db, input)
  if (input.category !== null) inList = inList.where('threads.category', '=', input.category)
  if (input.isRead !== null) inList = inList.where('threads.is_read', '=', input.isRead ? 1 : 0)
  if (input.isSnoozed === null) return inList
  // The index of snoozed threads is small, and the one of the list does not have the column.
  const snoozed = db.read
    .selectFrom('threads as snoozed')
    .select('snoozed.last_position')
    .where('snoozed.inbox_id', '=', input.inboxId)
    .where('snoozed.snoozed_until', '>', input.nowMs)
  return inList.where('threads.last_position', input.isSnoozed ? 'in' : 'not in', snoozed)
}

async function selectMarked(
  db: ReadDb,
  input: FilteredList,
): Promise<{ rows: Row<'threads'>[]; total: number }> {
  const [first = '', ...others] = await rarestFirst(db, input)
  let inList = markedWith(db, input, first)
  for (const mark of others) {
    inList = inList.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('thread_marks as other')
          .select('other.mark')
          .whereRef('other.thread_id', '=', 'thread_marks.thread_id')
          .where('other.mark', '=', mark),
      ),
    )
  }
  if (input.isRead !== null || input.category !== null || input.isSnoozed !== null) {
    const passing = threadsIn(db, input)
      .select('threads.id')
      .where('threads.id', '=', sql.ref<string>('thread_marks.thread_id'))
    inList = inList.where(({ exists }) => exists(passing))
  }
  const total = await countUpTo(db, inList.select('thread_marks.thread_id'))
  const page = await inList
    .select('thread_marks.thread_id')
    .orderBy('thread_marks.last_position', input.isTrashed ? 'asc' : 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  if (page.length === 0) return { rows: [], total }
  const ids = page.map(({ thread_id }) => thread_id)
  const found = await db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('id', 'in', ids)
    .execute()
  const byId = new Map(found.map((row) => [row.id, row]))
  return { rows: ids.flatMap((id) => byId.get(id) ?? []), total }
}

/** The other marks are looked up for each thread that has the first. */
async function rarestFirst(
  db: ReadDb,
  { marks, ...list }: FilteredList,
): Promise<readonly string[]> {
  if (marks.length < 2) return marks
  const counted: { mark: string; count: number }[] = []
  for (const mark of marks) {
    const threads = markedWith(db, list, mark).select('thread_marks.thread_id')
    counted.push({ mark, count: await countUpTo(db, threads) })
  }
  return counted.sort((one, other) => one.count - other.count).map(({ mark }) => mark)
}

function markedWith(
  db: ReadDb,
  { inboxId, isTrashed }: Pick<FilteredList, 'inboxId' | 'isTrashed'>,
  mark: string,
) {
  return db.read
    .selectFrom('thread_marks')
    .where('thread_marks.inbox_id', '=', inboxId)
    .where('thread_marks.mark', '=', mark)
    .where('thread_marks.last_position', isTrashed ? '<' : '>', 0)
}

/** Also in the trash. Null once it is being removed or its inbox is deleted. */
export async function findThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<StoredThread | null> {
  const row = await findRow(db, accountId, threadId)
  if (row === undefined) return null
  const { message_count: addedCount, removed_count: removedCount } = row
  return { ...toThread(row), extent: { threadId, addedCount, removedCount } }
}

/** Which of these threads exist, in the trash or not. */
export async function existingThreadIds(
  db: ReadDb,
  { accountIds, threadIds }: { accountIds: readonly string[]; threadIds: readonly string[] },
): Promise<Set<string>> {
  if (threadIds.length === 0) return new Set()
  const found = await db.read
    .selectFrom('threads')
    .select('id')
    .where('account_id', 'in', accountIds)
    .where('id', 'in', threadIds)
    .where(isKept)
    .execute()
  return new Set(found.map(({ id }) => id))
}

/** The existing threads among these, in this order. */
export async function findShownThreads(
  db: ReadDb,
  { accountId, threadIds }: { accountId: string; threadIds: readonly string[] },
): Promise<ShownThreads> {
  if (threadIds.length === 0) return { threads: [], found: [] }
  const found = await db.read
    .selectFrom('threads')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', threadIds)
    .where(isKept)
    .execute()
  const byId = new Map(found.map((row) => [row.id, row]))
  return toShown(
    db,
    threadIds.flatMap((id) => byId.get(id) ?? []),
  )
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
    .where(isKept)
    .executeTakeFirst()
}

const isKept = ({ eb, or }: ExpressionBuilder<Tables, 'threads'>) =>
  or([eb('threads.trashed_at', 'is', null), eb('threads.trashed_at', '>', 0)])

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
    messageCount: row.message_count - row.removed_count,
    category: row.category as MessageCategory | null,
    lastMessageAtMs: row.last_message_at,
    labels: labelsOf(row),
    metadata: metadataOf(row),
    assignee: row.assignee,
    snoozedUntilMs: row.snoozed_until,
    claim: claimOf(row),
    createdAtMs: row.created_at,
    trashedAtMs: row.trashed_at,
  }
}

function claimOf(row: Row<'threads'>): ThreadClaim | null {
  const { claim_owner: owner, claim_until: untilMs, claim_expires_at: expiresAtMs } = row
  if (owner === null || untilMs === null || expiresAtMs === null) return null
  return { owner, fence: row.claim_fence, untilMs, expiresAtMs }
}

/** Messages among which the one that a reply answers is chosen. */
const THREAD_RECENT_MAX = 100

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

export type RecentMessage = {
  id: string
  isReceived: boolean
  /** Its author and the recipients that everybody sees, as bare addresses. */
  parties: string[]
}

/** The newest messages of the thread that were received or queued, newest first. */
export async function listRecentMessages(
  db: ReadDb,
  { accountId, threadId }: Place,
): Promise<RecentMessage[]> {
  const rows = await db.read
    .selectFrom('messages')
    .select(['id', 'direction', 'from_addr', 'reply_to', 'cc'])
    .select(['to_addr', 'to_addrs', 'header_to'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where(isCorrespondence)
    .orderBy('thread_position', 'desc')
    .limit(THREAD_RECENT_MAX)
    .execute()
  return rows.map((row) => {
    const isReceived = row.direction === 'inbound'
    const authors = isReceived ? parseAddressList(`${row.from_addr}, ${row.reply_to ?? ''}`) : []
    return {
      id: row.id,
      isReceived,
      parties: [...authors.map(({ address }) => address), ...toOf(row), ...JSON.parse(row.cc)],
    }
  })
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
    const first = await inThread.orderBy('thread_position').limit(1).executeTakeFirst()
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
