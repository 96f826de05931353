// Rate limits and concurrency limits, counted by one process or by all on one database. They know names and
// keys, not what they limit.

import type { Clock } from '#platform/clock.ts'

/** The outcome of `take`. */
export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  /** How many more requests would be allowed now. */
  readonly remaining: number
  /** Whole seconds until more are allowed: the oldest use leaves the window, or a fixed window ends. */
  readonly resetSeconds: number
}

/**
 * Allows each key `limit` uses: alone with the database in any period as long as the window, else in fixed windows, with
 * what other processes allow in a moment on top.
 */
export type RateWindow = {
  /**
   * Counts one use for `key` if it is allowed. Rejects with `service_unavailable` when the uses of other processes are
   * needed and the store is down.
   */
  take(key: string): Allowance | Promise<Allowance>
}

/** One of the slots that a key may hold at a time. */
export type HeldSlot = {
  /** Idempotent. */
  release(): void
}

/** A number of slots for each key. */
export type KeyedSlots = {
  /** Null when all are held. Rejects like `RateWindow`. */
  take(key: string): HeldSlot | null | Promise<HeldSlot | null>
}

export type WindowOptions = {
  /** A unique name of the limit. */
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

export type SlotOptions = Pick<WindowOptions, 'name' | 'limit'>

export type Budgets = {
  openWindow(options: WindowOptions): RateWindow
  openSlots(options: SlotOptions): KeyedSlots
  /** Keeps the slots of this process on record. Also runs every few seconds. Never fails. */
  maintain(): Promise<void>
  /** Frees all slots, if the store works. */
  close(): Promise<void>
}

/** Keys that a limit remembers; the least recently used is dropped first. */
export const LIMITER_ENTRIES_MAX = 10_000

/** Limits of a process that is alone with its database, counted exactly in memory. */
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

/** A rate window that answers at once. */
export function slidingWindow({ limit, windowMs, entriesMax, clock }: SlidingWindowOptions) {
  /** Times of the uses of each key; keys in the order of their last use. */
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
        // Sums of fractional times may slightly exceed the window.
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

/** A slot that only the first `release` returns. */
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
