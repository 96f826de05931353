// One worker thread that parses mail and lays out HTML, with a bound on its memory and on the time of each request.
// After a request that broke a bound the thread is gone; who needs another starts another.

import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { ParserAnswer, ParserRequest } from './parser-port.ts'

/** How many times a limit of processor time the clock may show: what else the machine does. */
const PARSE_WALL_FACTOR = 5
/** Loading its modules takes a parser thread a tenth of a second; a busy machine makes it many. */
export const PARSE_THREAD_START_MS_MAX = 20 * SECOND_MS

export type ThreadOutcome =
  | { readonly kind: 'answered'; readonly answer: ParserAnswer }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'died'; readonly cause: unknown }

export class ParserThread {
  readonly #worker: Worker
  readonly #clock: Clock
  #isReady = false
  #isAlive = true
  #settle: ((outcome: ThreadOutcome) => void) | null = null
  #request: ParserRequest | null = null
  #timeoutMs = 0
  #timer: NodeJS.Timeout | null = null

  /** `heapMib`: JavaScript heap of the thread; the process survives when it is used up. */
  constructor(heapMib: number, clock: Clock) {
    this.#clock = clock
    this.#worker = new Worker(new URL('./parser-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMib },
      // Flags of the process (a test runner's, `--input-type`) are not for its threads.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: ParserAnswer) => this.#receive(answer))
    this.#worker.on('error', (cause) => this.#end({ kind: 'died', cause }))
    this.#worker.on('exit', (code) => this.#end({ kind: 'died', cause: `exit ${code}` }))
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /**
   * One request at a time. The time limit is of the thread's processor time from when it takes the
   * request up, so that a busy machine defeats no message, and PARSE_WALL_FACTOR times as much on the
   * clock. The request's octets are copied. Never rejects; after any outcome but `answered` the thread
   * is not alive.
   */
  run(request: ParserRequest, timeoutMs: number): Promise<ThreadOutcome> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'died', cause: 'ended before' })
    if (this.#settle !== null) throw new Error('a parser thread takes one request at a time')
    return new Promise((resolve) => {
      this.#settle = resolve
      this.#request = request
      this.#timeoutMs = timeoutMs
      this.#worker.ref()
      if (this.#isReady) void this.#send()
      else this.#startTimer(PARSE_THREAD_START_MS_MAX)
    })
  }

  /** Ends the thread at once; a request under way has the outcome `died`. */
  async close(): Promise<void> {
    this.#end({ kind: 'died', cause: 'closed' })
    await this.#worker.terminate()
  }

  #receive(answer: ParserAnswer): void {
    if (answer.kind === 'ready') {
      this.#isReady = true
      void this.#send()
      return
    }
    this.#worker.unref()
    this.#resolve({ kind: 'answered', answer })
  }

  async #send(): Promise<void> {
    const request = this.#request
    if (request === null) return
    this.#request = null
    if (!('raw' in request)) {
      this.#watchWork(this.#timeoutMs)
      this.#worker.postMessage(request)
      return
    }
    // The caller goes on using its octets, which may be a view of a larger buffer: send a copy.
    const raw = await copyInSlices(request.raw)
    if (!this.#isAlive) return
    this.#watchWork(this.#timeoutMs)
    this.#worker.postMessage({ ...request, raw }, [raw.buffer])
  }

  #startTimer(delayMs: number, onTime = () => this.#timeOut()): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, Math.max(0, delayMs))
  }

  #timeOut(): void {
    this.#end({ kind: 'timed-out' })
    void this.#worker.terminate()
  }

  #watchWork(workMsMax: number): void {
    const settle = this.#settle
    const before = this.#worker.cpuUsage()
    // Of a thread that ends before anybody asks again.
    before.catch(() => {})
    const deadlineMs = this.#clock.monotonic() + workMsMax * PARSE_WALL_FACTOR
    const look = async (): Promise<void> => {
      // A thread that cannot even say what it used is ended by the clock.
      this.#startTimer(deadlineMs - this.#clock.monotonic())
      const usedMs = await workedMs(this.#worker, before)
      if (usedMs === null || this.#settle !== settle || settle === null) return
      if (usedMs >= workMsMax) this.#timeOut()
      else
        this.#startTimer(
          Math.min(workMsMax - usedMs, deadlineMs - this.#clock.monotonic()),
          () => void look(),
        )
    }
    this.#startTimer(workMsMax, () => void look())
  }

  #end(outcome: ThreadOutcome): void {
    this.#isAlive = false
    this.#resolve(outcome)
  }

  #resolve(outcome: ThreadOutcome): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const settle = this.#settle
    this.#settle = null
    settle?.(outcome)
  }
}

type Usage = ReturnType<Worker['cpuUsage']>

/** Null for a thread that has ended. */
async function workedMs(worker: Worker, before: Usage): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage(await before)
    return (user + system) / 1_000
  } catch {
    return null
  }
}

/** Copying 30 MiB at once takes up to 20 ms, in which no connection would be served. */
async function copyInSlices(source: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const copy = Buffer.allocUnsafeSlow(source.length)
  for (let start = 0; start < source.length; start += COPY_SLICE_BYTES) {
    if (start > 0) await setImmediate()
    copy.set(source.subarray(start, start + COPY_SLICE_BYTES), start)
  }
  return copy
}

const COPY_SLICE_BYTES = 1024 * 1024
