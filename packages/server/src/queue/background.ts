// The background work of a process: the jobs and periodic tasks that features declare.

import { openTasks, type Task } from './periodic-tasks.ts'
import type { QueueClock } from './queue-clock.ts'
import { type JobDeps, type JobKind, openJobWorker } from './work-jobs.ts'

export type FeatureWork = {
  readonly jobs?: readonly JobKind[]
  readonly tasks?: readonly Task[]
}

export function openBackground(
  deps: JobDeps & { queueClock: QueueClock },
  { work, isShared }: { work: readonly FeatureWork[]; isShared: boolean },
) {
  const workers = work.flatMap(({ jobs = [] }) => jobs.map((kind) => openJobWorker(deps, kind)))
  const tasks = openTasks(deps, { tasks: work.flatMap(({ tasks = [] }) => tasks), isShared })
  return {
    /** Must be called after a commit that added jobs. */
    wakeJobs() {
      for (const worker of workers) worker.wake()
    },
    led: () => tasks.led(),
    /** Aborts the work and resolves when all of it has ended. */
    async close() {
      await Promise.all([tasks, ...workers].map((each) => each.close()))
    },
  }
}
