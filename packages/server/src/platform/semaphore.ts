export type SemaphoreOptions = {
  readonly limit?: number
  /** Slots that one key may hold at a time, even while others are free. */
  readonly limitPerKey?: number
  readonly waitingMax?: number
  readonly waitingPerKeyMax?: number
  /** Null, the default, means no limit. */
  readonly waitMsMax?: number | null
  /** A key that gets every second slot while it waits, whatever others hold. */
  readonly preferredKey?: string
  refuse?(why: Refusal): Error
}

/** Too many callers wait, the wait was too long, or the caller's signal was aborted. */
export type Refusal = 'full' | 'timeout' | 'aborted'

export type Release = () => void

export type Acquire = {
  /** Callers without a key share one. */
  readonly key?: string
  /** Reduced to the maximum that the caller may hold. */
  readonly weight?: number
  readonly signal?: AbortSignal
}

type Waiter = { readonly weight: number; admit(release: Release): void }

/** Serves keys that hold no slot first, then the other keys in turn. */
export class Semaphore {
  readonly #options: SemaphoreOptions
  readonly #limit: number
  readonly #limitPerKey: number
  #held = 0
  readonly #heldBy = new Map<string, number>()
  #waiting = 0
  /** The first key is served next. */
  readonly #queues = new Map<string, Set<Waiter>>()
  #wasPreferred = false

  constructor(options: SemaphoreOptions) {
    this.#options = options
    this.#limit = options.limit ?? Number.POSITIVE_INFINITY
    this.#limitPerKey = options.limitPerKey ?? Number.POSITIVE_INFINITY
  }

  get waiting(): number {
    return this.#waiting
  }

  held(key = ''): number {
    return this.#heldBy.get(key) ?? 0
  }

  /** Null if the caller would have to wait. */
  tryAcquire({ key = '', weight = 1, signal }: Acquire = {}): Release | null {
    const slots = this.#bounded(weight)
    if (signal?.aborted === true || this.#queues.has(key)) return null
    return this.#hasRoom(key, slots) ? this.#take(key, slots) : null
  }

  acquire({ key = '', weight = 1, signal }: Acquire = {}): Promise<Release | Refusal> {
    if (signal?.aborted === true) return Promise.resolve('aborted')
    const release = this.tryAcquire({ key, weight })
    if (release !== null) return Promise.resolve(release)
    const { waitingMax = Number.POSITIVE_INFINITY, waitMsMax = null } = this.#options
    const { waitingPerKeyMax = waitingMax } = this.#options
    const queue = this.#queues.get(key) ?? new Set()
    if (this.#waiting >= waitingMax || queue.size >= waitingPerKeyMax) {
      return Promise.resolve('full')
    }
    const { promise, resolve } = Promise.withResolvers<Release | Refusal>()
    const settle = (outcome: Release | Refusal) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      queue.delete(waiter)
      this.#waiting -= 1
      if (queue.size === 0) this.#queues.delete(key)
      resolve(outcome)
    }
    const giveUp = (why: Refusal) => {
      settle(why)
      // A caller with a high weight that leaves may have blocked a lighter one.
      this.#admit()
    }
    const abort = () => giveUp('aborted')
    const waiter = { weight: this.#bounded(weight), admit: settle }
    const timer = waitMsMax === null ? undefined : setTimeout(giveUp, waitMsMax, 'timeout')
    signal?.addEventListener('abort', abort, { once: true })
    queue.add(waiter)
    this.#queues.set(key, queue)
    this.#waiting += 1
    return promise
  }

  /** Rejects with the error of `refuse` when there is no slot. */
  async run<Value>(acquire: Acquire, work: () => Promise<Value>): Promise<Value> {
    // Starts `work` synchronously when there is room.
    const slot = this.tryAcquire(acquire) ?? (await this.acquire(acquire))
    if (typeof slot === 'string') {
      throw this.#options.refuse?.(slot) ?? new Error(`no slot: ${slot}`)
    }
    try {
      return await work()
    } finally {
      slot()
    }
  }

  #hasRoom(key: string, weight: number): boolean {
    return this.#held + weight <= this.#limit && this.held(key) + weight <= this.#limitPerKey
  }

  #bounded(weight: number): number {
    return Math.max(1, Math.min(weight, this.#limit, this.#limitPerKey))
  }

  #take(key: string, weight: number): Release {
    this.#count(key, weight)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#count(key, -weight)
      this.#admit()
    }
  }

  #count(key: string, by: number): void {
    this.#held += by
    const own = this.held(key) + by
    if (own === 0) this.#heldBy.delete(key)
    else this.#heldBy.set(key, own)
  }

  #admit(): void {
    for (let key = this.#nextKey(); key !== null; key = this.#nextKey()) {
      const queue = this.#queues.get(key)
      const [waiter] = queue ?? []
      if (queue === undefined || waiter === undefined) return
      waiter.admit(this.#take(key, waiter.weight))
      this.#wasPreferred = key === this.#options.preferredKey
      if (queue.size === 0) continue
      this.#queues.delete(key)
      this.#queues.set(key, queue)
    }
  }

  /** Skips few keys, because no more keys than slots can hold one. */
  #nextKey(): string | null {
    if (this.#held >= this.#limit) return null
    const { preferredKey } = this.#options
    if (preferredKey !== undefined && !this.#wasPreferred && this.#mayEnter(preferredKey)) {
      return preferredKey
    }
    let next: string | null = null
    for (const key of this.#queues.keys()) {
      if (!this.#mayEnter(key)) continue
      if (!this.#heldBy.has(key)) return key
      next ??= key
    }
    return next
  }

  #mayEnter(key: string): boolean {
    const [first] = this.#queues.get(key) ?? []
    return first !== undefined && this.#hasRoom(key, first.weight)
  }
}
