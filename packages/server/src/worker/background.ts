// The door for time: what happens because a job is due or an hour has passed, not because somebody
// asked.

import type { Log } from '#base/log.ts'
import { openWorkerLoop } from '#jobs/worker-loop.ts'

export type BackgroundPorts = {
  /** Does due jobs; true when there may be more. Each ends early once the signal is aborted. */
  workJobs(signal: AbortSignal): Promise<boolean>
  purgeExpired(signal: AbortSignal): Promise<void>
  sweepBlobs(signal: AbortSignal): Promise<number>
  log: Log
}

const JOBS_EVERY_MS = 1_000
const PURGE_EVERY_MS = 60 * 60 * 1_000

/** Starts the loops; `wakeJobs` says that a job was queued. */
export function openBackground(ports: BackgroundPorts) {
  const { log } = ports
  const jobs = openWorkerLoop({ name: 'jobs', everyMs: JOBS_EVERY_MS, step: ports.workJobs, log })
  const upkeep = openWorkerLoop({
    name: 'upkeep',
    everyMs: PURGE_EVERY_MS,
    async step(signal) {
      await ports.purgeExpired(signal)
      const orphans = await ports.sweepBlobs(signal)
      if (orphans > 0) log.info({ orphans }, 'removed stored bytes that no message refers to')
      return false
    },
    log,
  })
  return {
    wakeJobs: () => jobs.wake(),
    /** Resolves after the step of each loop that is under way, which is told to be quick. */
    async close() {
      await Promise.all([jobs.close(), upkeep.close()])
    },
  }
}
