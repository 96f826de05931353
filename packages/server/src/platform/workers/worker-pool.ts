// Calls functions in worker threads, which are replaced when a call exceeds its time or memory.

import { systemClock } from '#platform/clock.ts'
import { AppError } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { GuardedWorker, type WorkOutcome } from './guarded-worker.ts'
import { openThreadHost } from './thread-host.ts'

/** Wall-clock time as a multiple of the processor time, because the machine does other work. */
const WALL_FACTOR = 5
/** A thread loads its modules in 100 ms, but on a busy machine this takes many times longer. */
const THREAD_START_MS_MAX = 20 * SECOND_MS

export type Call = { readonly name: string; readonly args: readonly unknown[] }

export type WorkerPoolOptions = {
  /** The module of a thread, which serves its functions with `serveCalls`. */
  readonly entry: URL
  readonly workersMax: number
  readonly heapMib: number
  /** Maximum calls that may wait for a thread. */
  readonly queueMax: number
}

/** Starts no thread before the first call. Idle threads do not keep the process alive. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Set<GuardedWorker<Call, unknown>>()
  readonly #idle: GuardedWorker<Call, unknown>[] = []
  readonly #slots: Semaphore
  readonly #closing = new AbortController()

  constructor(options: WorkerPoolOptions) {
    const { workersMax, queueMax } = options
    this.#options = options
    this.#slots = new Semaphore({
      limit: workersMax,
      waitingMax: queueMax,
      refuse: (why) =>
        why === 'aborted'
          ? closedError()
          : new AppError('service_unavailable', `${queueMax} messages wait to be parsed already.`),
    })
  }

  /** `timeoutMs` is processor time. Rejects with `service_unavailable` when too many calls wait. */
  run(
    call: Call,
    {
      timeoutMs,
      before,
      onDone,
    }: { timeoutMs: number; before?: string; onDone?: (durationMs: number) => void },
  ): Promise<WorkOutcome<unknown>> {
    const { signal } = this.#closing
    return this.#slots.run({ signal }, async () => {
      const thread = this.#takeIdle() ?? this.#startThread()
      const startMs = systemClock.monotonic()
      const prepared =
        before === undefined
          ? null
          : await thread.run({ name: before, args: [] }, THREAD_START_MS_MAX)
      const isPrepared = prepared === null || prepared.kind === 'answered'
      const outcome = isPrepared ? await thread.run(call, timeoutMs) : prepared
      onDone?.(systemClock.monotonic() - startMs)
      if (thread.isAlive) this.#idle.push(thread)
      else this.#threads.delete(thread)
      if (signal.aborted) throw closedError()
      return outcome
    })
  }

  waiting(): number {
    return this.#slots.waiting
  }

  /** Rejects pending and waiting calls. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  #takeIdle(): GuardedWorker<Call, unknown> | null {
    for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
      if (thread.isAlive) return thread
      this.#threads.delete(thread)
    }
    return null
  }

  #startThread(): GuardedWorker<Call, unknown> {
    const { entry, heapMib } = this.#options
    const thread = new GuardedWorker<Call, unknown>(openThreadHost(entry, heapMib), {
      startMsMax: THREAD_START_MS_MAX,
      wallFactor: WALL_FACTOR,
    })
    this.#threads.add(thread)
    return thread
  }
}

function closedError(): AppError {
  return new AppError('service_unavailable', 'The parser is closed.')
}
