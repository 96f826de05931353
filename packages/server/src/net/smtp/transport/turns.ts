// Turns at something that takes so many at once: as many others wait in the order in which they came,
// whoever comes then is told so at once.

export type Turn = 'taken' | 'aborted' | 'crowded'

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

  /**
   * Once `taken`, the turn must be given back, once. `crowded`: it did not come within `waitMs`, or as
   * many wait already.
   */
  async take(key: string, waitMs: number, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return 'aborted'
    const place = this.#places.get(key) ?? { taken: 0, waiting: new Set() }
    this.#places.set(key, place)
    if (place.taken < this.#atOnce) {
      place.taken += 1
      return 'taken'
    }
    if (place.waiting.size >= this.#atOnce) return 'crowded'
    const { promise, resolve } = Promise.withResolvers<Turn>()
    const begin = () => resolve('taken')
    const leave = (why: 'aborted' | 'crowded') => {
      place.waiting.delete(begin)
      resolve(why)
    }
    const abort = () => leave('aborted')
    const timer = setTimeout(leave, waitMs, 'crowded')
    signal.addEventListener('abort', abort, { once: true })
    place.waiting.add(begin)
    const outcome = await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    return outcome
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
