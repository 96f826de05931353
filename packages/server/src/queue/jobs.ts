// Work that one worker at a time does under a lease. `due_at` is the next run or the lease's end.

import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import { addFailure, type Failure, type Trouble, waitAfter } from './trouble.ts'

export type Job = {
  kind: string
  /** A key that is unique within the kind. */
  key: string
  /** Empty for the work of the service itself. */
  accountId: string
  payload: Record<string, unknown>
  /** Failures since the last progress; null if there are none. */
  trouble: Trouble | null
}

/** A job that a worker leased; the worker may have lost the lease since. */
export type Held = { kind: string; key: string; worker: string; nowMs: number }

/** `again` means progress. A failure is retried after a backoff, or at `retryAtMs`. */
export type Outcome = 'done' | 'again' | { failure: Failure; retryAtMs?: number }

type Added = Pick<NewRow<'jobs'>, 'kind' | 'key' | 'account_id' | 'due_at'>

/** Existing jobs are unchanged. */
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
  keys?: readonly string[] | undefined
  /** Whether to skip accounts that have another leased job of this kind. */
  isExclusive?: boolean | undefined
  nowMs: number
  /** A later time was written before the clock was set back, so the job is due. */
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

/** A read is enough to check, while a lease costs a commit. */
export async function hasDueJob(
  db: ReadDb,
  { exceptAccount, ...due }: Due & { exceptAccount?: string },
): Promise<boolean> {
  let query = db.read.selectFrom('jobs').select('key').where(isDue(due)).limit(1)
  if (exceptAccount !== undefined) query = query.where('account_id', '!=', exceptAccount)
  return (await query.executeTakeFirst()) !== undefined
}

/** Leases jobs of one account. Accounts are served in turn, starting after `afterAccount`. */
export const leaseJobs = transaction({
  name: 'leaseJobs',
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

/** Locks a job whose lease the transaction needs. Null if `worker` has lost the lease. */
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

/** Like `holdJob`, but also resets the job's failures. */
export async function advanceJob(tx: Tx, held: Held): Promise<Job | null> {
  const job = await holdJob(tx, held)
  if (job !== null && job.trouble !== null) await ofJob(tx, held, { trouble: null }).execute()
  return job
}

export const recordJob = transaction({
  name: 'recordJob',
  accountOf: () => null,
  async run(tx: Tx, { payload, ...held }: Held & { payload: object }): Promise<void> {
    await ofJob(tx, held, { payload: JSON.stringify(payload) }).execute()
  },
})

/**
 * A job that failed `faultsMax` times stays leased until its worker gives it up. Returns the
 * failures of a failed job. Null if the job did not fail or `worker` has lost the lease.
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

/** Releases jobs that an earlier run of this instance leased, or any instance (null). */
export const releaseJobs = transaction({
  name: 'releaseJobs',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { instance }: { instance: string | null }): Promise<void> {
    const freed = tx.query.updateTable('jobs').set({ leased_by: null, due_at: AT_ONCE })
    const own =
      instance === null
        ? freed.where('leased_by', 'is not', null)
        : freed.where(isLeasedBy(instance))
    await own.execute()
  },
})

/** Whether a worker of the instance leased the job. */
export function isLeasedBy(instance: string): RawBuilder<SqlBool> {
  // Worker names begin with the instance and a space; `!` follows the space in ASCII.
  return sql`(leased_by > ${`${instance} `} and leased_by < ${`${instance}!`})`
}

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
