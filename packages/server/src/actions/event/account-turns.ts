// Who may read the log now: a few at once, and of those that wait one of each account in turn, so that
// one with many readers holds up nobody else.

import { setImmediate as nextTurn } from 'node:timers/promises'

export class AccountTurns {
  readonly #atOnce: number
  /** A Map keeps the order of insertion: the first account is the next. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #busy = 0

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** How many wait for their turn. */
  get waiting(): number {
    let count = 0
    for (const queue of this.#waiting.values()) count += queue.length
    return count
  }

  /** Runs it when it is the account's turn; between two turns the event loop has one. */
  async run<Value>(accountId: string, read: () => Promise<Value>): Promise<Value> {
    if (this.#busy < this.#atOnce) this.#busy += 1
    else await this.#wait(accountId)
    try {
      await nextTurn()
      return await read()
    } finally {
      this.#give()
    }
  }

  #wait(accountId: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(accountId)
      if (queue === undefined) this.#waiting.set(accountId, [resolve])
      else queue.push(resolve)
    })
  }

  #give(): void {
    const [first] = this.#waiting
    if (first === undefined) {
      this.#busy -= 1
      return
    }
    const [accountId, queue] = first
    const enter = queue.shift()
    this.#waiting.delete(accountId)
    if (queue.length > 0) this.#waiting.set(accountId, queue)
    enter?.()
  }
}
