// Who may work now, of several owners: so many at once, owners in turn, and none of them everything.
// Work of nobody's is that of the service for all of them, and has every second turn.

import { StorageError } from './storage-error.ts'

export type FairTurnsOptions = {
  atOnce: number
  /** Of one owner, or of nobody's. */
  eachMax: number
  /** Waiting, of one owner. */
  waitingEachMax: number
  /** Null: for as long as it takes. */
  waitMsMax: number | null
}

type Waiting = { enter(): void; timer: NodeJS.Timeout | undefined }

export class FairTurns {
  readonly #options: FairTurnsOptions
  /** A Map keeps the order of insertion: the first owner that may is the next. */
  readonly #queues = new Map<string | null, Set<Waiting>>()
  readonly #busyOf = new Map<string | null, number>()
  #busy = 0
  /** Whether it was nobody's that had the last turn of those that wait. */
  #wasNobodys = false

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /**
   * Null when it is the caller's turn already; else resolves when it is. The caller owes a `give` with
   * the same owner. Rejects as busy after the time, and at once when too many of the owner wait.
   */
  take(owner: string | null): Promise<void> | null {
    if (!this.#hasRoom(owner)) return this.#wait(owner)
    this.#count(owner, 1)
    return null
  }

  /** Ends a turn of this owner and lets the next one in. */
  give(owner: string | null): void {
    this.#count(owner, -1)
    const next = this.#nextOwner()
    if (next === undefined) return
    const queue = this.#queues.get(next)
    const [first] = queue ?? []
    this.#queues.delete(next)
    if (queue === undefined || first === undefined) return
    queue.delete(first)
    if (queue.size > 0) this.#queues.set(next, queue)
    this.#wasNobodys = next === null
    this.#count(next, 1)
    clearTimeout(first.timer)
    first.enter()
  }

  /** Whose turn it is of those that wait; undefined where none of them may. */
  #nextOwner(): string | null | undefined {
    if (!this.#wasNobodys && this.#queues.has(null) && this.#hasRoom(null)) return null
    for (const owner of this.#queues.keys()) {
      if (this.#hasRoom(owner)) return owner
    }
    return undefined
  }

  #hasRoom(owner: string | null): boolean {
    const { atOnce, eachMax } = this.#options
    return this.#busy < atOnce && (this.#busyOf.get(owner) ?? 0) < eachMax
  }

  #count(owner: string | null, by: 1 | -1): void {
    this.#busy += by
    const own = (this.#busyOf.get(owner) ?? 0) + by
    if (own === 0) this.#busyOf.delete(owner)
    else this.#busyOf.set(owner, own)
  }

  #wait(owner: string | null): Promise<void> {
    const { waitingEachMax, waitMsMax } = this.#options
    const queue = this.#queues.get(owner) ?? new Set()
    if (queue.size >= waitingEachMax) return Promise.reject(tooMany())
    this.#queues.set(owner, queue)
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { enter: resolve, timer: undefined }
      queue.add(waiting)
      if (waitMsMax === null) return
      waiting.timer = setTimeout(() => {
        queue.delete(waiting)
        if (queue.size === 0 && this.#queues.get(owner) === queue) this.#queues.delete(owner)
        reject(tooMany())
      }, waitMsMax)
    })
  }
}

function tooMany(): StorageError {
  return new StorageError('busy', 'Too many writes are waiting.')
}
