import type { Log } from '#platform/log.ts'

type WorkerLoop = {
  wake(): void
  /** Aborts the present step, waits for it and ends the loop. */
  close(): Promise<void>
}

export type WorkerLoopOptions = {
  name: string
  /**
   * How often the step runs when nothing wakes the loop, so that a lost wake-up only costs time.
   */
  everyMs: number
  /** Does some of the work; ends early once `signal` is aborted. True when there may be more. */
  step(signal: AbortSignal): Promise<boolean>
  log: Log
}

/**
 * Starts the loop with a first step at once. A step that fails is logged and runs again after
 * `everyMs`.
 */
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
          // Other work of the process runs between two steps.
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
