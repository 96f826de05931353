// The door for time: what happens because a job is due or an hour has passed, not because somebody
// asked. Jobs and checks of domains are claimed row by row, so that processes share them; everything
// else is a duty, which one of them has.

import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Duties } from './duties.ts'
import { openWorkerLoop } from './worker-loop.ts'

/** Between looks at the log of events for what is to be counted, and events of one look. */
const STATS_LOOK_MS = 2 * SECOND_MS
/** How long it takes until a process finds that a check is due. */
const DOMAIN_CHECK_LOOK_MS = 10 * SECOND_MS
/** Between looks of the indexer at what has come: a second's mail shares a commit. */
const SEARCH_LOOK_MS = SECOND_MS

export type BackgroundPorts = {
  /** Does due jobs; true when there may be more. Each ends early once the signal is aborted. */
  workJobs(signal: AbortSignal): Promise<boolean>
  purgeExpired(signal: AbortSignal): Promise<void>
  sweepBlobs(signal: AbortSignal): Promise<number>
  /** How long after a sweep the next is due. */
  sweepEveryMs: number
  /** Checks the custom domains that are due; true when there may be more. */
  checkDomains(signal: AbortSignal): Promise<boolean>
  rotateKeys(signal: AbortSignal): Promise<void>
  /** Indexes messages for searches; true when there may be more. */
  indexSearch(signal: AbortSignal): Promise<boolean>
  /** Counts mail for the hourly figures; true when there may be more. */
  countMail(): Promise<boolean>
  duties: Duties
  log: Log
}

const JOBS_EVERY_MS = 1_000
const PURGE_EVERY_MS = 60 * 60 * 1_000
const ROTATE_EVERY_MS = 60 * 60 * 1_000

/** Starts the loops; `wakeJobs` says that a job was queued. */
export function openBackground(ports: BackgroundPorts) {
  const { log, duties } = ports
  const jobs = openWorkerLoop({ name: 'jobs', everyMs: JOBS_EVERY_MS, step: ports.workJobs, log })
  const upkeep = openWorkerLoop({
    name: 'upkeep',
    everyMs: duties.lookMs(PURGE_EVERY_MS),
    step: (signal) =>
      duties.perform({
        name: 'retention',
        everyMs: PURGE_EVERY_MS,
        signal,
        run: (ending) => ports.purgeExpired(ending).then(() => false),
      }),
    log,
  })
  const sweep = openSweep(ports)
  // Apart from the rest: it asks DNS, which may keep it waiting.
  const rotation = openWorkerLoop({
    name: 'key rotation',
    everyMs: duties.lookMs(ROTATE_EVERY_MS),
    step: (signal) =>
      duties.perform({
        name: 'key rotation',
        everyMs: ROTATE_EVERY_MS,
        signal,
        run: (ending) => ports.rotateKeys(ending).then(() => false),
      }),
    log,
  })
  const domains = openWorkerLoop({
    name: 'domains',
    everyMs: DOMAIN_CHECK_LOOK_MS,
    step: ports.checkDomains,
    log,
  })
  const search = openWorkerLoop({
    name: 'search index',
    everyMs: SEARCH_LOOK_MS,
    step: (signal) => duties.perform({ name: 'search index', signal, run: ports.indexSearch }),
    log,
  })
  const figures = openWorkerLoop({
    name: 'hourly figures',
    everyMs: STATS_LOOK_MS,
    step: (signal) => duties.perform({ name: 'hourly figures', signal, run: ports.countMail }),
    log,
  })
  return {
    wakeJobs: () => jobs.wake(),
    /** Resolves after the step of each loop that is under way, which is told to be quick. */
    async close() {
      duties.stop()
      const loops = [jobs, upkeep, sweep, rotation, domains, search, figures]
      await Promise.all(loops.map((loop) => loop.close()))
      await duties.close()
    },
  }
}

/** Apart from the rest: where bytes lie in a bucket it is due more rarely, and may be kept waiting. */
function openSweep({ duties, sweepBlobs, sweepEveryMs: everyMs, log }: BackgroundPorts) {
  const run = async (ending: AbortSignal) => {
    const orphans = await sweepBlobs(ending)
    if (orphans > 0) log.info({ orphans }, 'removed stored files that no message refers to')
    return false
  }
  return openWorkerLoop({
    name: 'blob sweep',
    everyMs: duties.lookMs(everyMs),
    step: (signal) => duties.perform({ name: 'blob sweep', everyMs, signal, run }),
    log,
  })
}
