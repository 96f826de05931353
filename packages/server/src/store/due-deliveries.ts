// What makes deliveries ready again: their time has come, or whoever held them is gone. All times are
// the queue's, which every process on the database shares.

import { sql } from 'kysely'
import { CLOCK_SKEW_MS, DUE_STEP_ROWS } from '#base/limits.ts'
import { lockRows } from '#db/dialect.ts'
import { idsOf, READY } from './delivery-claim.ts'
import type { ReadDb, Tx } from './tables.ts'

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

type DueInput = { queueMs: number; backoffMaxMs: number; leaseMs: number }

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
function dueRanges({ queueMs, backoffMaxMs, leaseMs }: DueInput): DueRange[] {
  const waiting = { state: 'waiting', column: 'next_attempt_at' } as const
  const leased = { state: 'leased', column: 'lease_until' } as const
  return [
    { ...waiting, is: '<=', timeMs: queueMs },
    { ...waiting, is: '>', timeMs: queueMs + backoffMaxMs + CLOCK_SKEW_MS },
    { ...leased, is: '<=', timeMs: queueMs },
    { ...leased, is: '>', timeMs: queueMs + leaseMs + CLOCK_SKEW_MS },
  ]
}

function selectDue(query: ReadDb['read'], { state, column, is, timeMs }: DueRange) {
  return query
    .selectFrom('deliveries')
    .select('id')
    .where('queue_state', '=', sql.lit(state))
    .where(column, is, timeMs)
}
