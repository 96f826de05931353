// Work that is done because a job is due or a time has passed, not because somebody asked. Jobs and checks
// of domains are claimed row by row, so that processes share them; one process leads each other task.

import type { Log } from '#platform/log.ts'
import { HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { PeriodicTask, PeriodicTasks, TaskName } from './periodic-tasks.ts'
import { openWorkerLoop, type WorkerLoopOptions } from './worker-loop.ts'

const JOBS_EVERY_MS = SECOND_MS
/** How long it takes until a process finds that a check is due. */
const DOMAIN_CHECKS_EVERY_MS = 10 * SECOND_MS
const PURGE_EVERY_MS = HOUR_MS
const ROTATE_EVERY_MS = HOUR_MS
/** A second's mail shares a commit of the index. */
const SEARCH_POLL_MS = SECOND_MS
const FIGURES_POLL_MS = 2 * SECOND_MS

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
  tasks: PeriodicTasks
  log: Log
}

/**
 * Starts the loops; `wakeJobs` says that a job was queued. Each task has a loop of its own, for DNS or a
 * bucket may keep one waiting.
 */
export function openBackground(ports: BackgroundPorts) {
  const { log, tasks, sweepEveryMs } = ports
  const open = (name: string, everyMs: number, step: WorkerLoopOptions['step']) =>
    openWorkerLoop({ name, everyMs, step, log })
  const goOn = (name: TaskName, pollMs: number, run: PeriodicTask['run']) =>
    open(name, pollMs, (signal) => tasks.perform({ name, signal, run }))
  const repeat = (name: TaskName, everyMs: number, run: (ending: AbortSignal) => Promise<void>) =>
    open(name, tasks.pollMs(name, everyMs), (signal) =>
      tasks.perform({ name, everyMs, signal, run: (ending) => run(ending).then(() => false) }),
    )
  const jobs = open('jobs', JOBS_EVERY_MS, ports.workJobs)
  const loops = [
    jobs,
    open('domains', DOMAIN_CHECKS_EVERY_MS, ports.checkDomains),
    goOn('search index', SEARCH_POLL_MS, ports.indexSearch),
    goOn('hourly figures', FIGURES_POLL_MS, ports.countMail),
    repeat('retention', PURGE_EVERY_MS, ports.purgeExpired),
    repeat('key rotation', ROTATE_EVERY_MS, ports.rotateKeys),
    repeat('blob sweep', sweepEveryMs, async (ending) => {
      const orphans = await ports.sweepBlobs(ending)
      if (orphans > 0) log.info({ orphans }, 'removed stored files that no message refers to')
    }),
  ]
  return {
    wakeJobs: () => jobs.wake(),
    /** Resolves after the step of each loop that is under way, which is told to be quick. */
    async close() {
      tasks.stop()
      await Promise.all(loops.map((loop) => loop.close()))
      await tasks.close()
    },
  }
}
