// Events of an account: listed, counted and found by id.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COUNTED_MAX, reviewEventKinds } from '@mailroom/contract/vocabulary.ts'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { type EventFilter, LOG_START, type LoggedEvent, type LogOffset } from '#events/model.ts'
import { inLog, inLogOrder, logOrder, selectOffsets } from '#platform/db/log-order.ts'
import { idTimeMs } from '#platform/ids.ts'
import type { ReadDb, Tables } from '#store/tables.ts'
import { ERASED } from './append.ts'
import { offsetBefore, offsetOf, readLogHead, toEvent } from './log.ts'

/** Maximum events that a query scans for those that pass a filter. */
export const LOG_WINDOW_EVENTS = 2_000

/** Maximum events after a full page that are scanned for the total of a filtered list. */
export const LOG_COUNT_EVENTS_MAX = 10 * LOG_WINDOW_EVENTS

const NO_FILTER: EventFilter = { kinds: [], podIds: [], inboxIds: [], categories: [] }

/** The text must match the condition of the index. */
const IS_NOT_ERASED = sql<SqlBool>`kind <> 'erased'`

export async function findEvent(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LoggedEvent | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined || row.kind === ERASED ? null : toEvent(row)
}

/** Also finds erased events. */
export async function findEventOffset(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogOffset | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined ? null : offsetOf(row)
}

/** Clocks differ between processes, and an event is written shortly after its id was generated. */
const ID_ORDER_SLACK_MS = 60_000

/** The offset for an unknown `eventId`. Without a later event, the end of the settled log. */
export async function findOffsetOfId(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogOffset> {
  const end = await readLogHead(db)
  const before = await selectOffsets(db, db.read.selectFrom('events'))
    .where('occurred_at', '<', idTimeMs(eventId) - ID_ORDER_SLACK_MS)
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const filter = NO_FILTER
  const after = before === undefined ? LOG_START : offsetOf(before)
  const later = rowsIn(db, { accountId, after, filter }).where('id', '>', eventId)
  const first = await inLogOrder(db, selectOffsets(db, later), 'asc').limit(1).executeTakeFirst()
  if (first === undefined) return end
  const { transactionId, sequence } = offsetOf(first)
  return { transactionId, sequence: sequence - 1 }
}

function findRow(db: ReadDb, accountId: string, eventId: string) {
  return db.read
    .selectFrom('events')
    .selectAll()
    .where('id', '=', eventId)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

export type EventRange = {
  readonly accountId: string
  readonly after: LogOffset
  /** The last offset, inclusive; the end of the log if omitted. */
  readonly until?: LogOffset
  /** The inboxes and pods in the filter must belong to the account. */
  readonly filter: EventFilter
  /** The default is 'asc', oldest first. */
  readonly order?: EventOrder
}

export type EventOrder = 'asc' | 'desc'

export function unreadOf<Range extends EventRange>(range: Range, reached: LogOffset): Range {
  return range.order === 'desc'
    ? { ...range, until: offsetBefore(reached) }
    : { ...range, after: reached }
}

export type LogScan = {
  readonly events: LoggedEvent[]
  readonly reached: LogOffset
  /** Whether `reached` is the end of the range, or of its settled part. */
  readonly isEnd: boolean
}

/**
 * Scans at most LOG_WINDOW_EVENTS, because a filter may exclude nearly all of a log of millions.
 * Reads settled events only, in either order: all events before a settled event are settled, so a
 * later page misses none.
 */
export async function scanLog(
  db: ReadDb,
  { limit, ...range }: EventRange & { limit: number },
): Promise<LogScan> {
  const end = await findWindowEnd(db, range)
  const { order = 'asc' } = range
  const rows = await inLogOrder(db, eventsIn(db, range, end), order)
    .selectAll()
    .limit(limit)
    .execute()
  const events = rows.map(toEvent).filter(({ accountId }) => accountId === range.accountId)
  const last = events.at(-1)?.offset
  if (last !== undefined && events.length === limit) return { events, reached: last, isEnd: false }
  const farEnd = order === 'asc' ? range.until : range.after
  return { events, reached: end ?? farEnd ?? last ?? range.after, isEnd: end === null }
}

export async function listEvents(
  db: ReadDb,
  { limit, ...range }: EventRange & { limit: number },
): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for (let rest: EventRange = range; ; await nextTurn()) {
    const scan = await scanLog(db, { ...rest, limit: limit - found.length })
    found.push(...scan.events)
    if (scan.isEnd || found.length >= limit) return found
    rest = unreadOf(rest, scan.reached)
  }
}

/** Ignores events whose message or thread was removed. Stops early if `signal` is aborted. */
export async function countEvents(
  db: ReadDb,
  { max = COUNTED_MAX, signal, ...range }: EventRange & { max?: number; signal?: AbortSignal },
): Promise<number> {
  let counted = 0
  let rest: EventRange = range
  for (let scanned = 0; scanned < LOG_COUNT_EVENTS_MAX; scanned += LOG_WINDOW_EVENTS) {
    const end = await findWindowEnd(db, rest)
    const matching = eventsIn(db, rest, end)
      .where(IS_SHOWN)
      .select('sequence')
      .limit(max - counted)
    const row = await db.read
      .selectFrom(matching.as('matching'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirst()
    counted += row?.count ?? 0
    if (end === null || counted >= max || signal?.aborted === true) break
    rest = unreadOf(rest, end)
    await nextTurn()
  }
  return counted
}

/** Includes the event at `until`. */
export async function findNewestEventId(
  db: ReadDb,
  { accountId, until }: { accountId: string; until: LogOffset },
): Promise<string | null> {
  const filter = NO_FILTER
  const rows = rowsIn(db, { accountId, after: LOG_START, until, filter })
  const newest = inLogOrder(db, rows, 'desc').select('id').limit(1)
  return (await newest.executeTakeFirst())?.id ?? null
}

/** Searches the account or the filter's only inbox, up to and including `until` if given. */
export async function findNewestUnsettled(
  db: ReadDb,
  {
    accountId,
    filter,
    until,
  }: { accountId: string; filter: EventFilter; until?: LogOffset | undefined },
): Promise<LogOffset | null> {
  const { isUnsettled: condition, isUpTo } = logOrder(db.reading)
  if (condition === null) return null
  const query = ofOneIndex(db.read.selectFrom('events'), { accountId, filter }).where(condition)
  const bounded = until === undefined ? query : query.where(isUpTo(until))
  const newest = inLogOrder(db, selectOffsets(db, bounded), 'desc').limit(1)
  const row = await newest.executeTakeFirst()
  return row === undefined ? null : offsetOf(row)
}

/** The only inbox of a filter, which has a separate index; otherwise null. */
function onlyInboxOf({ podIds, inboxIds }: EventFilter): string | null {
  const [inboxId = null] = inboxIds
  return podIds.length === 0 && inboxIds.length === 1 ? inboxId : null
}

function rowsIn(db: ReadDb, { accountId, after, until, filter }: EventRange) {
  const range = { after, until: until ?? null }
  return ofOneIndex(inLog(db, db.read.selectFrom('events'), range), {
    accountId,
    filter,
  })
}

function ofOneIndex<Row>(
  query: SelectQueryBuilder<Tables, 'events', Row>,
  { accountId, filter }: { accountId: string; filter: EventFilter },
): SelectQueryBuilder<Tables, 'events', Row> {
  const inboxId = onlyInboxOf(filter)
  // The query omits the account, because an engine might then scan all of the account's events.
  return inboxId !== null
    ? query.where('inbox_id', '=', inboxId).where('kind', '!=', ERASED)
    : query.where('account_id', '=', accountId).where(IS_NOT_ERASED)
}

function eventsIn(db: ReadDb, range: EventRange, end: LogOffset | null) {
  const { kinds, podIds, inboxIds, categories } = range.filter
  const scanned = end === null ? range : windowOf(range, end)
  let query = rowsIn(db, scanned)
  query =
    kinds.length > 0
      ? query.where('kind', 'in', kinds)
      : query.where('kind', 'not in', reviewEventKinds)
  if (categories.length > 0) {
    query = query.where(({ eb, or }) =>
      or([eb('category', 'is', null), eb('category', 'in', categories)]),
    )
  }
  if (onlyInboxOf(range.filter) !== null || podIds.length + inboxIds.length === 0) return query
  return query.where(({ eb, or }) =>
    or([
      ...(podIds.length > 0 ? [eb('pod_id', 'in', podIds)] : []),
      ...(inboxIds.length > 0 ? [eb('inbox_id', 'in', inboxIds)] : []),
    ]),
  )
}

/** The event's message exists or, for an event without a message, its thread. */
const IS_SHOWN = sql<SqlBool>`(
  case when message_id is not null
    then not exists (select 1 from removed_messages where removed_messages.id = message_id)
    else thread_id is null or exists (
      select 1 from threads
      where threads.id = events.thread_id and (threads.trashed_at is null or threads.trashed_at > 0))
  end)`

/** Counts the same events as `countEvents`. */
export async function countShown(db: ReadDb, events: readonly LoggedEvent[]): Promise<number> {
  if (events.length === 0) return 0
  const ids = events.map(({ id }) => id)
  const row = await db.read
    .selectFrom('events')
    .where('id', 'in', ids)
    .where(IS_SHOWN)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** False if the event, its message or its thread was removed. */
export async function isEventShown(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<boolean> {
  const row = await db.read
    .selectFrom('events')
    .select('id')
    .where('id', '=', eventId)
    .where('account_id', '=', accountId)
    .where('kind', '!=', ERASED)
    .where(IS_SHOWN)
    .executeTakeFirst()
  return row !== undefined
}

function windowOf(range: EventRange, end: LogOffset): EventRange {
  return range.order === 'desc' ? { ...range, after: offsetBefore(end) } : { ...range, until: end }
}

/** Null if the scan can continue to the end of the range. */
async function findWindowEnd(db: ReadDb, range: EventRange): Promise<LogOffset | null> {
  const { kinds, podIds, inboxIds, categories } = range.filter
  const isSparse =
    kinds.length > 0 || categories.length > 0 || podIds.length > 0 || inboxIds.length > 1
  if (!isSparse) return null
  const { order = 'asc' } = range
  const row = await inLogOrder(db, selectOffsets(db, rowsIn(db, range)), order)
    .offset(LOG_WINDOW_EVENTS - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : offsetOf(row)
}
