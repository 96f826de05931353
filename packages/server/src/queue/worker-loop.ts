// A loop that works while there is work: woken when something was queued, and looking by itself now
// and then, so that a lost wake-up costs only time.

import type { Log } from '#platform/log.ts'

type WorkerLoop = {
  /** There may be work now. */
  wake(): void
  /** Tells the step under way to end, waits for that and ends. */
  close(): Promise<void>
}

export type WorkerLoopOptions = {
  name: string
  /** Time between looks when nothing wakes the loop. */
  everyMs: number
  /** Does some of the work, and ends early once `signal` is aborted; true when there may be more. */
  step(signal: AbortSignal): Promise<boolean>
  log: Log
}

/** Starts the loop with a first look at once. A step that fails is tried again at the next look. */
export function openWorkerLoop(options: WorkerLoopOptions): WorkerLoop {
  const closing = new AbortController()
  const { signal } = closing
  let isAwake = false
  let running: Promise<void> | null = null

  const run = async () => {
    try {
      do {
        isAwake = false
        while (!signal.aborted && (await options.step(signal))) {
          // Each step yields to whatever else the process does.
          await new Promise(setImmediate)
        }
      } while (isAwake && !signal.aborted)
    } catch (error) {
      options.log.warn({ error, loop: options.name }, 'a background task failed')
    } finally {
      running = null
    }
  }
  const wake = () => {
    isAwake = true
    if (!signal.aborted) running ??= run()
  }
  const timer = setInterval(wake, options.everyMs)
  timer.unref()
  wake()
  return {
    wake,
    async close() {
      closing.abort()
      clearInterval(timer)
      await running
    },
  }
}
