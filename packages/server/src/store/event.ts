// The log of events, from rows. Readers go from position to position; what they have read stays
// before whatever comes later.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COUNTED_MAX, LOG_WINDOW_EVENTS } from '#base/limits.ts'
import { inLog, inLogOrder, unsettledInLog } from '#db/dialect.ts'
import {
  type EventFilter,
  type EventKind,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
} from '#model/event.ts'
import type { ReadDb, Row } from './tables.ts'

/** The account's event with this id, or null. */
export async function findEvent(
  db: ReadDb,
  accountId: string,
  eventId: string,
): Promise<LoggedEvent | null> {
  const row = await db.read
    .selectFrom('events')
    .selectAll()
    .where('id', '=', eventId)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : toEvent(row)
}

export type EventRange = { accountId: string; after: LogPosition; filter: EventFilter }

/** Up to `limit` settled events of the account that pass the filter, in the order of the log. */
export async function listEvents(
  db: ReadDb,
  { limit, ...range }: EventRange & { limit: number },
): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for await (const window of windowsOf(db, range)) {
    const rows = await inLogOrder(db.reading.engine, eventsIn(db, range, window), 'asc')
      .selectAll()
      .limit(limit - found.length)
      .execute()
    found.push(...rows.map(toEvent))
    if (found.length >= limit) break
  }
  return found
}

/** How many there are, up to `COUNTED_MAX`. */
export async function countEvents(db: ReadDb, range: EventRange): Promise<number> {
  let counted = 0
  for await (const window of windowsOf(db, range)) {
    const matching = eventsIn(db, range, window)
      .select('sequence')
      .limit(COUNTED_MAX - counted)
    const row = await db.read
      .selectFrom(matching.as('matching'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirst()
    counted += row?.count ?? 0
    if (counted >= COUNTED_MAX) break
  }
  return counted
}

/** Up to `limit` settled events of all accounts, in the order of the log. */
export async function readLog(
  db: ReadDb,
  { after, limit }: { after: LogPosition; limit: number },
): Promise<LoggedEvent[]> {
  const { engine } = db.reading
  const query = inLog(engine, db.read.selectFrom('events'), { after, until: null })
  const rows = await inLogOrder(engine, query, 'asc').selectAll().limit(limit).execute()
  return rows.map(toEvent)
}

/** Where the settled part of the log ends. */
export async function readLogHead(db: ReadDb): Promise<LogPosition> {
  const { engine } = db.reading
  const query = inLog(engine, db.read.selectFrom('events'), { after: LOG_START, until: null })
  const row = await inLogOrder(engine, query, 'desc')
    .select(['transaction_id', 'sequence'])
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? LOG_START : positionOf(row)
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

/** Ids of the events of an inbox that were committed and stand behind what can be read yet. */
export async function listUnsettledIds(
  db: ReadDb,
  { inboxId, after }: { inboxId: string; after: LogPosition },
): Promise<string[]> {
  const query = unsettledInLog(db.reading.engine, db.read.selectFrom('events'), after)
  if (query === null) return []
  const rows = await query.where('inbox_id', '=', inboxId).select('id').execute()
  return rows.map(({ id }) => id)
}

type Window = { after: LogPosition; until: LogPosition | null }

function eventsIn(db: ReadDb, { accountId, filter }: EventRange, window: Window) {
  const { kinds, podIds, inboxIds } = filter
  let query = inLog(db.reading.engine, db.read.selectFrom('events'), window).where(
    'account_id',
    '=',
    accountId,
  )
  if (kinds.length > 0) query = query.where('kind', 'in', kinds)
  if (podIds.length > 0 || inboxIds.length > 0) {
    query = query.where(({ eb, or }) =>
      or([
        ...(podIds.length > 0 ? [eb('pod_id', 'in', podIds)] : []),
        ...(inboxIds.length > 0 ? [eb('inbox_id', 'in', inboxIds)] : []),
      ]),
    )
  }
  return query
}

/**
 * The range in pieces of so many events that looking through one takes a moment only: a filter may
 * leave out nearly all of a log of millions.
 */
async function* windowsOf(db: ReadDb, range: EventRange): AsyncGenerator<Window> {
  const { engine } = db.reading
  const { accountId, filter } = range
  let { after } = range
  const isWhole = [filter.kinds, filter.podIds, filter.inboxIds].every((list) => list.length === 0)
  while (!isWhole) {
    const query = inLog(engine, db.read.selectFrom('events'), { after, until: null })
    const row = await inLogOrder(engine, query.where('account_id', '=', accountId), 'asc')
      .select(['transaction_id', 'sequence'])
      .offset(LOG_WINDOW_EVENTS - 1)
      .limit(1)
      .executeTakeFirst()
    if (row === undefined) break
    const until = positionOf(row)
    yield { after, until }
    after = until
    await nextTurn()
  }
  yield { after, until: null }
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
  }
}
