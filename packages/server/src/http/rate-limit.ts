// Exact sliding windows: of any stretch of time as long as the window, no more than the limit is let
// through. Knows keys and a clock, not what is being limited.

import type { Clock } from '#base/clock.ts'

export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  /** How many more would be let through now. */
  readonly remaining: number
  /** Whole seconds until the oldest entry leaves the window; 0 when the window is empty. */
  readonly resetSeconds: number
}

export type SlidingWindowOptions = {
  readonly limit: number
  readonly windowMs: number
  /** Keys remembered at most; the one unused for longest is forgotten first. */
  readonly entriesMax: number
  readonly clock: Clock
}

export type SlidingWindow = {
  /** Counts one for `key` if it fits; what does not fit is not counted. */
  take(key: string): Allowance
  /** What `take` would answer now, without counting. */
  peek(key: string): Allowance
}

/** A limiter in the memory of this process. */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindow {
  const { limit, windowMs, entriesMax, clock } = options
  const rings = new Map<string, Ring>()

  function ringOf(key: string): Ring {
    const known = rings.get(key)
    if (known) {
      // A Map keeps the order of insertion: taken out and put back, the key is the newest.
      rings.delete(key)
      rings.set(key, known)
      return known
    }
    const ring = new Ring(limit)
    rings.set(key, ring)
    if (rings.size > entriesMax) {
      const oldest = rings.keys().next().value
      if (oldest !== undefined) rings.delete(oldest)
    }
    return ring
  }

  function allowanceOf(ring: Ring, nowMs: number, isAllowed: boolean): Allowance {
    const oldestMs = ring.oldest()
    const waitMs = oldestMs === undefined ? (isAllowed ? 0 : windowMs) : oldestMs + windowMs - nowMs
    return {
      isAllowed,
      limit,
      remaining: limit - ring.size,
      // Times have fractions, and the sum of three of them may be a hair over the window.
      resetSeconds: Math.ceil(Math.min(waitMs, windowMs) / 1000),
    }
  }

  return {
    take(key) {
      const nowMs = clock.monotonic()
      const ring = ringOf(key)
      ring.dropUntil(nowMs - windowMs)
      const isAllowed = ring.size < limit
      if (isAllowed) ring.push(nowMs)
      return allowanceOf(ring, nowMs, isAllowed)
    },
    peek(key) {
      const nowMs = clock.monotonic()
      const ring = rings.get(key) ?? new Ring(limit)
      ring.dropUntil(nowMs - windowMs)
      return allowanceOf(ring, nowMs, ring.size < limit)
    },
  }
}

const RING_START_LENGTH = 8

/** Times in order, in an array that grows to `limit` and is then written round and round. */
class Ring {
  size = 0
  private times = new Float64Array(RING_START_LENGTH)
  private first = 0
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  oldest(): number | undefined {
    return this.size === 0 ? undefined : this.times[this.first]
  }

  dropUntil(timeMs: number): void {
    while (this.size > 0 && (this.times[this.first] ?? 0) <= timeMs) {
      this.first = (this.first + 1) % this.times.length
      this.size -= 1
    }
  }

  push(timeMs: number): void {
    if (this.size === this.times.length) this.grow()
    this.times[(this.first + this.size) % this.times.length] = timeMs
    this.size += 1
  }

  private grow(): void {
    const larger = new Float64Array(
      Math.max(RING_START_LENGTH, Math.min(this.size * 2, this.limit)),
    )
    for (let index = 0; index < this.size; index += 1) {
      larger[index] = this.times[(this.first + index) % this.times.length] ?? 0
    }
    this.times = larger
    this.first = 0
  }
}
