// Periodic tasks. For each task, processes that share a database elect a leader by its lease.

import { once } from 'node:events'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { type Job, recordJob } from './jobs.ts'
import type { QueueClock } from './queue-clock.ts'
import { type JobDeps, type JobKind, openJobWorker, type Work } from './work-jobs.ts'
import { openWorkerLoop } from './worker-loop.ts'

/** After a leader dies, its tasks pause for less than a minute. */
const LEADING = {
  leaseMs: 30 * SECOND_MS,
  checkMs: 5 * SECOND_MS,
}
const TASK_RETRY_MS = MINUTE_MS

/** A task. Two runs may overlap after a process was suspended. */
export type Task = {
  readonly name: string
  readonly everyMs: number
  /** `schedule` means one process, whichever leads, `everyMs` after the last run ended. */
  readonly by: 'each process' | 'leader' | 'schedule'
  run(signal: AbortSignal): Promise<unknown>
}

export type Tasks = {
  /** Names of the led tasks; empty if no other process shares the database. */
  led(): string[]
  close(): Promise<void>
}

/** Each task has a separate loop, because DNS or object storage may delay one of them. */
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
    .map(({ name, everyMs, run }) => {
      const step = async (signal: AbortSignal) => (await run(signal)) === true
      return openWorkerLoop({ name, everyMs, step, log, clock })
    })
  const leader =
    led.length === 0
      ? null
      : openJobWorker(
          { ...deps, clock: { ...clock, now: () => queueClock.now() } },
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
    // Detects leases that expired during a suspension.
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
    clock: deps.clock,
  })
}

function scheduled({ db, queueClock }: LeaderDeps, task: Task, { job, work }: Led): Task['run'] {
  const { everyMs } = task
  let doneAtMs = (job.payload.doneAtMs ?? null) as number | null
  let retryAtMs = 0
  return async (signal) => {
    const nowMs = queueClock.now()
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
