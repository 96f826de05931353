// Reads the log of all accounts in its order, up to the events that are settled.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { LOG_START, type LoggedEvent, type LogOffset, type MessageCategory } from '#events/model.ts'
import { inLog, inLogOrder, logOrder, selectOffsets } from '#platform/db/log-order.ts'
import type { ReadDb, Row } from '#store/tables.ts'
import { ERASED } from './append.ts'

/** No event is between the two offsets, because sequences are integers. */
export function offsetBefore({ transactionId, sequence }: LogOffset): LogOffset {
  return { transactionId, sequence: sequence - 1 }
}

/**
 * Settled events of all accounts. `includesAddedThreads` includes those of `reportAddedThreads`.
 */
export async function readLog(
  db: ReadDb,
  {
    after,
    limit,
    includesAddedThreads = false,
  }: { after: LogOffset; limit: number; includesAddedThreads?: boolean },
): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for (let from = after; ; await nextTurn()) {
    const query = inLog(db, db.read.selectFrom('events'), { after: from, until: null })
    const rows = await inLogOrder(db, query, 'asc').selectAll().limit(limit).execute()
    const isRead = (row: Row<'events'>) =>
      row.kind !== ERASED || (includesAddedThreads && row.inbox_id !== null)
    found.push(...rows.filter(isRead).map(toEvent))
    const last = rows.at(-1)
    if (found.length >= limit || rows.length < limit || last === undefined) {
      return found.slice(0, limit)
    }
    from = offsetOf(last)
  }
}

export async function readLogHead(db: ReadDb): Promise<LogOffset> {
  const row = await selectHead(db).executeTakeFirst()
  return row === undefined ? LOG_START : offsetOf(row)
}

function selectHead(db: ReadDb) {
  const query = inLog(db, db.read.selectFrom('events'), { after: LOG_START, until: null })
  return inLogOrder(db, selectOffsets(db, query), 'desc').limit(1)
}

/**
 * True while an older transaction is running. Readers must poll, because its end is not notified.
 */
export async function isUnsettledAfter(db: ReadDb, after: LogOffset): Promise<boolean> {
  const { isSettled, isAfter } = logOrder(db.reading)
  if (isSettled === null) return false
  const query = db.read.selectFrom('events').where(isAfter(after))
  // This order makes the planner use the index even if the table has no statistics.
  const first = query.select('sequence').orderBy('transaction_id').orderBy('sequence').limit(1)
  return (await first.executeTakeFirst()) !== undefined
}

/** A single statement reads both lists, so that no event is missing from both. */
export async function readLogHeadOf(
  db: ReadDb,
  inboxId: string,
): Promise<{ offset: LogOffset; unsettledIds: string[] }> {
  const { isUnsettled: condition } = logOrder(db.reading)
  if (condition === null) return { offset: await readLogHead(db), unsettledIds: [] }
  const head = db.read
    .selectFrom(selectHead(db).as('head'))
    .select(sql<string | null>`null`.as('id'))
  const waiting = db.read
    .selectFrom('events')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where(condition)
  const rows = await selectOffsets(db, head).unionAll(selectOffsets(db, waiting)).execute()
  const settled = rows.find(({ id }) => id === null)
  return {
    offset: settled === undefined ? LOG_START : offsetOf(settled),
    unsettledIds: rows.flatMap(({ id }) => id ?? []),
  }
}

export async function findUnsettledSince(db: ReadDb): Promise<number | null> {
  const { isUnsettled: condition } = logOrder(db.reading)
  if (condition === null) return null
  const row = await db.read
    .selectFrom('events')
    .select('occurred_at')
    .where(condition)
    // In this order the index begins with the event; ordered by time, all events would be read.
    .orderBy('transaction_id')
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return row?.occurred_at ?? null
}

export function offsetOf(row: Pick<Row<'events'>, 'transaction_id' | 'sequence'>): LogOffset {
  return { transactionId: row.transaction_id, sequence: row.sequence }
}

export function toEvent(row: Row<'events'>): LoggedEvent {
  return {
    offset: offsetOf(row),
    id: row.id,
    kind: row.kind as LoggedEvent['kind'],
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
