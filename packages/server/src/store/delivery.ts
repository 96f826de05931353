// Deliveries as a durable queue: what is due, who holds it, and when it is tried again. Times of the
// queue are the steady clock's, times of leases the wall clock's, which processes share.

import { sql } from 'kysely'
import { CLOCK_SKEW_MS, DUE_STEP_ROWS } from '#base/limits.ts'
import { lockRows } from '#db/dialect.ts'
import { statement } from '#db/statement.ts'
import type { Delivery, DeliveryStatus } from '#model/delivery.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from './tables.ts'

export type NewDelivery = Pick<
  NewRow<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'inbox_id'
  | 'message_id'
  | 'raw_id'
  | 'size_bytes'
  | 'needs_smtputf8'
  | 'recipient'
  | 'lane'
  | 'next_attempt_at'
  | 'expires_at'
  | 'created_at'
>

/** A delivery in the hands of a worker. */
export type HeldDelivery = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'inbox_id'
  | 'message_id'
  | 'raw_id'
  | 'size_bytes'
  | 'needs_smtputf8'
  | 'recipient'
  | 'lane'
  | 'attempts'
  | 'ambiguous_attempts'
  | 'expires_at'
>

/**
 * Lanes with deliveries that nobody holds, in order of their names, after `after`. From the first row
 * of one lane straight to the first of the next: what it costs is lanes, not deliveries.
 */
export function listReadyLanes(
  db: ReadDb,
  input: { after: string; limit: number },
): Promise<{ lane: string }[]> {
  return selectLanes(db.reading, input)
}

/** Leases deliveries of these lanes, each lane's longest due first, and counts an attempt for each. */
export async function claimDeliveries(
  tx: Tx,
  input: {
    worker: string
    lanes: { lane: string; limit: number }[]
    nowMs: number
    leaseMs: number
  },
): Promise<HeldDelivery[]> {
  const held: HeldDelivery[] = []
  for (const lane of input.lanes) held.push(...(await selectReady(tx, lane)))
  if (held.length === 0) return []
  const living = await dropOrphans(tx, held)
  for (const delivery of living) {
    delivery.attempts += 1
  }
  if (living.length === 0) return []
  await tx.query
    .updateTable('deliveries')
    .set((row) => ({
      queue_state: 'leased',
      attempts: row('attempts', '+', 1),
      last_attempt_at: input.nowMs,
      leased_by: input.worker,
      lease_until: input.nowMs + input.leaseMs,
    }))
    .where('id', 'in', idsOf(living))
    .execute()
  return living
}

/**
 * Lengthens the leases of these, as far as `worker` holds them. What is locked is being settled, or is
 * renewed the next time.
 */
export async function renewDeliveries(
  tx: Tx,
  input: { worker: string; ids: string[]; untilMs: number },
): Promise<void> {
  if (input.ids.length === 0) return
  const leased = tx.query
    .selectFrom('deliveries')
    .select('id')
    .where('id', 'in', input.ids)
    .where('leased_by', '=', input.worker)
  const held = idsOf(await lockRows(tx, leased, { skipLocked: true }).execute())
  if (held.length === 0) return
  await tx.query
    .updateTable('deliveries')
    .set({ lease_until: input.untilMs })
    .where('id', 'in', held)
    .execute()
}

/** Gives back deliveries that were not attempted, as they were before the claim. */
export async function returnDeliveries(
  tx: Tx,
  input: { worker: string; ids: string[] },
): Promise<void> {
  if (input.ids.length === 0) return
  await tx.query
    .updateTable('deliveries')
    .set((row) => ({
      ...READY,
      attempts: row('attempts', '-', 1),
      last_attempt_at: sql`case when attempts > 1 then last_attempt_at end`,
    }))
    .where('id', 'in', input.ids)
    .where('leased_by', '=', input.worker)
    .execute()
}

/**
 * Makes ready what is due, and what was held by a process that is not heard of any more; up to
 * DUE_STEP_ROWS of each, true when there may be more.
 */
export async function readyDueDeliveries(tx: Tx, input: DueInput): Promise<boolean> {
  let hasMore = false
  for (const range of dueRanges(input)) {
    const due = selectDue(tx.query, range).limit(DUE_STEP_ROWS)
    const ids = idsOf(await lockRows(tx, due, { skipLocked: true }).execute())
    if (ids.length === 0) continue
    if (range.state === 'leased') await takeBack(tx, ids)
    else {
      await tx.query
        .updateTable('deliveries')
        .set({ queue_state: 'ready' })
        .where('id', 'in', ids)
        .execute()
    }
    hasMore ||= ids.length === DUE_STEP_ROWS
  }
  return hasMore
}

/** Whether `readyDueDeliveries` would find something: a look, which costs no commit. */
export async function hasDueDeliveries(db: ReadDb, input: DueInput): Promise<boolean> {
  for (const range of dueRanges(input)) {
    const found = await selectDue(db.read, range).limit(1).executeTakeFirst()
    if (found !== undefined) return true
  }
  return false
}

/**
 * Takes back the leases of an instance that has just started, or all of them where there can be no
 * other (null). Names of workers begin with their instance and a space.
 */
export async function releaseDeliveries(
  tx: Tx,
  { instance }: { instance: string | null },
): Promise<void> {
  let leased = tx.query
    .selectFrom('deliveries')
    .select('id')
    .where('queue_state', '=', sql.lit('leased'))
  if (instance !== null) {
    // Between the space and the character after it.
    leased = leased.where('leased_by', '>', `${instance} `).where('leased_by', '<', `${instance}!`)
  }
  await takeBack(tx, idsOf(await lockRows(tx, leased, { skipLocked: true }).execute()))
}

/** Deliveries of a message, in the order of its recipients. The caller has found the message. */
export async function listDeliveries(
  db: ReadDb,
  input: { accountId: string; messageId: string; limit: number; offset: number },
): Promise<{ deliveries: Delivery[]; total: number }> {
  const rows = await db.read
    .selectFrom('deliveries')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('message_id', '=', input.messageId)
    .orderBy('id')
    .execute()
  const page = rows.slice(input.offset, input.offset + input.limit)
  return { deliveries: page.map(toDelivery), total: rows.length }
}

/** How many deliveries are in this state of the queue, for metrics. */
export async function countQueue(
  db: ReadDb,
  state: 'ready' | 'waiting' | 'leased',
): Promise<number> {
  const { count } = await db.read
    .selectFrom('deliveries')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('queue_state', '=', sql.lit(state))
    .executeTakeFirstOrThrow()
  return count
}

const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

/** What the process that held them may have sent is sent again, byte for byte. */
const TAKEN_BACK = 'The service stopped during an attempt, which is made again.'

async function takeBack(tx: Tx, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query
    .updateTable('deliveries')
    .set({ ...READY, response_code: null, enhanced_code: null, response: TAKEN_BACK })
    .where('id', 'in', ids)
    .execute()
}

/** Removes those whose inbox was deleted, and gives back the others. */
async function dropOrphans(tx: Tx, held: HeldDelivery[]): Promise<HeldDelivery[]> {
  const inboxIds = [...new Set(held.map((delivery) => delivery.inbox_id))]
  const rows = await tx.query
    .selectFrom('inboxes')
    .select('id')
    .where('id', 'in', inboxIds)
    .execute()
  if (rows.length === inboxIds.length) return held
  const living = new Set(rows.map((row) => row.id))
  const orphans = held.filter((delivery) => !living.has(delivery.inbox_id))
  await tx.query.deleteFrom('deliveries').where('id', 'in', idsOf(orphans)).execute()
  return held.filter((delivery) => living.has(delivery.inbox_id))
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id)
}

function toDelivery(row: Row<'deliveries'>): Delivery {
  return {
    id: row.id,
    recipient: row.recipient,
    status: row.status as DeliveryStatus,
    attempts: row.attempts,
    lastAttemptAtMs: row.last_attempt_at,
    nextAttemptAtMs: row.next_attempt_at,
    host: row.host,
    tls: row.tls,
    responseCode: row.response_code,
    enhancedCode: row.enhanced_code,
    response: row.response,
  }
}

type DueInput = { steadyMs: number; nowMs: number; backoffMaxMs: number; leaseMs: number }

type DueRange = {
  state: 'waiting' | 'leased'
  column: 'next_attempt_at' | 'lease_until'
  is: '<=' | '>'
  timeMs: number
}

/**
 * The past, and times further off than any backoff or lease: those were written before the clock was
 * set back. Each is looked for by itself, because for two ends of an index joined by "or" SQLite reads
 * all that is between them.
 */
function dueRanges({ steadyMs, nowMs, backoffMaxMs, leaseMs }: DueInput): DueRange[] {
  const waiting = { state: 'waiting', column: 'next_attempt_at' } as const
  const leased = { state: 'leased', column: 'lease_until' } as const
  return [
    { ...waiting, is: '<=', timeMs: steadyMs },
    { ...waiting, is: '>', timeMs: steadyMs + backoffMaxMs + CLOCK_SKEW_MS },
    { ...leased, is: '<=', timeMs: nowMs },
    { ...leased, is: '>', timeMs: nowMs + leaseMs + CLOCK_SKEW_MS },
  ]
}

function selectDue(query: ReadDb['read'], { state, column, is, timeMs }: DueRange) {
  return query
    .selectFrom('deliveries')
    .select('id')
    .where('queue_state', '=', sql.lit(state))
    .where(column, is, timeMs)
}

const selectLanes = statement<Tables, { after: string; limit: number }, { lane: string }>(
  (query, place) => ({
    compile: () =>
      sql<{ lane: string }>`
        with recursive lanes (lane) as (
          select min(lane) from deliveries
          where queue_state = 'ready' and lane > ${place('after')}
          union all
          select (
            select min(deliveries.lane) from deliveries
            where queue_state = 'ready' and deliveries.lane > lanes.lane
          )
          from lanes where lanes.lane is not null
        )
        select lane from lanes where lane is not null limit ${place('limit')}
      `.compile(query),
  }),
)

const selectReady = statement<Tables, { lane: string; limit: number }, HeldDelivery>(
  (query, place, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('deliveries')
        .select([
          'id',
          'account_id',
          'inbox_id',
          'message_id',
          'raw_id',
          'size_bytes',
          'needs_smtputf8',
          'recipient',
          'lane',
          'attempts',
          'ambiguous_attempts',
          'expires_at',
        ])
        .where('queue_state', '=', sql.lit('ready'))
        .where('lane', '=', place('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(place('limit')),
      { skipLocked: true },
    ),
)

/** Puts one recipient of a message into the queue, ready at once. */
export const insertDelivery = statement<Tables, NewDelivery, never>((query, place) =>
  query.insertInto('deliveries').values({
    id: place('id'),
    account_id: place('account_id'),
    inbox_id: place('inbox_id'),
    message_id: place('message_id'),
    raw_id: place('raw_id'),
    size_bytes: place('size_bytes'),
    needs_smtputf8: place('needs_smtputf8'),
    recipient: place('recipient'),
    lane: place('lane'),
    queue_state: sql.lit('ready'),
    status: sql.lit('queued'),
    attempts: sql.lit(0),
    ambiguous_attempts: sql.lit(0),
    last_attempt_at: null,
    next_attempt_at: place('next_attempt_at'),
    expires_at: place('expires_at'),
    leased_by: null,
    lease_until: null,
    host: null,
    tls: null,
    response_code: null,
    enhanced_code: null,
    response: null,
    created_at: place('created_at'),
  }),
)
