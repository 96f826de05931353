// Turns at something that takes so many at once: the others wait in the order in which they came.

type Place = { taken: number; readonly waiting: Set<() => void> }

export class Turns {
  readonly #atOnce: number
  readonly #places = new Map<string, Place>()

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** Turns that are taken at `key`. */
  count(key: string): number {
    return this.#places.get(key)?.taken ?? 0
  }

  /** False when `signal` was aborted first. Else the turn must be given back, once. */
  async take(key: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    const place = this.#places.get(key) ?? { taken: 0, waiting: new Set() }
    this.#places.set(key, place)
    if (place.taken < this.#atOnce) {
      place.taken += 1
      return true
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const begin = () => {
      signal.removeEventListener('abort', leave)
      resolve(true)
    }
    const leave = () => {
      place.waiting.delete(begin)
      resolve(false)
    }
    place.waiting.add(begin)
    signal.addEventListener('abort', leave, { once: true })
    return promise
  }

  /** Hands the turn to the one who has waited longest, if anyone does. */
  give(key: string): void {
    const place = this.#places.get(key)
    if (place === undefined) return
    const [next] = place.waiting
    if (next !== undefined) {
      place.waiting.delete(next)
      next()
      return
    }
    place.taken -= 1
    if (place.taken === 0) this.#places.delete(key)
  }
}
