// Lengths and ages of queues, for metrics. Each query is bounded. Other work runs between two
// queries, because the embedded engine works on the main thread.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { LogOffset } from '#events/model.ts'
import { findReaderOffset } from '#events/store/readers.ts'
import { countedRows } from '#platform/db/dialect.ts'
import { inLog, inLogOrder } from '#platform/db/log-order.ts'
import type { QueueState, QueueTable } from '#queue/leased-queue.ts'
import { TRASH_MS } from '#removal/store/trash.ts'
import type { ReadDb, Tables } from '#store/tables.ts'

/** Maximum rows of a queue that a query counts, which takes a few milliseconds. */
export const QUEUE_COUNT_MAX = 10_000
/** For the age of a longer queue, the oldest delivery of this many lanes is read. */
const QUEUE_AGE_LANES_MAX = 500
const LOG_LAG_EVENTS_MAX = 10_000

/** `oldestAtMs` is null for an empty queue. */
export type Waiting = { count: number; oldestAtMs: number | null }

export type QueueFigures = {
  ready: number
  waiting: number
  leased: number
  /** When the longest-waiting delivery was due, or else when the next one is, in queue time. */
  dueAtMs: number | null
}

/**
 * Counts up to QUEUE_COUNT_MAX of a state; beyond that, the count is the server's estimate, if any,
 * and the age is read from the first QUEUE_AGE_LANES_MAX lanes.
 */
export async function readQueueFigures(db: ReadDb, table: QueueTable): Promise<QueueFigures> {
  const ready = await readState(db, { table, state: 'ready', column: 'next_attempt_at' })
  const waiting = await readState(db, { table, state: 'waiting', column: 'next_attempt_at' })
  const leased = await readState(db, { table, state: 'leased', column: 'lease_until' })
  const ofLanes = ready.count < QUEUE_COUNT_MAX ? null : await findOldestOfLanes(db, table)
  return {
    ready: ready.count,
    waiting: waiting.count,
    leased: leased.count,
    // Includes due deliveries that no process has made ready or taken over.
    dueAtMs: earliest([ready.oldestAtMs, ofLanes, waiting.oldestAtMs, leased.oldestAtMs]),
  }
}

/** Counts due and leased purges among the first QUEUE_COUNT_MAX. */
export async function readJobFigures(
  db: ReadDb,
  nowMs: number,
): Promise<{ due: Waiting; leased: number }> {
  await yieldToOthers()
  const first = db.read
    .selectFrom('jobs')
    .select([
      sql<number>`due_at`.as('at'),
      sql<number>`case when leased_by is not null and due_at > ${nowMs} then 1 else 0 end`.as(
        'held',
      ),
    ])
    .where('kind', '=', 'purge')
    .where((row) => row.or([row('due_at', '<=', nowMs), row('leased_by', 'is not', null)]))
    .orderBy('due_at')
    .limit(QUEUE_COUNT_MAX)
  const { count, leased, oldest } = await db.read
    .selectFrom(first.as('jobs'))
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(held), 0)`.as('leased'),
      sql<number | null>`min(case when held = 0 then at end)`.as('oldest'),
    ])
    .executeTakeFirstOrThrow()
  return { due: { count: count - leased, oldestAtMs: oldest }, leased }
}

export async function readDueDomainChecks(db: ReadDb, nowMs: number): Promise<Waiting> {
  const due = db.read
    .selectFrom('domains')
    .select(timeIn('next_check_at'))
    .where('next_check_at', '<=', nowMs)
    .orderBy('next_check_at')
    .limit(QUEUE_COUNT_MAX)
  return summarize(db, due)
}

export async function readFanOutLag(db: ReadDb): Promise<Waiting> {
  const behind = eventsAfter(db, await findReaderOffset(db, 'webhooks'))
  return summarize(db, behind.select(timeIn('occurred_at')).limit(LOG_LAG_EVENTS_MAX))
}

function eventsAfter(db: ReadDb, after: LogOffset) {
  const behind = inLog(db, db.read.selectFrom('events'), { after, until: null })
  return inLogOrder(db, behind, 'asc')
}

function timeIn(column: string) {
  return sql<number | null>`${sql.ref(column)}`.as('at')
}

async function summarize<Name extends keyof Tables>(
  db: ReadDb,
  rows: SelectQueryBuilder<Tables, Name, { at: number | null }>,
): Promise<Waiting> {
  await yieldToOthers()
  const row = await db.read
    .selectFrom(rows.as('rows'))
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<number | null>('rows.at').as('oldest'),
    ])
    .executeTakeFirstOrThrow()
  return { count: row.count, oldestAtMs: row.oldest }
}

const WORK_STATES = {
  export: ['queued', 'running'],
  import: ['receiving', 'queued', 'running'],
  erasure: ['queued', 'running'],
} as const

type WorkFigures = { states: Record<string, number>; oldestAtMs: number | null }

/** Counts unfinished exports, imports and erasures, each up to QUEUE_COUNT_MAX. */
export async function readWorkFigures(
  db: ReadDb,
  nowMs: number,
): Promise<Record<keyof typeof WORK_STATES, WorkFigures>> {
  await yieldToOthers()
  const transfers = db.read
    .selectFrom('transfers')
    .select(['kind', 'status', 'created_at'])
    .where('completed_at', 'is', null)
    // Interrupted uploads wait for their removal.
    .where((row) => row.or([row('status', '!=', 'receiving'), row('expires_at', '>', nowMs)]))
    .limit(QUEUE_COUNT_MAX)
  const erasures = db.read
    .selectFrom('erasures')
    .select([sql<string>`'erasure'`.as('kind'), 'status', 'created_at'])
    .where('completed_at', 'is', null)
    .limit(QUEUE_COUNT_MAX)
  const rows = [
    ...(await countStates(db, transfers).execute()),
    ...(await countStates(db, erasures).execute()),
  ]
  const figuresOf = (kind: keyof typeof WORK_STATES): WorkFigures => {
    const own = rows.filter((row) => row.kind === kind)
    const countOf = (state: string) =>
      Number(own.find(({ status }) => status === state)?.count ?? 0)
    return {
      states: Object.fromEntries(WORK_STATES[kind].map((state) => [state, countOf(state)])),
      oldestAtMs: earliest(own.map(({ oldest }) => oldest)),
    }
  }
  return {
    export: figuresOf('export'),
    import: figuresOf('import'),
    erasure: figuresOf('erasure'),
  }
}

function countStates<Unfinished extends { kind: string; status: string; created_at: number }>(
  db: ReadDb,
  rows: SelectQueryBuilder<Tables, 'transfers' | 'erasures', Unfinished>,
) {
  return db.read
    .selectFrom(rows.as('unfinished'))
    .select(({ fn, ref }) => [
      sql<string>`${ref('unfinished.kind')}`.as('kind'),
      sql<string>`${ref('unfinished.status')}`.as('status'),
      fn.countAll<number | string>().as('count'),
      sql<number>`min(${ref('unfinished.created_at')})`.as('oldest'),
    ])
    .groupBy(['unfinished.kind', 'unfinished.status'])
}

/** Counts expired inboxes, and trashed threads due for removal, each up to QUEUE_COUNT_MAX. */
export async function readRetentionFigures(
  db: ReadDb,
  nowMs: number,
): Promise<{ inboxes: Waiting; threads: Waiting }> {
  await yieldToOthers()
  const inboxes = db.read
    .selectFrom('inboxes')
    .select(timeIn('expires_at'))
    .where('expires_at', '<=', nowMs)
    .orderBy('expires_at')
    .limit(QUEUE_COUNT_MAX)
  const threads = db.read
    .selectFrom('threads')
    .select(timeIn('trashed_at'))
    .where('trashed_at', '>', 0)
    .where('trashed_at', '<=', nowMs - TRASH_MS)
    .orderBy('trashed_at')
    .limit(QUEUE_COUNT_MAX)
  const trashed = await summarize(db, threads)
  return {
    inboxes: await summarize(db, inboxes),
    threads: {
      count: trashed.count,
      oldestAtMs: trashed.oldestAtMs === null ? null : trashed.oldestAtMs + TRASH_MS,
    },
  }
}

type StateOf = {
  table: QueueTable
  state: QueueState
  column: 'next_attempt_at' | 'lease_until'
}

async function readState(db: ReadDb, of: StateOf): Promise<Waiting> {
  const found = await summarize(db, timesOf(db, of).limit(QUEUE_COUNT_MAX))
  const counted = countedRows(db.reading.engine, `${of.table}_${of.state}`)
  if (found.count < QUEUE_COUNT_MAX || counted === null) return found
  const { rows } = await counted.execute(db.read)
  return { ...found, count: Math.max(QUEUE_COUNT_MAX, rows[0]?.rows ?? 0) }
}

/** Ordered like the state's index, so that an engine reads the index only up to the limit. */
function timesOf(db: ReadDb, { table, state, column }: StateOf) {
  const rows = db.read
    .selectFrom(table as 'deliveries')
    .select(timeIn(column))
    .where(sql<SqlBool>`queue_state = ${sql.lit(state)}`)
  return state === 'ready' ? rows.orderBy('lane').orderBy(column) : rows.orderBy(column)
}

/** Jumps through the index from the first row of a lane to the first row of the next. */
async function findOldestOfLanes(db: ReadDb, table: keyof Tables): Promise<number | null> {
  await yieldToOthers()
  const from = sql.table(table)
  const { rows } = await sql<{ oldest: number | null }>`
    with recursive lanes (lane) as (
      select min(lane) from ${from} where queue_state = 'ready'
      union all
      select (
        select min(${from}.lane) from ${from}
        where queue_state = 'ready' and ${from}.lane > lanes.lane
      )
      from lanes where lanes.lane is not null
    )
    select min((
      select min(next_attempt_at) from ${from}
      where queue_state = 'ready' and ${from}.lane = first_lanes.lane
    )) as oldest
    from (
      select lane from lanes where lane is not null limit ${sql.lit(QUEUE_AGE_LANES_MAX)}
    ) as first_lanes
  `.execute(db.read)
  return rows[0]?.oldest ?? null
}

function earliest(times: (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}
