// Rate and concurrency limits, of one process or of all on a database. They know names and keys
// only.

import type { Clock } from '#platform/clock.ts'

export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until a sliding window drops its oldest use, or a fixed one ends. */
  readonly resetSeconds: number
}

/** A sliding window in one process; in several, a fixed one that may be exceeded briefly. */
export type RateWindow = {
  /** Rejects with `service_unavailable` when the store is down and its record is needed. */
  take(key: string): Allowance | Promise<Allowance>
}

export type HeldSlot = {
  release(): void
}

export type KeyedSlots = {
  /** Null when all slots are held. Rejects like `RateWindow`. */
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
  /** Renews the slots of this process; also runs every few seconds. Never fails. */
  maintain(): Promise<void>
  /** Frees all slots, if the store works. */
  close(): Promise<void>
}

/** Keys that a limit remembers; the least recently used is dropped first. */
export const LIMITER_ENTRIES_MAX = 10_000

/** For a process that is alone with its database: exact counts in memory. */
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
  /** In the order of last use. */
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

/** Idempotent. */
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
