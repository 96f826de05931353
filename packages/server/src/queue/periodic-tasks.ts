// Work that is due by time rather than requested. Of several processes that share a database one
// does each task for all, under a lease that it keeps while it lives. Any process takes a free
// lease.

import { once } from 'node:events'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { type Job, recordJob } from './jobs.ts'
import type { QueueClock } from './queue-clock.ts'
import { type JobDeps, type JobKind, openJobWorker, type Work } from './work-jobs.ts'
import { openWorkerLoop } from './worker-loop.ts'

/** With these a task of a process that died waits less than a minute. */
const LEADING = {
  leaseMs: 30 * SECOND_MS,
  /** How often each process checks for free leases. */
  checkMs: 5 * SECOND_MS,
}
/** When a scheduled task that failed is retried. */
const TASK_RETRY_MS = MINUTE_MS

/**
 * A task of a feature. It may overlap with another run of itself, in a process that was suspended.
 */
export type Task = {
  readonly name: string
  readonly everyMs: number
  /**
   * `each process` runs it every `everyMs`; of a `leader` only one process does. `schedule`: one
   * process runs it, and the next run is due `everyMs` after its end, whichever process leads then.
   */
  readonly by: 'each process' | 'leader' | 'schedule'
  /** Does some of the work; ends early once `signal` is aborted. True when there may be more. */
  run(signal: AbortSignal): Promise<unknown>
}

export type Tasks = {
  /** The tasks that this process leads now; empty for a process that is alone with its database. */
  led(): string[]
  close(): Promise<void>
}

/** Each task has a loop of its own, because DNS or a bucket may delay one. */
export function openTasks(
  deps: LeaderDeps,
  {
    tasks,
    isShared,
    leading = LEADING,
  }: { tasks: readonly Task[]; isShared: boolean; leading?: typeof LEADING },
): Tasks {
  const { clock, queueClock, log } = deps
  const led = tasks.filter(({ by }) => isShared && by !== 'each process')
  const loops = tasks
    .filter((task) => !led.includes(task))
    .map(({ name, everyMs, run }) =>
      openWorkerLoop({ name, everyMs, step: async (signal) => (await run(signal)) === true, log }),
    )
  const leader =
    led.length === 0
      ? null
      : openJobWorker(
          { ...deps, clock: { now: () => queueClock.now(), monotonic: clock.monotonic } },
          kindOf(deps, led, leading),
        )
  return {
    led: () => leader?.running() ?? [],
    async close() {
      await Promise.all([leader?.close(), ...loops.map((loop) => loop.close())])
    },
  }
}

type LeaderDeps = JobDeps & { queueClock: QueueClock }

function kindOf(
  deps: LeaderDeps,
  tasks: readonly Task[],
  { leaseMs, checkMs }: typeof LEADING,
): JobKind {
  return {
    name: 'task',
    keys: tasks.map(({ name }) => name),
    atOnce: tasks.length,
    batch: tasks.length,
    leaseMs,
    pollMs: checkMs,
    aheadMsMax: leaseMs + CLOCK_SKEW_MS,
    // A process that was suspended notices that its leases are over.
    prepare: () => deps.queueClock.check(),
    async run(jobs, work) {
      const loops = jobs.flatMap((job) => {
        const task = tasks.find(({ name }) => name === job.key)
        return task === undefined ? [] : [openLed(deps, task, { job, work, checkMs })]
      })
      if (!work.signal.aborted) await once(work.signal, 'abort')
      await Promise.all(loops.map((loop) => loop.close()))
      return 'again'
    },
  }
}

type Led = { job: Job; work: Work; checkMs: number }

function openLed(deps: LeaderDeps, task: Task, led: Led) {
  const { name, everyMs, by } = task
  const run = by === 'schedule' ? scheduled(deps, task, led) : task.run
  return openWorkerLoop({
    name,
    everyMs: by === 'schedule' ? Math.min(everyMs, led.checkMs) : everyMs,
    step: async (signal) => (await run(signal)) === true,
    log: deps.log,
  })
}

function scheduled({ db, queueClock }: LeaderDeps, task: Task, { job, work }: Led): Task['run'] {
  const { everyMs } = task
  let doneAtMs = (job.payload.doneAtMs ?? null) as number | null
  let retryAtMs = 0
  return async (signal) => {
    const nowMs = queueClock.now()
    // A time in the future was written before the clock of the database was set back.
    const isDone = doneAtMs !== null && doneAtMs <= nowMs + CLOCK_SKEW_MS
    if (nowMs < retryAtMs || (isDone && nowMs - (doneAtMs ?? 0) < everyMs)) return
    retryAtMs = nowMs + TASK_RETRY_MS
    await task.run(signal)
    if (signal.aborted) return
    retryAtMs = 0
    doneAtMs = queueClock.now()
    await db.write(recordJob, { ...work.held(job), payload: { doneAtMs } })
  }
}
