// Durable work: rows that say what to do and when, leased before they are worked on.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'

export type Job = { id: string; kind: string; payload: Record<string, unknown>; attempts: number }

/** A job and who claims to hold its lease; the lease may have ended and be another's by now. */
type Holding = { id: string; worker: string }

/** Adds a job in the transaction whose consequence it is. */
export const enqueueJob = transaction({
  name: 'enqueueJob',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: { id: string; kind: string; payload: object; runAtMs: number; nowMs: number },
  ): Promise<void> {
    await tx.query
      .insertInto('jobs')
      .values({
        id: input.id,
        kind: input.kind,
        payload: JSON.stringify(input.payload),
        run_at: input.runAtMs,
        leased_by: null,
        lease_until: null,
        created_at: input.nowMs,
      })
      .execute()
  },
})

/** Leases up to `limit` due jobs that nobody holds, oldest first. */
export const claimJobs = transaction({
  name: 'claimJobs',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    input: { worker: string; nowMs: number; leaseMs: number; limit: number },
  ): Promise<Job[]> {
    const due = tx.query
      .selectFrom('jobs')
      .selectAll()
      .where('run_at', '<=', input.nowMs)
      .where((row) =>
        row.or([row('lease_until', 'is', null), row('lease_until', '<=', input.nowMs)]),
      )
      .orderBy('run_at')
      .orderBy('id')
      .limit(input.limit)
    const rows = await lockRows(tx, due, { skipLocked: true }).execute()
    if (rows.length === 0) return []
    await tx.query
      .updateTable('jobs')
      .set((row) => ({
        leased_by: input.worker,
        lease_until: input.nowMs + input.leaseMs,
        attempts: row('attempts', '+', 1),
      }))
      .where(
        'id',
        'in',
        rows.map((row) => row.id),
      )
      .execute()
    return rows.map(toJob)
  },
})

/** How many jobs are due and not held by anybody. */
export async function countDueJobs(db: ReadDb, nowMs: number): Promise<number> {
  const { due } = await db.read
    .selectFrom('jobs')
    .select((row) => row.fn.countAll<number>().as('due'))
    .where('run_at', '<=', nowMs)
    .where((row) => row.or([row('lease_until', 'is', null), row('lease_until', '<=', nowMs)]))
    .executeTakeFirstOrThrow()
  return due
}

/** Lengthens the lease of a job; false when `worker` does not hold it any more. */
export const renewLease = transaction({
  name: 'renewLease',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { untilMs: number }): Promise<boolean> {
    return change(tx, input, { lease_until: input.untilMs })
  },
})

/** Removes a job that is done; false, as in the next two, when `worker` does not hold it any more. */
export const completeJob = transaction({
  name: 'completeJob',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding): Promise<boolean> {
    const removed = await tx.query
      .deleteFrom('jobs')
      .where('id', '=', input.id)
      .where('leased_by', '=', input.worker)
      .returning('id')
      .execute()
    return removed.length > 0
  },
})

/** Gives back a job that went well and is not at its end; what failed before is forgotten. */
export const continueJob = transaction({
  name: 'continueJob',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { nowMs: number }): Promise<boolean> {
    return change(tx, input, { ...NOT_LEASED, run_at: input.nowMs, attempts: 0 })
  },
})

/** Gives back a job that failed, to be tried again at `runAtMs`. */
export const retryJob = transaction({
  name: 'retryJob',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { runAtMs: number }): Promise<boolean> {
    return change(tx, input, { ...NOT_LEASED, run_at: input.runAtMs })
  },
})

/** Gives back all that `worker` holds and has not begun, as it was before the claim. */
export const returnJobs = transaction({
  name: 'returnJobs',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: { worker: string }): Promise<void> {
    await tx.query
      .updateTable('jobs')
      .set((row) => ({ ...NOT_LEASED, attempts: row('attempts', '-', 1) }))
      .where('leased_by', '=', input.worker)
      .execute()
  },
})

/** Ends every lease: for the start of the only process that can hold one. */
export const releaseLeases = transaction({
  name: 'releaseLeases',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, _input: object): Promise<void> {
    await tx.query.updateTable('jobs').set(NOT_LEASED).where('leased_by', 'is not', null).execute()
  },
})

const NOT_LEASED = { leased_by: null, lease_until: null }

/** Changes the row while it is held, and says whether it was. */
async function change(tx: Tx, { id, worker }: Holding, fields: Partial<Row<'jobs'>>) {
  const changed = await tx.query
    .updateTable('jobs')
    .set(fields)
    .where('id', '=', id)
    .where('leased_by', '=', worker)
    .returning('id')
    .execute()
  return changed.length > 0
}

function toJob(row: Row<'jobs'>): Job {
  return {
    id: row.id,
    kind: row.kind,
    payload: JSON.parse(row.payload) as Record<string, unknown>,
    attempts: row.attempts + 1,
  }
}
