// Rate and concurrency limits, for one process or for all processes on a database. Limits have
// names and keys, and no other meaning here.

import type { Clock } from '#platform/clock.ts'

export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until a sliding window drops its oldest use, or a fixed window ends. */
  readonly resetSeconds: number
}

/**
 * A sliding window in one process. With several processes, the window is fixed, and its limit may
 * briefly be exceeded.
 */
export type RateWindow = {
  /** Rejects with `service_unavailable` if the store fails while its record is needed. */
  take(key: string): Allowance | Promise<Allowance>
}

export type HeldSlot = {
  release(): void
}

export type KeyedSlots = {
  /** Null if all slots are occupied. Rejects like `RateWindow`. */
  take(key: string): HeldSlot | null | Promise<HeldSlot | null>
}

export type WindowOptions = {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

export type SlotOptions = Pick<WindowOptions, 'name' | 'limit'>

export type Budgets = {
  openWindow(options: WindowOptions): RateWindow
  openSlots(options: SlotOptions): KeyedSlots
  /** Renews the slots of this process. Also runs every few seconds. Never fails. */
  maintain(): Promise<void>
  /** Frees all slots if the store is available. */
  close(): Promise<void>
}

/** Maximum keys that a limit remembers; the least recently used key is dropped first. */
export const LIMITER_ENTRIES_MAX = 10_000

/** Limits for a process that is alone with its database: exact counts in memory. */
export function openOwnBudgets(clock: Pick<Clock, 'monotonic'>): Budgets {
  return {
    openWindow: ({ limit, windowMs }) =>
      slidingWindow({ limit, windowMs, entriesMax: LIMITER_ENTRIES_MAX, clock }),
    openSlots: ({ limit }) => countedSlots(limit),
    maintain: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

type SlidingWindowOptions = Omit<WindowOptions, 'name'> & {
  readonly entriesMax: number
  readonly clock: Pick<Clock, 'monotonic'>
}

export function slidingWindow({ limit, windowMs, entriesMax, clock }: SlidingWindowOptions) {
  /** Times of uses by key, in order of last use. */
  const uses = new Map<string, number[]>()
  return {
    take(key: string): Allowance {
      const nowMs = clock.monotonic()
      const times = uses.get(key) ?? []
      uses.delete(key)
      uses.set(key, times)
      const [leastUsed] = uses.keys()
      if (uses.size > entriesMax && leastUsed !== undefined) uses.delete(leastUsed)
      const firstRecent = times.findIndex((timeMs) => timeMs > nowMs - windowMs)
      times.splice(0, firstRecent === -1 ? times.length : firstRecent)
      const isAllowed = times.length < limit
      if (isAllowed) times.push(nowMs)
      const waitMs = (times[0] ?? nowMs) + windowMs - nowMs
      return {
        isAllowed,
        limit,
        remaining: limit - times.length,
        // Because of rounding, sums of fractional times may slightly exceed the window.
        resetSeconds: Math.ceil(Math.min(waitMs, windowMs) / 1000),
      }
    },
  }
}

function countedSlots(limit: number): KeyedSlots {
  const taken = new Map<string, number>()
  return {
    take(key) {
      const count = taken.get(key) ?? 0
      if (count >= limit) return null
      taken.set(key, count + 1)
      return releasedOnce(() => {
        const left = (taken.get(key) ?? 0) - 1
        if (left > 0) taken.set(key, left)
        else taken.delete(key)
      })
    },
  }
}

/** Makes `release` idempotent. */
export function releasedOnce(release: () => void): HeldSlot {
  let isReleased = false
  return {
    release() {
      if (isReleased) return
      isReleased = true
      release()
    },
  }
}
