import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'

type WorkerLoop = {
  wake(): void
  close(): Promise<void>
}

export type WorkerLoopOptions = {
  name: string
  /** Interval of steps without a wake-up, which bounds the delay after a lost wake-up. */
  everyMs: number
  /** Ends early once `signal` aborts. True if there may be more. */
  step(signal: AbortSignal): Promise<boolean>
  log: Log
  clock: Pick<Clock, 'every'>
}

/** A failed step is logged and repeated after `everyMs`. */
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
  const stop = options.clock.every(options.everyMs, wake)
  wake()
  return {
    wake,
    async close() {
      closing.abort()
      stop()
      await running
    },
  }
}
