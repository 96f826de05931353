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
/** How long a job stays leased to a worker that died. */
const LEASE_MS = 60 * SECOND_MS
/** The wait before a failed job is retried, doubled with each attempt up to the longest. */
const RETRY_MS = SECOND_MS
const RETRY_MS_MAX = HOUR_MS

export type JobLease = {
  /** Call it before each step: true while the job is held and the service is not closing. */
  mayGoOn(): Promise<boolean>
}

type WorkDeps = {
  db: Db
  clock: Clock
  log: Log
  /** Does a job or a part of it; `again` when it has to run once more at once. */
  runJob(job: Job, lease: JobLease): Promise<'done' | 'again'>
}

/**
 * Runs up to JOBS_AT_ONCE due jobs; true when there may be more. `worker` is a name that no other call uses.
 * An aborted `signal` ends the call after the present step and returns the other jobs.
 */
export async function workJobs(
  deps: WorkDeps,
  input: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const { worker, signal } = input
  const nowMs = deps.clock.now()
  // A read is cheap; a claim costs a commit.
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

/** Renews the lease after a third of it. `claimedMs` is monotonic time. */
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
