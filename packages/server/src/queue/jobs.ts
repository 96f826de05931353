// The table of jobs: work that one worker at a time does under a lease. `due_at` is when a worker
// may claim the job: its next run or, while it is leased, the end of the lease.

import type { ExpressionBuilder } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import { addFailure, type Failure, type Trouble, waitAfter } from './trouble.ts'

export type Job = {
  kind: string
  /** What the job works on; unique within its kind. */
  key: string
  /** Empty for the service's own work. */
  accountId: string
  payload: Record<string, unknown>
  /** Failed attempts since the last progress; null for none. */
  trouble: Trouble | null
}

/** A job and the worker that claims its lease. The lease may be another worker's by now. */
export type Held = { kind: string; key: string; worker: string; nowMs: number }

/**
 * `again`: it made progress and is not finished. With a failure it is retried after a wait, or at
 * `retryAtMs`.
 */
export type Outcome = 'done' | 'again' | { failure: Failure; retryAtMs?: number }

type Added = Pick<NewRow<'jobs'>, 'kind' | 'key' | 'account_id' | 'due_at'>

/** Adds jobs in the transaction that makes them necessary. A job that exists stays as it is. */
export const insertJobs = forEachRow(
  rowInsert<Tables, Added & { payload: string | null }>(
    'jobs',
    ['kind', 'key', 'account_id', 'due_at', 'payload'],
    'on conflict (kind, key) do nothing',
  ),
)

export const addJobs = transaction({
  name: 'addJobs',
  accountOf: () => null,
  async run(tx: Tx, { jobs }: { jobs: Added[] }): Promise<void> {
    await insertJobs(
      tx,
      jobs.map((job) => ({ ...job, payload: null })),
    )
  },
})

type Due = {
  kind: string
  /** Only jobs with these keys. */
  keys?: readonly string[] | undefined
  /** Only jobs of accounts none of whose jobs of this kind is leased. */
  isExclusive?: boolean | undefined
  nowMs: number
  /** A job that is due later than this is due now: a clock that was wrong wrote its time. */
  latestMs?: number | undefined
}

function isDue({ kind, keys, isExclusive, nowMs, latestMs }: Due) {
  return (row: ExpressionBuilder<Tables, 'jobs'>) =>
    row.and([
      row('kind', '=', kind),
      latestMs === undefined
        ? row('due_at', '<=', nowMs)
        : row.or([row('due_at', '<=', nowMs), row('due_at', '>', latestMs)]),
      ...(keys === undefined ? [] : [row('key', 'in', keys)]),
      ...(isExclusive === true ? [row.not(row.exists(leasedOfAccount(row, nowMs)))] : []),
    ])
}

function leasedOfAccount(row: ExpressionBuilder<Tables, 'jobs'>, nowMs: number) {
  return row
    .selectFrom('jobs as other')
    .select('other.key')
    .whereRef('other.kind', '=', 'jobs.kind')
    .whereRef('other.account_id', '=', 'jobs.account_id')
    .where('other.leased_by', 'is not', null)
    .where('other.due_at', '>', nowMs)
}

/** Whether there is a job to claim. A read is cheap; a claim costs a commit. */
export async function hasDueJob(
  db: ReadDb,
  { exceptAccount, ...due }: Due & { exceptAccount?: string },
): Promise<boolean> {
  let query = db.read.selectFrom('jobs').select('key').where(isDue(due)).limit(1)
  if (exceptAccount !== undefined) query = query.where('account_id', '!=', exceptAccount)
  return (await query.executeTakeFirst()) !== undefined
}

/**
 * Leases up to `limit` due jobs, oldest first, of the next account after `afterAccount`, round
 * robin.
 */
export const claimJobs = transaction({
  name: 'claimJobs',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    input: Due & { worker: string; leaseMs: number; limit: number; afterAccount: string },
  ): Promise<Job[]> {
    const { kind, worker, nowMs, leaseMs, limit, afterAccount } = input
    const due = tx.query
      .selectFrom('jobs')
      .selectAll()
      .where(isDue(input))
      .orderBy('account_id')
      .orderBy('key')
    const lock = (query: typeof due) => lockRows(tx, query, { skipLocked: true })
    const next = due.limit(1)
    const first =
      (await lock(next.where('account_id', '>', afterAccount)).executeTakeFirst()) ??
      (await lock(next).executeTakeFirst())
    if (first === undefined) return []
    const ofAccount = due.where('account_id', '=', first.account_id).limit(limit)
    const rows = limit === 1 ? [first] : await lock(ofAccount).execute()
    await tx.query
      .updateTable('jobs')
      .set({ leased_by: worker, due_at: nowMs + leaseMs })
      .where('kind', '=', kind)
      .where(
        'key',
        'in',
        rows.map(({ key }) => key),
      )
      .execute()
    return rows.map(toJob)
  },
})

/** Renews all leases of these workers and returns the workers that still have one. */
export const renewJobs = transaction({
  name: 'renewJobs',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    { kind, workers, untilMs }: { kind: string; workers: string[]; untilMs: number },
  ): Promise<string[]> {
    const renewed = await tx.query
      .updateTable('jobs')
      .set({ due_at: untilMs })
      .where('kind', '=', kind)
      .where('leased_by', 'in', workers)
      .returning('leased_by')
      .execute()
    return renewed.flatMap(({ leased_by }) => leased_by ?? [])
  },
})

/** Locks a job within a transaction that needs its lease; null when `worker` has lost the lease. */
export async function holdJob(tx: Tx, held: Held): Promise<Job | null> {
  const job = tx.query
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', held.kind)
    .where('key', '=', held.key)
    .where('leased_by', '=', held.worker)
  const row = await lockRows(tx, job).executeTakeFirst()
  return row === undefined ? null : toJob(row)
}

/** The same for a step that makes progress: failures before it no longer count. */
export async function advanceJob(tx: Tx, held: Held): Promise<Job | null> {
  const job = await holdJob(tx, held)
  if (job !== null && job.trouble !== null) await ofJob(tx, held, { trouble: null }).execute()
  return job
}

/** Keeps what the job has to know in its next run. */
export const recordJob = transaction({
  name: 'recordJob',
  accountOf: () => null,
  async run(tx: Tx, { payload, ...held }: Held & { payload: object }): Promise<void> {
    await ofJob(tx, held, { payload: JSON.stringify(payload) }).execute()
  },
})

/**
 * Removes a job that is done and returns any other. A job that has failed `faultsMax` times keeps
 * its lease: its worker gives it up. Returns the failures of a job that failed; null for none, and
 * when `worker` has lost the lease.
 */
export const settleJob = transaction({
  name: 'settleJob',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    { outcome, faultsMax, ...held }: Held & { outcome: Outcome; faultsMax: number },
  ): Promise<Trouble | null> {
    const job = await holdJob(tx, held)
    if (job === null) return null
    const { kind, key, nowMs } = held
    if (outcome === 'done') {
      await tx.query.deleteFrom('jobs').where('kind', '=', kind).where('key', '=', key).execute()
      return null
    }
    const free = { leased_by: null, due_at: nowMs }
    if (outcome === 'again') {
      await ofJob(tx, held, { ...free, trouble: null }).execute()
      return null
    }
    const { failure, retryAtMs } = outcome
    const trouble = addFailure(job.trouble, failure, nowMs)
    const retry = { ...free, due_at: retryAtMs ?? nowMs + waitAfter(trouble, failure) }
    await ofJob(tx, held, {
      ...(trouble.faults < faultsMax && retry),
      trouble: JSON.stringify(trouble),
    }).execute()
    return trouble
  },
})

function ofJob(tx: Tx, { kind, key, worker }: Held, fields: Partial<Row<'jobs'>>) {
  return tx.query
    .updateTable('jobs')
    .set(fields)
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where('leased_by', '=', worker)
}

/** Frees the jobs that an instance had leased before it was restarted; null: any instance. */
export const releaseJobs = transaction({
  name: 'releaseJobs',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { instance }: { instance: string | null }): Promise<void> {
    const freed = tx.query.updateTable('jobs').set({ leased_by: null, due_at: AT_ONCE })
    // A worker's name begins with its instance and a space; `!` is the character after the space.
    const own =
      instance === null
        ? freed.where('leased_by', 'is not', null)
        : freed.where('leased_by', '>', `${instance} `).where('leased_by', '<', `${instance}!`)
    await own.execute()
  },
})

/** By any clock. */
const AT_ONCE = 0

function toJob(row: Row<'jobs'>): Job {
  return {
    kind: row.kind,
    key: row.key,
    accountId: row.account_id,
    payload: row.payload === null ? {} : (JSON.parse(row.payload) as Job['payload']),
    trouble: troubleOf(row),
  }
}

export function troubleOf({ trouble }: { trouble: string | null }): Trouble | null {
  return trouble === null ? null : (JSON.parse(trouble) as Trouble)
}
