// Work of accounts that costs much: so much of it at once, of each account as well, and those that wait
// take turns by account, so that one with much of it holds up nobody else.

import { problem } from '#model/problem.ts'

export type TurnBounds = {
  atOnce: number
  atOnceEach: number
  /** Those of one account; whoever comes then is refused. */
  waitingEach: number
  /** What whoever is refused is told: the sentence, and when to come again. */
  refusal: string
  retryAfterSeconds: number
}

export class BoundedTurns {
  readonly #bounds: TurnBounds
  /** A Map keeps the order of insertion: the first account that may is the next. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #busyOf = new Map<string, number>()
  #busy = 0

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds
  }

  /** Runs it when it is the account's turn. `rate_limit_exceeded` when too much of it waits already. */
  async run<Value>(accountId: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#hasRoom(accountId)) this.#count(accountId, 1)
    else await this.#wait(accountId)
    try {
      return await work()
    } finally {
      this.#count(accountId, -1)
      this.#admitNext()
    }
  }

  #hasRoom(accountId: string): boolean {
    const { atOnce, atOnceEach } = this.#bounds
    return this.#busy < atOnce && (this.#busyOf.get(accountId) ?? 0) < atOnceEach
  }

  #count(accountId: string, by: 1 | -1): void {
    this.#busy += by
    const own = (this.#busyOf.get(accountId) ?? 0) + by
    if (own === 0) this.#busyOf.delete(accountId)
    else this.#busyOf.set(accountId, own)
  }

  #wait(accountId: string): Promise<void> {
    const queue = this.#waiting.get(accountId) ?? []
    const { waitingEach, refusal, retryAfterSeconds } = this.#bounds
    if (queue.length >= waitingEach) {
      throw problem('rate_limit_exceeded', refusal, { retryAfterSeconds })
    }
    this.#waiting.set(accountId, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  #admitNext(): void {
    for (const [accountId, queue] of this.#waiting) {
      if (!this.#hasRoom(accountId)) continue
      const enter = queue.shift()
      this.#waiting.delete(accountId)
      if (queue.length > 0) this.#waiting.set(accountId, queue)
      this.#count(accountId, 1)
      enter?.()
      return
    }
  }
}
