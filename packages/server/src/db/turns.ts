// Who may work now: so many at once, the others in the order in which they came, and not for ever.

import { StorageError } from './storage-error.ts'

export class Turns {
  readonly #waitMsMax: number
  readonly #queue: (() => void)[] = []
  #free: number

  constructor(options: { atOnce: number; waitMsMax: number }) {
    this.#free = options.atOnce
    this.#waitMsMax = options.waitMsMax
  }

  /** Resolves when it is the caller's turn, who then owes a `give`; rejects as busy after the time. */
  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(enter), 1)
        reject(new StorageError('busy', 'Too many writes are waiting.'))
      }, this.#waitMsMax)
      this.#queue.push(enter)
    })
  }

  /** Ends a turn and lets the next one in. */
  give(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
