// A loop that works while there is work: woken when something was queued, and looking by itself now
// and then, so that a lost wake-up costs only time.

import type { Log } from '#base/log.ts'

export type WorkerLoop = {
  /** There may be work now. */
  wake(): void
  /** Finishes the step under way and ends. */
  close(): Promise<void>
}

export type WorkerLoopOptions = {
  name: string
  /** Time between looks when nothing wakes the loop. */
  everyMs: number
  /** Does some of the work; true when there may be more. */
  step(): Promise<boolean>
  log: Log
}

/** Starts the loop with a first look at once. A step that fails is tried again at the next look. */
export function openWorkerLoop(options: WorkerLoopOptions): WorkerLoop {
  let isClosed = false
  let isAwake = false
  let running: Promise<void> | null = null

  const run = async () => {
    try {
      do {
        isAwake = false
        while (!isClosed && (await options.step())) {
          // Each step yields to whatever else the process does.
          await new Promise(setImmediate)
        }
      } while (isAwake && !isClosed)
    } catch (error) {
      options.log.warn({ error, loop: options.name }, 'a step of background work failed')
    } finally {
      running = null
    }
  }
  const wake = () => {
    isAwake = true
    if (!isClosed) running ??= run()
  }
  const timer = setInterval(wake, options.everyMs)
  timer.unref()
  wake()
  return {
    wake,
    async close() {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}
