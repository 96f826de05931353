// The log of events, from rows. Readers go from position to position; what they have read stays
// before whatever comes later. What was erased is a position and nothing else.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SqlBool, sql } from 'kysely'
import {
  inLog,
  inLogOrder,
  isUnsettled,
  selectPlaces,
  unsettledInLog,
} from '#platform/db/dialect.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { idTimeMs } from '#platform/ids.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import {
  type EventFilter,
  type EventKind,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
} from './event.ts'

/** Events that one query looks through for those that pass a filter. */
export const LOG_WINDOW_EVENTS = 2_000
/** Events behind a full page that are scanned through for its total where there is a filter. */
export const LOG_COUNT_EVENTS_MAX = 10 * LOG_WINDOW_EVENTS
/** Matching events that a page of the log counts beyond its cursor, deliveries that a list counts. */
export const COUNTED_MAX = 10_000

/** The kind of a row that is kept for those who go on from it, after what it told of was deleted. */
export const ERASED = 'erased'

/** As the index has it, which holds no others. */
const IS_NOT_ERASED = sql<SqlBool>`kind <> 'erased'`

/** The account's event with this id, or null. */
export async function findEvent(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LoggedEvent | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined || row.kind === ERASED ? null : toEvent(row)
}

/** Where the account's event stands that has this id or had it before it was erased, or null. */
export async function findEventPosition(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogPosition | null> {
  const row = await findRow(db, accountId, eventId)
  return row === undefined ? null : positionOf(row)
}

/**
 * Clocks of processes differ, and an event is written a moment after its id was made: the place of an
 * id is scanned for among the events from this many milliseconds before it on.
 */
const ID_ORDER_SLACK_MS = 60_000

/**
 * The place before the account's first event with a later id than `eventId`, which the log does not
 * hold: the end of the settled log where there is none.
 */
export async function findPositionOfId(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LogPosition> {
  const { engine } = db.reading
  const end = await readLogHead(db)
  const before = await selectPlaces(engine, db.read.selectFrom('events'))
    .where('occurred_at', '<', idTimeMs(eventId) - ID_ORDER_SLACK_MS)
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const filter = { kinds: [], podIds: [], inboxIds: [] }
  const after = before === undefined ? LOG_START : positionOf(before)
  const later = rowsIn(db, { accountId, after, filter }).where('id', '>', eventId)
  const first = await inLogOrder(engine, selectPlaces(engine, later), 'asc')
    .limit(1)
    .executeTakeFirst()
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
  /** Up to and with this one; to the end when left out. */
  readonly until?: LogPosition
  /** Its inboxes and pods are the account's. */
  readonly filter: EventFilter
  /** Which end of the range is read first: the oldest, unless it says 'desc'. */
  readonly order?: EventOrder
}

export type EventOrder = 'asc' | 'desc'

/** The part of the range that is still to be read, in its order, once `reached` was read. */
export function unreadOf<Range extends EventRange>(range: Range, reached: LogPosition): Range {
  return range.order === 'desc'
    ? { ...range, until: positionBefore(reached) }
    : { ...range, after: reached }
}

/** Sequences are whole numbers, so no event stands between this place and that one. */
export function positionBefore({ transactionId, sequence }: LogPosition): LogPosition {
  return { transactionId, sequence: sequence - 1 }
}

export type LogScan = {
  /** What passes the filter, in the order of the range. */
  readonly events: LoggedEvent[]
  /** Up to here everything was scanned through. */
  readonly reached: LogPosition
  /** Whether that is the end of the range, as far as it is settled. */
  readonly isEnd: boolean
}

/**
 * One scan at the range: up to `limit` events of the next LOG_WINDOW_EVENTS, which takes a moment
 * only, for a filter may leave out nearly all of a log of millions. Newest first, too, it reads settled
 * events only: everything older than a settled event is settled, so a later page misses nothing.
 */
export async function scanLog(
  db: ReadDb,
  { limit, ...range }: EventRange & { limit: number },
): Promise<LogScan> {
  const end = await findWindowEnd(db, range)
  const { order = 'asc' } = range
  const rows = await inLogOrder(db.reading.engine, eventsIn(db, range, end), order)
    .selectAll()
    .limit(limit)
    .execute()
  const events = rows.map(toEvent).filter(({ accountId }) => accountId === range.accountId)
  const last = events.at(-1)?.position
  if (last !== undefined && events.length === limit) return { events, reached: last, isEnd: false }
  const farEnd = order === 'asc' ? range.until : range.after
  return { events, reached: end ?? farEnd ?? last ?? range.after, isEnd: end === null }
}

/** All of the range that passes the filter, up to `limit`, in its order. */
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

/**
 * How many pass the filter, up to `max`, in LOG_COUNT_EVENTS_MAX events where there is one; of an
 * inbox that is known to be the account's. Ends early when `signal` is aborted.
 */
export async function countEvents(
  db: ReadDb,
  { max = COUNTED_MAX, signal, ...range }: EventRange & { max?: number; signal?: AbortSignal },
): Promise<number> {
  let counted = 0
  let rest: EventRange = range
  for (let scanned = 0; scanned < LOG_COUNT_EVENTS_MAX; scanned += LOG_WINDOW_EVENTS) {
    const end = await findWindowEnd(db, rest)
    const matching = eventsIn(db, rest, end)
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

/** Up to `limit` settled events of all accounts, in the order of the log. */
export async function readLog(
  db: ReadDb,
  { after, limit }: { after: LogPosition; limit: number },
): Promise<LoggedEvent[]> {
  const { engine } = db.reading
  const found: LoggedEvent[] = []
  for (let from = after; ; await nextTurn()) {
    const query = inLog(engine, db.read.selectFrom('events'), { after: from, until: null })
    const rows = await inLogOrder(engine, query, 'asc').selectAll().limit(limit).execute()
    found.push(...rows.filter(({ kind }) => kind !== ERASED).map(toEvent))
    const last = rows.at(-1)
    if (found.length >= limit || rows.length < limit || last === undefined) {
      return found.slice(0, limit)
    }
    from = positionOf(last)
  }
}

/** Where the settled part of the log ends. */
export async function readLogHead(db: ReadDb): Promise<LogPosition> {
  const row = await selectHead(db).executeTakeFirst()
  return row === undefined ? LOG_START : positionOf(row)
}

/** The id of the account's newest event up to and with this place, or null. */
export async function findNewestEventId(
  db: ReadDb,
  { accountId, until }: { accountId: string; until: LogPosition },
): Promise<string | null> {
  const filter = { kinds: [], podIds: [], inboxIds: [] }
  const places = rowsIn(db, { accountId, after: LOG_START, until, filter })
  const newest = inLogOrder(db.reading.engine, places, 'desc').select('id').limit(1)
  return (await newest.executeTakeFirst())?.id ?? null
}

function selectHead(db: ReadDb) {
  const { engine } = db.reading
  const query = inLog(engine, db.read.selectFrom('events'), { after: LOG_START, until: null })
  return inLogOrder(engine, selectPlaces(engine, query), 'desc').limit(1)
}

/**
 * Whether there are events behind `after` that cannot be read yet because an older transaction is
 * under way: whoever follows the log looks again soon, for nobody tells when that one ends.
 */
export async function isUnsettledAfter(db: ReadDb, after: LogPosition): Promise<boolean> {
  const query = unsettledInLog(db.reading.engine, db.read.selectFrom('events'), after)
  if (query === null) return false
  return (await query.select('sequence').limit(1).executeTakeFirst()) !== undefined
}

/**
 * Where the settled part of the log ends, and the ids of the events of an inbox that were committed
 * and stand behind it: both as one statement sees them, so that none is in neither.
 */
export async function readLogHeadOf(
  db: ReadDb,
  inboxId: string,
): Promise<{ position: LogPosition; unsettledIds: string[] }> {
  const condition = isUnsettled(db.reading.engine)
  if (condition === null) return { position: await readLogHead(db), unsettledIds: [] }
  const head = db.read
    .selectFrom(selectHead(db).as('head'))
    .select(sql<string | null>`null`.as('id'))
  const waiting = db.read
    .selectFrom('events')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where(condition)
  const rows = await selectPlaces(db.reading.engine, head)
    .unionAll(selectPlaces(db.reading.engine, waiting))
    .execute()
  const settled = rows.find(({ id }) => id === null)
  return {
    position: settled === undefined ? LOG_START : positionOf(settled),
    unsettledIds: rows.flatMap(({ id }) => id ?? []),
  }
}

/** When the first event of the log happened that was committed and cannot be read yet; null for none. */
export async function findUnsettledSince(db: ReadDb): Promise<number | null> {
  const condition = isUnsettled(db.reading.engine)
  if (condition === null) return null
  const row = await db.read
    .selectFrom('events')
    .select('occurred_at')
    .where(condition)
    // Along the order of the log, which ends at what is asked for; by its time all of it would be read.
    .orderBy('transaction_id')
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return row?.occurred_at ?? null
}

/** The only inbox that the filter names, whose own index is read then; else null. */
function onlyInboxOf({ podIds, inboxIds }: EventFilter): string | null {
  const [inboxId = null] = inboxIds
  return podIds.length === 0 && inboxIds.length === 1 ? inboxId : null
}

/** What the filter is applied to: rows that an index has in the order of the log. */
function rowsIn(db: ReadDb, { accountId, after, until, filter }: EventRange) {
  const range = { after, until: until ?? null }
  const query = inLog(db.reading.engine, db.read.selectFrom('events'), range)
  const inboxId = onlyInboxOf(filter)
  // With the account as well, an engine might scan through all that the account has.
  return inboxId !== null
    ? query.where('inbox_id', '=', inboxId)
    : query.where('account_id', '=', accountId).where(IS_NOT_ERASED)
}

function eventsIn(db: ReadDb, range: EventRange, end: LogPosition | null) {
  const { kinds, podIds, inboxIds } = range.filter
  const scanned = end === null ? range : windowOf(range, end)
  let query = rowsIn(db, scanned)
  if (kinds.length > 0) query = query.where('kind', 'in', kinds)
  if (onlyInboxOf(range.filter) !== null || podIds.length + inboxIds.length === 0) return query
  return query.where(({ eb, or }) =>
    or([
      ...(podIds.length > 0 ? [eb('pod_id', 'in', podIds)] : []),
      ...(inboxIds.length > 0 ? [eb('inbox_id', 'in', inboxIds)] : []),
    ]),
  )
}

/** The part of the range up to and with the end of a scan, in its order. */
function windowOf(range: EventRange, end: LogPosition): EventRange {
  return range.order === 'desc'
    ? { ...range, after: positionBefore(end) }
    : { ...range, until: end }
}

/** Where a scan at the range has to end; null when it may go to the end of it. */
async function findWindowEnd(db: ReadDb, range: EventRange): Promise<LogPosition | null> {
  const { kinds, podIds, inboxIds } = range.filter
  const isSparse = kinds.length > 0 || podIds.length > 0 || inboxIds.length > 1
  if (!isSparse) return null
  const { engine } = db.reading
  const { order = 'asc' } = range
  const row = await inLogOrder(engine, selectPlaces(engine, rowsIn(db, range)), order)
    .offset(LOG_WINDOW_EVENTS - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : positionOf(row)
}

/** Where a row stands in the log, or how far a reader has come. */
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
    occurredAtMs: row.occurred_at,
    details: row.details === null ? null : JSON.parse(row.details),
    traceParent: row.trace_parent,
  }
}

export type NewEvent = Omit<NewRow<'events'>, 'sequence' | 'transaction_id' | 'trace_parent'>

export type TracedEvent = NewEvent & { trace_parent: string | null }

/** Adds to the log, with the trace that the transaction is part of. */
export async function insertEvent(tx: Tx, event: NewEvent): Promise<void> {
  await insertEvents(tx, [{ ...event, trace_parent: tx.traceParent ?? null }])
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
])

export const insertEvents = forEachRow(EVENTS)

export type LogReaderName = 'webhooks' | 'figures'

/** How far the log has been read. */
export async function findReaderPosition(db: ReadDb, name: LogReaderName): Promise<LogPosition> {
  const row = await db.read
    .selectFrom('event_readers')
    .select(['transaction_id', 'sequence'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

/** False, and nothing is moved, when the reader is not at `from` any more: another process was first. */
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
