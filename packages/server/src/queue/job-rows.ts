// Durable jobs: rows with the kind of work and its time, leased before they are worked on.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'

export type Job = { id: string; kind: string; payload: Record<string, unknown>; attempts: number }

/** A job and the worker that claims its lease. The lease may have expired and be another worker's. */
type Holding = { id: string; worker: string }

/** Adds a job within the transaction that makes it necessary. */
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

/** Leases up to `limit` due jobs that no worker holds, oldest first. */
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

export async function countDueJobs(db: ReadDb, nowMs: number): Promise<number> {
  const { due } = await db.read
    .selectFrom('jobs')
    .select((row) => row.fn.countAll<number>().as('due'))
    .where('run_at', '<=', nowMs)
    .where((row) => row.or([row('lease_until', 'is', null), row('lease_until', '<=', nowMs)]))
    .executeTakeFirstOrThrow()
  return due
}

/** Renews the lease of a job; false when `worker` does not hold it any more. */
export const renewLease = transaction({
  name: 'renewLease',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { untilMs: number }): Promise<boolean> {
    return change(tx, input, { lease_until: input.untilMs })
  },
})

/** Removes a finished job; false, here and in the next two, when `worker` does not hold it any more. */
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

/** Returns a job that has made progress and is not finished, with its attempts reset. */
export const continueJob = transaction({
  name: 'continueJob',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { nowMs: number }): Promise<boolean> {
    return change(tx, input, { ...NOT_LEASED, run_at: input.nowMs, attempts: 0 })
  },
})

/** Returns a job that failed, to be retried at `runAtMs`. */
export const retryJob = transaction({
  name: 'retryJob',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Holding & { runAtMs: number }): Promise<boolean> {
    return change(tx, input, { ...NOT_LEASED, run_at: input.runAtMs })
  },
})

/** Returns all jobs that `worker` holds and has not begun. */
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

/** Ends every lease; for the start of a process that is alone with its database. */
export const releaseLeases = transaction({
  name: 'releaseLeases',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, _input: object): Promise<void> {
    await tx.query.updateTable('jobs').set(NOT_LEASED).where('leased_by', 'is not', null).execute()
  },
})

const NOT_LEASED = { leased_by: null, lease_until: null }

/** Changes the row if `worker` holds it; returns whether it does. */
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
