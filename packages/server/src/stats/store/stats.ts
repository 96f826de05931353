// Hourly figures count each event once, because the same transaction moves the reader's offset.

import type { LogOffset } from '#events/model.ts'
import { offsetOf } from '#events/store/log.ts'
import { findReaderOffset, moveReader } from '#events/store/readers.ts'
import { transaction } from '#platform/db/db.ts'
import { inLog, inLogOrder } from '#platform/db/log-order.ts'
import { addLatencies, type Latencies } from '#platform/telemetry/latency.ts'
import { DAY_MS } from '#platform/units.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { ReadDb, Tx } from '#store/tables.ts'
import { countsOf, type Days, type MailCounts, purgeInboxDays } from './usage.ts'

/** Figures are kept for a year, and a month for comparison. */
export const MAIL_HOURS_MS = 400 * DAY_MS

export type MailHour = MailCounts & { hourAtMs: number; latencies: Latencies }

export type AccountHour = MailHour & { accountId: string }

export type CounterName = 'figures' | 'inbox_days'

export type CountedEvent = {
  offset: LogOffset
  kind: string
  accountId: string
  /** Null if the inbox is deleted. */
  inboxId: string | null
  occurredAtMs: number
  /**
   * The time from which a sent message could leave: it was accepted, its time had come, and it was
   * approved. Null for other kinds and for removed messages.
   */
  releasedAtMs: number | null
}

const COUNTED_KINDS = ['message.received', 'message.sent', 'message.failed']

/** Reads events in log order, even erased ones. `countedOnly` skips events without a figure. */
export async function readLogToCount(
  db: ReadDb,
  { after, limit, countedOnly = false }: { after: LogOffset; limit: number; countedOnly?: boolean },
): Promise<CountedEvent[]> {
  const events = db.read
    .selectFrom('events')
    // Only sent messages are joined, because message rows are large.
    .leftJoin('messages', (join) =>
      join.onRef('messages.id', '=', 'events.message_id').on('events.kind', '=', 'message.sent'),
    )
    .$if(countedOnly, (query) => query.where('events.kind', 'in', COUNTED_KINDS))
  const rows = await inLogOrder(db, inLog(db, events, { after, until: null }), 'asc')
    .select([
      'events.transaction_id',
      'events.sequence',
      'events.kind',
      'events.account_id',
      'events.inbox_id',
      'events.occurred_at',
      'messages.created_at',
      'messages.scheduled_at',
      (eb) =>
        eb
          .selectFrom('reviews')
          .select(({ fn }) => fn.max('decided_at').as('decided_at'))
          .whereRef('reviews.message_id', '=', 'messages.id')
          .as('decided_at'),
    ])
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    offset: offsetOf(row),
    kind: row.kind,
    accountId: row.account_id,
    inboxId: row.inbox_id,
    occurredAtMs: row.occurred_at,
    releasedAtMs:
      row.created_at === null
        ? null
        : Math.max(row.created_at, row.scheduled_at ?? 0, row.decided_at ?? 0),
  }))
}

/** `sinceMs` is the time of the first uncounted event, or null if there is none. */
export async function findUncounted(
  db: ReadDb,
  name: CounterName,
): Promise<{ offset: LogOffset; sinceMs: number | null }> {
  const offset = await findReaderOffset(db, name)
  const [first] = await readLogToCount(db, { after: offset, limit: 1, countedOnly: true })
  return { offset, sinceMs: first?.occurredAtMs ?? null }
}

/** Lists hours oldest first and omits hours without events. */
export async function listMailHours(
  db: ReadDb,
  { accountId, sinceMs }: { accountId: string; sinceMs: number },
): Promise<MailHour[]> {
  const rows = await db.read
    .selectFrom('mail_hours')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('hour_at', '>=', sinceMs)
    .orderBy('hour_at')
    .execute()
  return rows.map((row) => ({
    hourAtMs: row.hour_at,
    received: row.received,
    sent: row.sent,
    failed: row.failed,
    latencies: JSON.parse(row.latencies) as Latencies,
  }))
}

export async function sumMailHours(
  db: ReadDb,
  { accountId, sinceMs, untilMs }: Days,
): Promise<MailCounts> {
  const row = await db.read
    .selectFrom('mail_hours')
    .select(({ fn }) => [
      fn.sum<number | string | null>('received').as('received'),
      fn.sum<number | string | null>('sent').as('sent'),
      fn.sum<number | string | null>('failed').as('failed'),
    ])
    .where('account_id', '=', accountId)
    .where('hour_at', '>=', sinceMs)
    .where('hour_at', '<', untilMs)
    .executeTakeFirstOrThrow()
  return countsOf(row)
}

export async function countUnread(
  db: ReadDb,
  accountId: string,
): Promise<{ inboxes: number; unreadThreads: number }> {
  const row = await db.read
    .selectFrom('inboxes')
    .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .select(({ fn }) => [
      fn.countAll<number>().as('inboxes'),
      fn.sum<number | null>('inbox_counters.unread_thread_count').as('unread'),
    ])
    .where('inboxes.account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return { inboxes: row.inboxes, unreadThreads: Number(row.unread ?? 0) }
}

/** Returns false and adds nothing if the reader is not at `from`. */
export const addMailHours = transaction({
  name: 'addMailHours',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: {
      from: LogOffset
      to: LogOffset
      hours: AccountHour[]
    },
  ): Promise<boolean> {
    const { from, to, hours } = input
    if (!(await moveReader(tx, { name: 'figures', from, to }))) return false
    for (const hour of hours) {
      const known = await tx.query
        .selectFrom('mail_hours')
        .selectAll()
        .where('account_id', '=', hour.accountId)
        .where('hour_at', '=', hour.hourAtMs)
        .executeTakeFirst()
      const kept = known === undefined ? {} : (JSON.parse(known.latencies) as Latencies)
      const figures = {
        received: (known?.received ?? 0) + hour.received,
        sent: (known?.sent ?? 0) + hour.sent,
        failed: (known?.failed ?? 0) + hour.failed,
        latencies: JSON.stringify(addLatencies(kept, hour.latencies)),
      }
      await tx.query
        .insertInto('mail_hours')
        .values({ account_id: hour.accountId, hour_at: hour.hourAtMs, ...figures })
        .onConflict((conflict) => conflict.columns(['account_id', 'hour_at']).doUpdateSet(figures))
        .execute()
    }
    return true
  },
})

/** Returns the greater number of removed hours and days. */
export async function purgeMailFigures(tx: Tx, nowMs: number): Promise<number> {
  const untilMs = nowMs - MAIL_HOURS_MS
  const removed = await tx.query
    .deleteFrom('mail_hours')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'hour_at'),
        'in',
        selectFrom('mail_hours')
          .select(['account_id', 'hour_at'])
          .where('hour_at', '<', untilMs)
          .limit(PURGE_STEP_ROWS)
          .$asTuple('account_id', 'hour_at'),
      ),
    )
    .returning('hour_at')
    .execute()
  return Math.max(removed.length, await purgeInboxDays(tx, untilMs))
}
