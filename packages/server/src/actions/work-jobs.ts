// Taking due jobs out of the queue and doing them, each under a lease.

import { retryDelayMs } from '#jobs/retry-delay.ts'
import { countDueJobs } from '#store/job.ts'
import type { Deps } from './deps.ts'
import { runJob } from './run-job.ts'

const LEASE_MS = 60_000
const JOBS_AT_ONCE = 10

/** Does what is due now, up to ten jobs; true when there may be more. */
export async function workJobs(
  deps: Pick<Deps, 'db' | 'blobs' | 'clock' | 'log'>,
  worker: string,
): Promise<boolean> {
  const nowMs = deps.clock.now()
  // A look costs nothing, a claim a commit.
  if ((await countDueJobs(deps.db, nowMs)) === 0) return false
  const claim = { worker, nowMs, leaseMs: LEASE_MS, limit: JOBS_AT_ONCE }
  const jobs = await deps.db.write('claimJobs', claim)
  for (const job of jobs) {
    try {
      const outcome = await runJob(deps, job)
      if (outcome === 'done') await deps.db.write('completeJob', { id: job.id })
      else await deps.db.write('retryJob', { id: job.id, runAtMs: deps.clock.now() })
    } catch (error) {
      deps.log.warn({ error, job: job.id, kind: job.kind }, 'a job failed and will be tried again')
      const runAtMs = deps.clock.now() + retryDelayMs(job.attempts)
      await deps.db.write('retryJob', { id: job.id, runAtMs })
    }
  }
  return jobs.length > 0
}
