// A thread or process for hostile input. It answers one request at a time, and ends when a request
// exceeds its time or memory.

import { systemClock } from '#platform/clock.ts'

export const WORKER_READY = 'ready'

export type WorkOutcome<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'died'; readonly cause: unknown }

export type WorkerHost<Request> = {
  /** Called before anything else; `onEnd` may be called several times. */
  listen(listeners: { onMessage(message: unknown): void; onEnd(cause: unknown): void }): void
  /** Copies the request. */
  post(request: Request): void | Promise<void>
  /** Null if unknown. */
  cpuMs(): Promise<number | null>
  /** Whether the service's process waits for the worker before it ends. */
  hold(isHeld: boolean): void
  terminate(): unknown
}

type Bounds = {
  readonly startMsMax: number
  /** Wall-clock time as a multiple of the processor time, because the machine does other work. */
  readonly wallFactor: number
}

export class GuardedWorker<Request, Answer> {
  readonly #host: WorkerHost<Request>
  readonly #bounds: Bounds
  #isReady = false
  #isAlive = true
  #settle: ((outcome: WorkOutcome<Answer>) => void) | null = null
  #request: { readonly value: Request } | null = null
  #timeoutMs = 0
  #timer: NodeJS.Timeout | null = null

  constructor(host: WorkerHost<Request>, bounds: Bounds) {
    this.#host = host
    this.#bounds = bounds
    host.hold(false)
    host.listen({
      onMessage: (message) => {
        if (message === WORKER_READY) {
          this.#isReady = true
          void this.#send()
          return
        }
        host.hold(false)
        this.#resolve({ kind: 'answered', answer: message as Answer })
      },
      onEnd: (cause) => this.#end({ kind: 'died', cause }),
    })
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** A failure before the worker has loaded is not caused by the request. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** `timeoutMs` is processor time. Never rejects; dead after any outcome but `answered`. */
  run(request: Request, timeoutMs: number): Promise<WorkOutcome<Answer>> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'died', cause: 'ended before' })
    if (this.#settle !== null) throw new Error('a worker takes one request at a time')
    return new Promise((resolve) => {
      this.#settle = resolve
      this.#request = { value: request }
      this.#timeoutMs = timeoutMs
      this.#host.hold(true)
      if (this.#isReady) void this.#send()
      else this.#startTimer(this.#bounds.startMsMax)
    })
  }

  /** The outcome of a pending request is `died`. */
  async close(): Promise<void> {
    this.#end({ kind: 'died', cause: 'closed' })
    await this.#host.terminate()
  }

  async #send(): Promise<void> {
    const request = this.#request
    if (request === null) return
    this.#request = null
    this.#watchTime(this.#timeoutMs)
    await this.#host.post(request.value)
  }

  #startTimer(delayMs: number, onTime = () => this.#timeOut()): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, Math.max(0, delayMs))
  }

  #timeOut(): void {
    this.#end({ kind: 'timed-out' })
    void this.#host.terminate()
  }

  #watchTime(cpuMsMax: number): void {
    const settle = this.#settle
    const before = this.#host.cpuMs()
    const deadlineMs = systemClock.monotonic() + cpuMsMax * this.#bounds.wallFactor
    const check = async (): Promise<void> => {
      // The wall clock ends a worker whose usage is unknown.
      this.#startTimer(deadlineMs - systemClock.monotonic())
      const [startMs, nowMs] = [await before, await this.#host.cpuMs()]
      if (startMs === null || nowMs === null) return
      if (this.#settle !== settle || settle === null) return
      const usedMs = nowMs - startMs
      if (usedMs >= cpuMsMax) return this.#timeOut()
      const leftMs = Math.min(cpuMsMax - usedMs, deadlineMs - systemClock.monotonic())
      this.#startTimer(leftMs, () => void check())
    }
    this.#startTimer(cpuMsMax, () => void check())
  }

  #end(outcome: WorkOutcome<Answer>): void {
    this.#isAlive = false
    this.#resolve(outcome)
  }

  #resolve(outcome: WorkOutcome<Answer>): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const settle = this.#settle
    this.#settle = null
    settle?.(outcome)
  }
}
