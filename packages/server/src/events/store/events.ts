// The rows of the event log. No event is ever added before a position that was read. An erased
// event keeps only its position.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import {
  type EventFilter,
  type EventKind,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
  type MessageCategory,
} from '#events/model.ts'
import { inLog, inLogOrder, logOrder, selectPositions } from '#platform/db/log-order.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { idTimeMs } from '#platform/ids.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'

/** Events that one query scans for those that pass a filter. */
export const LOG_WINDOW_EVENTS = 2_000
/** Events after a full page that are scanned for its total if there is a filter. */
export const LOG_COUNT_EVENTS_MAX = 10 * LOG_WINDOW_EVENTS

/** An event without content. With an inbox, it reports that threads were added to its list. */
export const ERASED = 'erased'

/** Reports threads that are added without an event; claims that wait in the inbox look for them. */
export async function insertUntold(
  tx: Tx,
  told: { id: string; accountId: string; inboxId: string; nowMs: number },
): Promise<void> {
  await insertEvent(tx, {
    id: told.id,
    kind: ERASED,
    account_id: told.accountId,
    pod_id: null,
    inbox_id: told.inboxId,
    thread_id: null,
    message_id: null,
    occurred_at: told.nowMs,
    details: null,
  })
}

export function isUntold({ kind, inboxId }: { kind: string; inboxId: string | null }): boolean {
  return kind === ERASED && inboxId !== null
}

const NO_FILTER: EventFilter = { kinds: [], podIds: [], inboxIds: [], categories: [] }

/** Must match the condition of the index. */
const IS_NOT_ERASED = sql<SqlBool>`kind <> 'erased'`

export async function findEvent(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LoggedEvent | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined || row.kind === ERASED ? null : toEvent(row)
}

/** The event may be erased. */
export async function findEventPosition(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogPosition | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined ? null : positionOf(row)
}

/** Clocks differ between processes, and an event is written shortly after its id was made. */
const ID_ORDER_SLACK_MS = 60_000

/** `eventId` is not in the log. Without a later event, the end of the settled log. */
export async function findPositionOfId(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogPosition> {
  const end = await readLogHead(db)
  const before = await selectPositions(db, db.read.selectFrom('events'))
    .where('occurred_at', '<', idTimeMs(eventId) - ID_ORDER_SLACK_MS)
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const filter = NO_FILTER
  const after = before === undefined ? LOG_START : positionOf(before)
  const later = rowsIn(db, { accountId, after, filter }).where('id', '>', eventId)
  const first = await inLogOrder(db, selectPositions(db, later), 'asc').limit(1).executeTakeFirst()
  if (first === undefined) return end
  const { transactionId, sequence } = positionOf(first)
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
  readonly after: LogPosition
  /** Inclusive; to the end if omitted. */
  readonly until?: LogPosition
  /** Its inboxes and pods must belong to the account. */
  readonly filter: EventFilter
  /** 'asc', oldest first, is the default. */
  readonly order?: EventOrder
}

export type EventOrder = 'asc' | 'desc'

export function unreadOf<Range extends EventRange>(range: Range, reached: LogPosition): Range {
  return range.order === 'desc'
    ? { ...range, until: positionBefore(reached) }
    : { ...range, after: reached }
}

/** No event is between this position and that one, because sequences are integers. */
export function positionBefore({ transactionId, sequence }: LogPosition): LogPosition {
  return { transactionId, sequence: sequence - 1 }
}

export type LogScan = {
  readonly events: LoggedEvent[]
  readonly reached: LogPosition
  /** Whether `reached` is the end of the range or of its settled part. */
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
  const last = events.at(-1)?.position
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

/** Ignores events whose message or thread was removed. Ends early if `signal` is aborted. */
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

/** Settled events of all accounts; `hasUntold` includes those of `insertUntold`. */
export async function readLog(
  db: ReadDb,
  { after, limit, hasUntold = false }: { after: LogPosition; limit: number; hasUntold?: boolean },
): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for (let from = after; ; await nextTurn()) {
    const query = inLog(db, db.read.selectFrom('events'), { after: from, until: null })
    const rows = await inLogOrder(db, query, 'asc').selectAll().limit(limit).execute()
    const isRead = (row: Row<'events'>) =>
      row.kind !== ERASED || (hasUntold && row.inbox_id !== null)
    found.push(...rows.filter(isRead).map(toEvent))
    const last = rows.at(-1)
    if (found.length >= limit || rows.length < limit || last === undefined) {
      return found.slice(0, limit)
    }
    from = positionOf(last)
  }
}

export async function readLogHead(db: ReadDb): Promise<LogPosition> {
  const row = await selectHead(db).executeTakeFirst()
  return row === undefined ? LOG_START : positionOf(row)
}

/** Searches up to and including `until`. */
export async function findNewestEventId(
  db: ReadDb,
  { accountId, until }: { accountId: string; until: LogPosition },
): Promise<string | null> {
  const filter = NO_FILTER
  const places = rowsIn(db, { accountId, after: LOG_START, until, filter })
  const newest = inLogOrder(db, places, 'desc').select('id').limit(1)
  return (await newest.executeTakeFirst())?.id ?? null
}

function selectHead(db: ReadDb) {
  const query = inLog(db, db.read.selectFrom('events'), { after: LOG_START, until: null })
  return inLogOrder(db, selectPositions(db, query), 'desc').limit(1)
}

/** True while an older transaction runs. Readers poll, because nothing notifies of its end. */
export async function isUnsettledAfter(db: ReadDb, after: LogPosition): Promise<boolean> {
  const { isSettled, isAfter } = logOrder(db.reading)
  if (isSettled === null) return false
  const query = db.read.selectFrom('events').where(isAfter(after))
  // This order uses the index even while the table has no statistics and a scan seems to end soon.
  const first = query.select('sequence').orderBy('transaction_id').orderBy('sequence').limit(1)
  return (await first.executeTakeFirst()) !== undefined
}

/** One statement reads both, so that no event is in neither. */
export async function readLogHeadOf(
  db: ReadDb,
  inboxId: string,
): Promise<{ position: LogPosition; unsettledIds: string[] }> {
  const { isUnsettled: condition } = logOrder(db.reading)
  if (condition === null) return { position: await readLogHead(db), unsettledIds: [] }
  const head = db.read
    .selectFrom(selectHead(db).as('head'))
    .select(sql<string | null>`null`.as('id'))
  const waiting = db.read
    .selectFrom('events')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where(condition)
  const rows = await selectPositions(db, head).unionAll(selectPositions(db, waiting)).execute()
  const settled = rows.find(({ id }) => id === null)
  return {
    position: settled === undefined ? LOG_START : positionOf(settled),
    unsettledIds: rows.flatMap(({ id }) => id ?? []),
  }
}

/** Of the account, or of the filter's only inbox; up to and including `until` if given. */
export async function findNewestUnsettled(
  db: ReadDb,
  {
    accountId,
    filter,
    until,
  }: { accountId: string; filter: EventFilter; until?: LogPosition | undefined },
): Promise<LogPosition | null> {
  const { isUnsettled: condition, isUpTo } = logOrder(db.reading)
  if (condition === null) return null
  const query = ofOneIndex(db.read.selectFrom('events'), { accountId, filter }).where(condition)
  const bounded = until === undefined ? query : query.where(isUpTo(until))
  const newest = inLogOrder(db, selectPositions(db, bounded), 'desc').limit(1)
  const row = await newest.executeTakeFirst()
  return row === undefined ? null : positionOf(row)
}

export async function findUnsettledSince(db: ReadDb): Promise<number | null> {
  const { isUnsettled: condition } = logOrder(db.reading)
  if (condition === null) return null
  const row = await db.read
    .selectFrom('events')
    .select('occurred_at')
    .where(condition)
    // The index in this order begins with that event; by time all events would be read.
    .orderBy('transaction_id')
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return row?.occurred_at ?? null
}

/** The only inbox of a filter, which has an index of its own; otherwise null. */
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
  // Without the account, because an engine might then scan all events of the account.
  return inboxId !== null
    ? query.where('inbox_id', '=', inboxId).where('kind', '!=', ERASED)
    : query.where('account_id', '=', accountId).where(IS_NOT_ERASED)
}

function eventsIn(db: ReadDb, range: EventRange, end: LogPosition | null) {
  const { kinds, podIds, inboxIds, categories } = range.filter
  const scanned = end === null ? range : windowOf(range, end)
  let query = rowsIn(db, scanned)
  if (kinds.length > 0) query = query.where('kind', 'in', kinds)
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

/** The event's message exists, or its thread if it has no message. */
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

function windowOf(range: EventRange, end: LogPosition): EventRange {
  return range.order === 'desc'
    ? { ...range, after: positionBefore(end) }
    : { ...range, until: end }
}

/** Null if the scan may continue to the end of the range. */
async function findWindowEnd(db: ReadDb, range: EventRange): Promise<LogPosition | null> {
  const { kinds, podIds, inboxIds, categories } = range.filter
  const isSparse =
    kinds.length > 0 || categories.length > 0 || podIds.length > 0 || inboxIds.length > 1
  if (!isSparse) return null
  const { order = 'asc' } = range
  const row = await inLogOrder(db, selectPositions(db, rowsIn(db, range)), order)
    .offset(LOG_WINDOW_EVENTS - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : positionOf(row)
}

export function positionOf(row: Pick<Row<'events'>, 'transaction_id' | 'sequence'>): LogPosition {
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

function toEvent(row: Row<'events'>): LoggedEvent {
  return {
    position: positionOf(row),
    id: row.id,
    kind: row.kind as EventKind,
    accountId: row.account_id,
    podId: row.pod_id,
    inboxId: row.inbox_id,
    threadId: row.thread_id,
    messageId: row.message_id,
    category: row.category as MessageCategory | null,
    occurredAtMs: row.occurred_at,
    details: row.details === null ? null : JSON.parse(row.details),
    traceParent: row.trace_parent,
  }
}

export type NewEvent = Omit<
  NewRow<'events'>,
  'sequence' | 'transaction_id' | 'trace_parent' | 'category'
>

export type TracedEvent = NewEvent & {
  trace_parent: string | null
  category: string | null
}

export async function insertEvent(tx: Tx, event: NewEvent): Promise<void> {
  await insertEvents(tx, [{ ...event, trace_parent: tx.traceParent ?? null, category: null }])
}

export const EVENTS = rowInsert<Tables, TracedEvent>('events', [
  'id',
  'kind',
  'account_id',
  'pod_id',
  'inbox_id',
  'thread_id',
  'message_id',
  'occurred_at',
  'details',
  'trace_parent',
  'category',
])

export const insertEvents = forEachRow(EVENTS)

export type LogReaderName = 'webhooks' | 'figures' | 'inbox_days'

export async function findReaderPosition(db: ReadDb, name: LogReaderName): Promise<LogPosition> {
  const row = await db.read
    .selectFrom('event_readers')
    .select(['transaction_id', 'sequence'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

/** False if another process has already moved the reader from `from`. */
export async function moveReader(
  tx: Tx,
  { name, from, to }: { name: LogReaderName; from: LogPosition; to: LogPosition },
): Promise<boolean> {
  const moved = await tx.query
    .updateTable('event_readers')
    .set({ transaction_id: to.transactionId, sequence: to.sequence })
    .where('name', '=', name)
    .where('transaction_id', '=', from.transactionId)
    .where('sequence', '=', from.sequence)
    .returning('name')
    .execute()
  return moved.length === 1
}
