// Exact sliding windows in the memory of one process. Knows keys and a clock, not what is being limited.

import type { Clock } from '#platform/clock.ts'
import type { Allowance, RateWindow } from './budgets.ts'
import { TimeRing } from './time-ring.ts'

export type SlidingWindowOptions = {
  readonly limit: number
  readonly windowMs: number
  /** Keys remembered at most; the one unused for longest is forgotten first. */
  readonly entriesMax: number
  readonly clock: Pick<Clock, 'monotonic'>
}

export type SlidingWindow = {
  readonly [Name in keyof RateWindow]: (key: string) => Allowance
}

/** A limiter in the memory of this process, which answers at once. */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindow {
  const { limit, windowMs, entriesMax, clock } = options
  const rings = new Map<string, TimeRing>()

  function ringOf(key: string): TimeRing {
    const known = rings.get(key)
    if (known) {
      // A Map keeps the order of insertion: taken out and put back, the key is the newest.
      rings.delete(key)
      rings.set(key, known)
      return known
    }
    const ring = new TimeRing(limit)
    rings.set(key, ring)
    if (rings.size > entriesMax) {
      const oldest = rings.keys().next().value
      if (oldest !== undefined) rings.delete(oldest)
    }
    return ring
  }

  function allowanceOf(ring: TimeRing, nowMs: number, isAllowed: boolean): Allowance {
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
      const ring = rings.get(key) ?? new TimeRing(limit)
      ring.dropUntil(nowMs - windowMs)
      return allowanceOf(ring, nowMs, ring.size < limit)
    },
  }
}
