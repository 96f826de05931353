// Filters lists window by window. A query may match too much, never too little. Texts are compared
// here, so that both engines agree.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COUNTED_MAX, type MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Direction } from '#mailbox/messages/store/messages.ts'
import {
  hasFacet,
  IS_LISTED,
  IS_TRASHED,
  type ThreadFilter,
} from '#mailbox/threads/store/threads.ts'
import { systemClock } from '#platform/clock.ts'
import type { LongRead } from '#platform/db/db.ts'
import { foldCase, mayContain } from '#platform/db/dialect.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Page, ReadDb, Row, Tables } from '#store/tables.ts'

export type MailFilter = {
  readonly from: string | null
  readonly to: string | null
  readonly subject: string | null
  readonly sinceMs: number | null
  readonly untilMs: number | null
  readonly hasAttachment: boolean | null
}

export type Filtered = {
  readonly ids: string[]
  /** The count stops at COUNTED_MAX. */
  readonly total: number
  /** This is false if time ran out. */
  readonly isComplete: boolean
}

type FilterIn = {
  readonly accountId: string
  readonly inboxId: string
  readonly filter: MailFilter
}

const FILTER_MS_MAX = 5 * SECOND_MS
/** Sizes of the first window and of the largest one; sizes adapt to the time taken. */
const WINDOW_FIRST = 4_096
const WINDOW_MAX = 65_536
const WINDOW_MS = { quick: 40, slow: 120 } as const

export const filterMessages: LongRead<
  Tables,
  FilterIn & {
    direction: Direction | null
    category: MessageCategory | null
    labels: readonly string[]
  } & Page,
  Filtered
> = {
  name: 'filterMessages',
  run: (db, input, signal) =>
    walk({
      page: input,
      signal,
      findEnd: (window, size) => findEnd(messagesIn(db, input, window), size),
      match: (window) => matchMessages(db, input, window),
    }),
}

export const filterThreads: LongRead<
  Tables,
  FilterIn & ThreadFilter & { direction: Direction | null } & Page,
  Filtered
> = {
  name: 'filterThreads',
  run: (db, input, signal) =>
    walk({
      page: input,
      signal,
      findEnd: (window, size) => findEnd(threadsIn(db, input, window), size),
      match: (window) => matchThreads(db, input, window),
    }),
}

type Moment = { readonly at: number; readonly id: string }

/** The window starts after `after` and includes `last`. Null means no bound. */
type Window = { readonly after: Moment | null; readonly last: Moment | null }

async function walk({
  page,
  signal,
  findEnd,
  match,
}: {
  page: Page
  signal: AbortSignal
  /** Returns null if the list ends before that. */
  findEnd(window: Window, size: number): Promise<Moment | null>
  match(window: Window): Promise<string[]>
}): Promise<Filtered> {
  const ids: string[] = []
  const enough = Math.max(COUNTED_MAX, page.offset + page.limit)
  const endMs = systemClock.monotonic() + FILTER_MS_MAX
  let size = WINDOW_FIRST
  let after: Moment | null = null
  let found = 0
  let isComplete = true
  do {
    const startMs = systemClock.monotonic()
    if (signal.aborted || startMs >= endMs) {
      isComplete = false
      break
    }
    const last = await findEnd({ after, last: null }, size)
    for (const id of await match({ after, last })) {
      if (found >= page.offset && ids.length < page.limit) ids.push(id)
      found += 1
    }
    after = last
    await nextTurn()
    const tookMs = systemClock.monotonic() - startMs
    if (tookMs < WINDOW_MS.quick) size = Math.min(2 * size, WINDOW_MAX)
    else if (tookMs > WINDOW_MS.slow) size = Math.max(Math.floor(size / 2), WINDOW_FIRST)
  } while (after !== null && found < enough)
  return { ids, total: Math.min(found, COUNTED_MAX), isComplete }
}

async function findEnd(
  list: SelectQueryBuilder<Tables, 'messages' | 'threads', Moment>,
  size: number,
): Promise<Moment | null> {
  return (
    (await list
      .limit(1)
      .offset(size - 1)
      .executeTakeFirst()) ?? null
  )
}

type Column = Parameters<typeof sql.ref>[0]

function isWithin(
  { at, id }: { at: Column; id: Column },
  { after, last }: Window,
  { sinceMs, untilMs }: MailFilter,
) {
  const position = sql`(${sql.ref(at)}, ${sql.ref(id)})`
  const bounds = [sql`1 = 1`]
  if (after !== null) bounds.push(sql`${position} < (${after.at}, ${after.id})`)
  if (last !== null) bounds.push(sql`${position} >= (${last.at}, ${last.id})`)
  if (sinceMs !== null) bounds.push(sql`${sql.ref(at)} >= ${sinceMs}`)
  if (untilMs !== null) bounds.push(sql`${sql.ref(at)} < ${untilMs}`)
  return sql<SqlBool>`${sql.join(bounds, sql` and `)}`
}

function messagesIn(db: ReadDb, { inboxId, filter }: FilterIn, window: Window) {
  return db.read
    .selectFrom('messages')
    .select(['messages.created_at as at', 'messages.id'])
    .where('messages.inbox_id', '=', inboxId)
    .where('messages.is_trashed', '=', sql.lit(0))
    .where(isWithin({ at: 'messages.created_at', id: 'messages.id' }, window, filter))
    .orderBy('messages.created_at', 'desc')
    .orderBy('messages.id', 'desc')
}

async function matchMessages(
  db: ReadDb,
  input: Parameters<typeof filterMessages.run>[1],
  window: Window,
): Promise<string[]> {
  const { accountId, filter, direction, category, labels } = input
  let query = messagesIn(db, input, window)
    .select(comparedColumns(filter))
    .where('messages.account_id', '=', accountId)
    .where((row) => mayMatch(db, row, filter))
  if (direction !== null) query = query.where('messages.direction', '=', direction)
  if (category !== null) query = query.where('messages.category', '=', category)
  for (const label of labels) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('message_labels')
          .select('message_labels.label')
          .whereRef('message_labels.message_id', '=', 'messages.id')
          .where('message_labels.label', '=', label),
      ),
    )
  }
  const rows = await query.execute()
  return rows.filter((row) => matches(row, filter)).map(({ id }) => id)
}

function threadsIn(
  db: ReadDb,
  { inboxId, filter, isTrashed }: FilterIn & Pick<ThreadFilter, 'isTrashed'>,
  window: Window,
) {
  return db.read
    .selectFrom('threads')
    .select(['threads.last_message_at as at', 'threads.id'])
    .where('threads.inbox_id', '=', inboxId)
    .where(isTrashed ? IS_TRASHED : IS_LISTED)
    .where(isWithin({ at: 'threads.last_message_at', id: 'threads.id' }, window, filter))
    .orderBy('threads.last_message_at', 'desc')
    .orderBy('threads.id', 'desc')
}

const THREADS_AT_ONCE = 1_000

async function matchThreads(
  db: ReadDb,
  input: Parameters<typeof filterThreads.run>[1],
  window: Window,
): Promise<string[]> {
  const { accountId, filter, direction, isRead, category, facets, isSnoozed } = input
  let query = threadsIn(db, input, window).where('account_id', '=', accountId)
  if (isRead !== null) query = query.where('is_read', '=', isRead ? 1 : 0)
  if (category !== null) query = query.where('category', '=', category)
  for (const facet of facets) query = query.where(hasFacet(facet))
  if (isSnoozed !== null) {
    query = query.where((row) =>
      row(row.fn.coalesce('snoozed_until', row.lit(0)), isSnoozed ? '>' : '<=', input.nowMs),
    )
  }
  const ids = (await query.execute()).map(({ id }) => id)
  if (direction === null && !comparesMessages(filter)) return ids
  const found: string[] = []
  for (let start = 0; start < ids.length; start += THREADS_AT_ONCE) {
    const some = ids.slice(start, start + THREADS_AT_ONCE)
    const asked = { accountId, filter, direction, threadIds: some }
    const matching = await findMatchingThreads(db, asked)
    for (const id of some) if (matching.has(id)) found.push(id)
  }
  return found
}

async function findMatchingThreads(
  db: ReadDb,
  input: {
    accountId: string
    filter: MailFilter
    direction: Direction | null
    threadIds: readonly string[]
  },
): Promise<Set<string>> {
  const { accountId, filter, direction, threadIds } = input
  const inThreads = db.read
    .selectFrom('messages')
    .where('messages.account_id', '=', accountId)
    .where('messages.thread_id', 'in', threadIds)
  const isWithout = filter.hasAttachment === false
  // A thread has no attachments only if none of its messages has any.
  const ofMessage = { ...filter, hasAttachment: null }
  let compared = inThreads
    .select(['messages.thread_id', ...comparedColumns(ofMessage)])
    .where((row) => mayMatch(db, row, ofMessage))
  if (filter.hasAttachment === true) compared = compared.where(HAS_ATTACHMENT)
  if (direction !== null) compared = compared.where('messages.direction', '=', direction)
  const rows = await compared.execute()
  const found = new Set(rows.flatMap((row) => (matches(row, ofMessage) ? row.thread_id : [])))
  if (!isWithout || found.size === 0) return found
  const withAttachment = await inThreads
    .select('messages.thread_id')
    .where(HAS_ATTACHMENT)
    .execute()
  for (const { thread_id } of withAttachment) found.delete(thread_id)
  return found
}

/** With a join, PostgreSQL would read all messages with attachments for a few threads. */
const HAS_ATTACHMENT = sql<SqlBool>`(
  select 1 from messages as with_files
  where with_files.inbox_id = messages.inbox_id and with_files.arrival = messages.arrival
    and with_files.attachments <> '[]') is not null`

function comparesMessages({ from, to, subject, hasAttachment }: MailFilter): boolean {
  return from !== null || to !== null || subject !== null || hasAttachment !== null
}

type Compared = Partial<
  Pick<Row<'messages'>, 'from_addr' | 'to_addr' | 'to_addrs' | 'header_to' | 'cc' | 'subject'>
>

const RECIPIENTS = ['messages.to_addr', 'messages.header_to', 'messages.cc'] as const

function comparedColumns({ from, to, subject }: MailFilter) {
  return [
    ...(from === null ? [] : (['messages.from_addr'] as const)),
    ...(to === null ? [] : ([...RECIPIENTS, SENT_TO] as const)),
    ...(subject === null ? [] : (['messages.subject'] as const)),
  ]
}

/** This is read only for sent mail, because SQLite stores the column after the text. */
const SENT_TO = sql<string | null>`
  case when messages.direction = 'outbound' then messages.to_addrs end`.as('to_addrs')

type OfMessage = ExpressionBuilder<Tables, 'messages'>

function mayMatch(db: ReadDb, row: OfMessage, filter: MailFilter) {
  const { engine } = db.reading
  const contains = (column: Parameters<typeof sql.ref>[0], text: string) =>
    mayContain(engine, sql.ref<string>(column), text)
  const conditions: ReturnType<typeof contains>[] = []
  if (filter.from !== null) conditions.push(contains('messages.from_addr', filter.from))
  if (filter.subject !== null) conditions.push(contains('messages.subject', filter.subject))
  if (filter.to !== null) {
    const { to } = filter
    // JSON lists escape some characters.
    const inList =
      JSON.stringify(to) === `"${to}"` ? contains('messages.cc', to) : sql<SqlBool>`1 = 1`
    const fields = [
      contains('messages.to_addr', to),
      contains('messages.header_to', to),
      inList,
      sql<SqlBool>`messages.direction = 'outbound'`,
    ]
    conditions.push(sql<SqlBool>`(${sql.join(fields, sql` or `)})`)
  }
  if (filter.hasAttachment !== null) {
    const has = hasAttachment(row)
    conditions.push(filter.hasAttachment ? sql<SqlBool>`${has}` : sql<SqlBool>`not ${has}`)
  }
  return conditions.length === 0
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** Uses the index of messages with attachments, because the column is stored after the text. */
function hasAttachment(row: OfMessage) {
  return row.exists(
    row
      .selectFrom('messages as with_files')
      .select('with_files.arrival')
      .whereRef('with_files.inbox_id', '=', 'messages.inbox_id')
      .whereRef('with_files.arrival', '=', 'messages.arrival')
      .where('with_files.attachments', '<>', sql.lit('[]')),
  )
}

function matches(row: Compared, { from, to, subject }: MailFilter): boolean {
  if (from !== null && !contains(row.from_addr, from)) return false
  if (subject !== null && !contains(row.subject, subject)) return false
  if (to === null) return true
  const lists = [row.cc, row.to_addrs].flatMap((list) =>
    list === undefined || list === null ? [] : (JSON.parse(list) as string[]),
  )
  return [row.to_addr, row.header_to, ...lists].some((text) => contains(text, to))
}

function contains(text: string | null | undefined, wanted: string): boolean {
  return text !== null && text !== undefined && foldCase(text).includes(foldCase(wanted))
}

/** The period includes `fromMs` and excludes `untilMs`. Null means no bound. */
export type Period = { readonly fromMs: number | null; readonly untilMs: number | null }

/** The trash is excluded. Returns null if no message matches. */
export async function findArrivalsOf(
  db: ReadDb,
  { inboxId, period: { fromMs, untilMs } }: { inboxId: string; period: Period },
): Promise<{ first: number; last: number } | null> {
  // `+ 0` keeps PostgreSQL from searching all of the arrival index for the maximum.
  let query = db.read
    .selectFrom('messages')
    .select(sql<number | null>`min(arrival + 0)`.as('first'))
    .select(sql<number | null>`max(arrival + 0)`.as('last'))
    .where('inbox_id', '=', inboxId)
    .where('is_trashed', '=', sql.lit(0))
  if (fromMs !== null) query = query.where('created_at', '>=', fromMs)
  if (untilMs !== null) query = query.where('created_at', '<', untilMs)
  const { first, last } = await query.executeTakeFirstOrThrow()
  return first === null || last === null ? null : { first, last }
}
