import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import {
  countUpTo,
  isAnyTime,
  type Listed,
  rarestFirst,
} from '#mailbox/labels/store/labelled-messages.ts'
import { CANCELLED, readCounters, toOf } from '#mailbox/messages/store/messages.ts'
import type { Fields } from '#store/columns.ts'
import { threads } from '#store/nouns.ts'
import type { ReadDb, Row, Tables } from '#store/tables.ts'
import { type NewestFacts, readNewest } from './newest-message.ts'

export type Thread = Fields<typeof threads> & {
  /** The claim may have expired. */
  claim: ThreadClaim | null
}

export type ThreadKey = { readonly accountId: string; readonly threadId: string }

export type ThreadClaim = {
  owner: string
  fence: number
  /** The lease ends at this time of the queue's clock. */
  untilMs: number
  expiresAtMs: number
}

export type ShownThread = Thread & NewestFacts & { unreadCount: number }

/** Lists threads newest first. Returns null if the account has no such inbox. */
export async function listThreads(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    isRead: boolean | null
    category?: MessageCategory | null
    isTrashed?: boolean
    facets?: readonly string[]
    isSnoozed?: boolean | null
    nowMs?: number
    limit: number
    offset: number
  },
): Promise<{ threads: ShownThread[]; total: number } | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { category = null, isTrashed = false, facets = [], isSnoozed = null, nowMs = 0 } = input
  const filter = { ...input, category, isTrashed, facets, isSnoozed, nowMs }
  const list = facets.length > 0 ? await threadsWithFacets(db, filter) : threadsIn(db, filter)
  const isCounted = category === null && facets.length === 0 && isSnoozed === null
  const total = isCounted ? totalOf(counters, filter) : await countUpTo(db, list)
  if (input.offset >= total) return { threads: [], total }
  const page = list.limit(input.limit).offset(input.offset)
  const rows = await db.read
    .selectFrom(page.as('page'))
    .innerJoin('threads', 'threads.id', 'page.id')
    .selectAll('threads')
    .where('threads.account_id', '=', input.accountId)
    .orderBy('threads.last_message_at', 'desc')
    .orderBy('threads.id', 'desc')
    .execute()
  return { threads: await toShown(db, rows), total }
}

function totalOf(
  counters: Row<'inbox_counters'>,
  { isTrashed, isRead }: { isTrashed: boolean; isRead: boolean | null },
): number {
  const { all, unread } = isTrashed
    ? { all: counters.trashed_thread_count, unread: counters.trashed_unread_count }
    : { all: counters.thread_count, unread: counters.unread_thread_count }
  return isRead === null ? all : isRead ? all - unread : unread
}

export type ThreadFilter = {
  inboxId: string
  isRead: boolean | null
  category: MessageCategory | null
  isTrashed: boolean
  facets: readonly string[]
  isSnoozed: boolean | null
  nowMs: number
}

function threadsIn(db: ReadDb, input: ThreadFilter): Listed {
  let list = db.read
    .selectFrom('threads')
    .select('threads.id')
    .where('threads.inbox_id', '=', input.inboxId)
    .where(input.isTrashed ? IS_TRASHED : IS_LISTED)
    .where(isAnyTime('threads.last_message_at'))
    .orderBy('threads.last_message_at', 'desc')
    .orderBy('threads.id', 'desc')
  if (input.category !== null) list = list.where('threads.category', '=', input.category)
  if (input.isRead !== null) list = list.where('threads.is_read', '=', input.isRead ? 1 : 0)
  if (input.isSnoozed === null) return list
  // The index of snoozed threads is small, and the list's index lacks the column.
  const snoozed = db.read
    .selectFrom('threads as snoozed')
    .select('snoozed.id')
    .where('snoozed.inbox_id', '=', input.inboxId)
    .where('snoozed.snoozed_until', '>', input.nowMs)
  return list.where('threads.id', input.isSnoozed ? 'in' : 'not in', snoozed)
}

/** Excludes the trash. The values are literals, so that the partial indexes apply. */
export const IS_LISTED = sql<SqlBool>`threads.trashed_at is null`
export const IS_TRASHED = sql<SqlBool>`threads.trashed_at > 0`

export function hasFacet(facet: string) {
  return ({ exists, selectFrom }: ExpressionBuilder<Tables, 'threads'>) =>
    exists(
      selectFrom('thread_facets')
        .select('thread_facets.facet')
        .whereRef('thread_facets.thread_id', '=', 'threads.id')
        .where('thread_facets.facet', '=', facet),
    )
}

async function threadsWithFacets(db: ReadDb, input: ThreadFilter): Promise<Listed> {
  const [first = '', ...others] = await rarestFirst(input.facets, (facet) =>
    countUpTo(db, withFacet(db, input, facet).select('thread_facets.thread_id')),
  )
  let list = withFacet(db, input, first)
  for (const facet of others) {
    list = list.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('thread_facets as other')
          .select('other.facet')
          .whereRef('other.thread_id', '=', 'thread_facets.thread_id')
          .where('other.facet', '=', facet),
      ),
    )
  }
  if (input.isRead !== null || input.category !== null || input.isSnoozed !== null) {
    const passing = threadsIn(db, input)
      .clearOrderBy()
      .where('threads.id', '=', sql.ref<string>('thread_facets.thread_id'))
    list = list.where(({ exists }) => exists(passing))
  }
  return list
    .select('thread_facets.thread_id as id')
    .orderBy('thread_facets.last_message_at', 'desc')
    .orderBy('thread_facets.thread_id', 'desc')
}

function withFacet(
  db: ReadDb,
  { inboxId, isTrashed }: Pick<ThreadFilter, 'inboxId' | 'isTrashed'>,
  facet: string,
) {
  return db.read
    .selectFrom('thread_facets')
    .where('thread_facets.inbox_id', '=', inboxId)
    .where('thread_facets.facet', '=', facet)
    .where('thread_facets.is_trashed', '=', isTrashed ? 1 : 0)
}

/** The trash is included. Returns null if the thread is being removed or its inbox is deleted. */
export async function findThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<Thread | null> {
  const row = await findRow(db, accountId, threadId)
  return row === undefined ? null : toThread(row)
}

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

/** The result is in the order of the ids and omits missing threads. */
export async function findShownThreads(
  db: ReadDb,
  { accountId, threadIds }: { accountId: string; threadIds: readonly string[] },
): Promise<ShownThread[]> {
  if (threadIds.length === 0) return []
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

export async function findShownThread(
  db: ReadDb,
  accountId: string,
  threadId: string,
): Promise<ShownThread | null> {
  const row = await findRow(db, accountId, threadId)
  const [thread = null] = row === undefined ? [] : await toShown(db, [row])
  return thread
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

/** Omits threads whose messages were removed after the rows were read. */
async function toShown(db: ReadDb, rows: readonly Row<'threads'>[]): Promise<ShownThread[]> {
  const newest = await readNewest(
    db,
    rows.map(({ id }) => id),
  )
  return rows.flatMap((row) => {
    const facts = newest.get(row.id)
    if (facts === undefined) return []
    return {
      ...toThread(row),
      ...facts,
      // A thread that was set to unread by hand has no unread message.
      unreadCount: row.is_read === 1 ? 0 : Math.max(1, row.unread_count),
    }
  })
}

function toThread(row: Row<'threads'>): Thread {
  return { ...threads.read(row), claim: claimOf(row) }
}

function claimOf(row: Row<'threads'>): ThreadClaim | null {
  const { claim_owner: owner, claim_until: untilMs, claim_expires_at: expiresAtMs } = row
  if (owner === null || untilMs === null || expiresAtMs === null) return null
  return { owner, fence: row.claim_fence, untilMs, expiresAtMs }
}

/** The message to reply to is chosen from this many recent messages. */
const THREAD_RECENT_MAX = 100

const THREAD_COPIES_SEARCHED_MAX = 1_000

/**
 * Excludes held, cancelled and rejected sends. No recipient received them, so a quote would leak
 * them.
 */
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
  /** Bare addresses of the author and the visible recipients. */
  parties: string[]
}

/** Lists received and queued messages, newest first. */
export async function listRecentMessages(
  db: ReadDb,
  { accountId, threadId }: ThreadKey,
): Promise<RecentMessage[]> {
  const rows = await db.read
    .selectFrom('messages')
    .select(['id', 'direction', 'from_addr', 'reply_to', 'cc'])
    .select(['to_addr', 'to_addrs', 'header_to'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where(isCorrespondence)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
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

/** Lists Message-IDs, oldest first. Beyond `octetsMax`, only the first and the newest ones. */
export async function listThreadIds(
  db: ReadDb,
  { accountId, threadId, octetsMax }: ThreadKey & { readonly octetsMax: number },
): Promise<string[]> {
  const inThread = db.read
    .selectFrom('messages')
    .select(['id', 'rfc_message_id', 'created_at'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where(isCorrespondence)
  const ids: (string | null)[] = []
  let octets = 0
  let isWhole = false
  let before: { id: string; created_at: number } | undefined
  for (let page = 0; page < PAGES_MAX && octets <= octetsMax && !isWhole; page++) {
    let older = inThread
    if (before !== undefined) {
      older = older.where(sql<SqlBool>`(created_at, id) < (${before.created_at}, ${before.id})`)
    }
    const rows = await older
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(PAGE_MESSAGES)
      .execute()
    for (const { rfc_message_id: id } of rows) {
      ids.push(id)
      octets += id?.length ?? 0
    }
    isWhole = rows.length < PAGE_MESSAGES
    before = rows.at(-1)
  }
  if (!isWhole) {
    const oldest = inThread.orderBy('created_at').orderBy('id').limit(1)
    const first = await oldest.executeTakeFirst()
    if (first !== undefined && first.id !== before?.id) ids.push(first.rfc_message_id)
  }
  return ids.reverse().filter((id) => id !== null)
}

/** Most threads fit on one page, and all pages together hold about as many ids as a header can. */
const PAGE_MESSAGES = 500
const PAGES_MAX = 20

/** Searches the first THREAD_COPIES_SEARCHED_MAX messages and returns null if none matches. */
export async function findCopiedFrom(
  db: ReadDb,
  { accountId, threadId }: ThreadKey,
): Promise<string | null> {
  const beginning = db.read
    .selectFrom('messages')
    .select(['id', 'from_addr', 'delivery_role', 'created_at'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(THREAD_COPIES_SEARCHED_MAX)
  const row = await db.read
    .selectFrom(beginning.as('beginning'))
    .select('from_addr')
    .where('delivery_role', '=', 'cc')
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.from_addr ?? null
}
