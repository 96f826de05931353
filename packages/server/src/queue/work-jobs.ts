// Taking due jobs out of the queue and doing them, each under a lease.

import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { runJob } from '#removal/run-job.ts'
import type { Db } from '#schema/tables.ts'
import {
  claimJobs,
  completeJob,
  continueJob,
  countDueJobs,
  type Job,
  retryJob,
  returnJobs,
} from './job-rows.ts'
import { holdLease, LEASE_MS, type Lease } from './lease.ts'
import { retryDelayMs } from './retry-delay.ts'

const JOBS_AT_ONCE = 10

type WorkDeps = { db: Db; blobs: BlobStore | null; clock: Clock; log: Log }

/**
 * Does what is due now, up to ten jobs; true when there may be more. `worker` is a name that no other
 * call has. When `signal` is aborted it ends after the step under way and gives the rest back.
 */
export async function workJobs(
  deps: WorkDeps,
  input: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const { worker, signal } = input
  const nowMs = deps.clock.now()
  // A look costs nothing, a claim a commit.
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
  { worker, lease }: { worker: string; lease: Lease },
): Promise<void> {
  const holding = { id: job.id, worker }
  try {
    const outcome = await runJob(deps, job, lease)
    if (outcome === 'done') await deps.db.write(completeJob, holding)
    else await deps.db.write(continueJob, { ...holding, nowMs: deps.clock.now() })
  } catch (error) {
    deps.log.warn({ error, job: job.id, kind: job.kind }, 'a job failed and will be retried')
    const runAtMs = deps.clock.now() + retryDelayMs(job.attempts)
    await deps.db.write(retryJob, { ...holding, runAtMs })
  }
}
