// Taking due jobs out of the queue and doing them, each under a lease.

import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import {
  claimJobs,
  completeJob,
  continueJob,
  countDueJobs,
  type Job,
  renewLease,
  retryJob,
  returnJobs,
} from './job-rows.ts'

const JOBS_AT_ONCE = 10
/** How long a job stays with a worker that died. */
const LEASE_MS = 60 * SECOND_MS
/** A job that failed is tried again after this, doubled with each attempt up to the longest wait. */
const RETRY_MS = SECOND_MS
const RETRY_MS_MAX = HOUR_MS

export type JobLease = {
  /** Call before each step: true while the job is still held and the service is not ending. */
  mayGoOn(): Promise<boolean>
}

type WorkDeps = {
  db: Db
  clock: Clock
  log: Log
  /** Does (a part of) a job; `again` when it has to be run once more at once. */
  runJob(job: Job, lease: JobLease): Promise<'done' | 'again'>
}

/**
 * Does up to ten jobs that are due now; true when there may be more. `worker` is a name that no other
 * call has. When `signal` is aborted it ends after the step under way and returns the other jobs.
 */
export async function workJobs(
  deps: WorkDeps,
  input: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const { worker, signal } = input
  const nowMs = deps.clock.now()
  // Reading costs nothing, a claim a commit.
  if (signal.aborted || (await countDueJobs(deps.db, nowMs)) === 0) return false
  const claimedMs = deps.clock.monotonic()
  const claim = { worker, nowMs, leaseMs: LEASE_MS, limit: JOBS_AT_ONCE }
  const jobs = await deps.db.write(claimJobs, claim)
  for (const job of jobs) {
    if (signal.aborted) break
    const lease = holdLease(deps, { id: job.id, worker, claimedMs, signal })
    if (await lease.mayGoOn()) await workJob(deps, job, { worker, lease })
  }
  if (signal.aborted && jobs.length > 0) await deps.db.write(returnJobs, { worker })
  return jobs.length > 0
}

async function workJob(
  deps: WorkDeps,
  job: Job,
  { worker, lease }: { worker: string; lease: JobLease },
): Promise<void> {
  const holding = { id: job.id, worker }
  try {
    const outcome = await deps.runJob(job, lease)
    if (outcome === 'done') await deps.db.write(completeJob, holding)
    else await deps.db.write(continueJob, { ...holding, nowMs: deps.clock.now() })
  } catch (error) {
    deps.log.warn({ error, job: job.id, kind: job.kind }, 'a job failed and will be retried')
    const waitMs = Math.min(RETRY_MS * 2 ** Math.min(job.attempts - 1, 20), RETRY_MS_MAX)
    await deps.db.write(retryJob, { ...holding, runAtMs: deps.clock.now() + waitMs })
  }
}

/** Renews the lease when a third of it is over. `claimedMs` is of the monotonic clock. */
function holdLease(
  { db, clock }: WorkDeps,
  holding: { id: string; worker: string; claimedMs: number; signal: AbortSignal },
): JobLease {
  const { id, worker, signal } = holding
  let renewedMs = holding.claimedMs
  let isHeld = true
  return {
    async mayGoOn() {
      const nowMs = clock.monotonic()
      if (isHeld && !signal.aborted && nowMs - renewedMs >= LEASE_MS / 3) {
        isHeld = await db.write(renewLease, { id, worker, untilMs: clock.now() + LEASE_MS })
        renewedMs = nowMs
      }
      return isHeld && !signal.aborted
    },
  }
}
