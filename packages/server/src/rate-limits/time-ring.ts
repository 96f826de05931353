// Times in their order, in an array that grows and is then written round and round.

const START_LENGTH = 8

/** Holds at most `limit` times: whoever pushes has made sure of that. */
export class TimeRing {
  size = 0
  #times = new Float64Array(START_LENGTH)
  #first = 0
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  oldest(): number | undefined {
    return this.size === 0 ? undefined : this.#times[this.#first]
  }

  /** Forgets what is not later than `timeMs`. */
  dropUntil(timeMs: number): void {
    while (this.size > 0 && (this.#times[this.#first] ?? 0) <= timeMs) {
      this.#first = (this.#first + 1) % this.#times.length
      this.size -= 1
    }
  }

  push(timeMs: number): void {
    if (this.size === this.#times.length) this.#grow()
    this.#times[(this.#first + this.size) % this.#times.length] = timeMs
    this.size += 1
  }

  /** All, the oldest first; it is empty then. */
  takeAll(): number[] {
    const all = Array.from({ length: this.size }, (_, index) => this.#at(index))
    this.size = 0
    return all
  }

  #at(index: number): number {
    return this.#times[(this.#first + index) % this.#times.length] ?? 0
  }

  #grow(): void {
    const length = Math.max(START_LENGTH, Math.min(this.size * 2, this.#limit))
    const larger = new Float64Array(length)
    for (let index = 0; index < this.size; index += 1) larger[index] = this.#at(index)
    this.#times = larger
    this.#first = 0
  }
}
