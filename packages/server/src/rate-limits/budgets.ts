// How limits are counted, by one process or by all that share a database. Knows names and keys, not what
// is being limited.

import type { Clock } from '#platform/clock.ts'

/** The outcome of taking one from a limit. */
export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  /**
   * How many more would be let through now. Of several processes each counts as gone what others lease,
   * and what was gone when it last asked the record.
   */
  readonly remaining: number
  /** Whole seconds until the oldest entry leaves the window; 0 when the window is empty. */
  readonly resetSeconds: number
}

/** For each key, lets no more than the limit through in any stretch of time as long as the window. */
export type RateWindow = {
  /**
   * Counts one for `key` if it fits; a refusal is not counted. Rejects with `service_unavailable` where
   * the record has to be asked and the store cannot answer.
   */
  take(key: string): Allowance | Promise<Allowance>
}

/** One of the places that a key may have at once. */
export type Place = {
  /** The second call does nothing. */
  release(): void
}

/** A number of places for each key. */
export type Places = {
  /** Null when all are taken. Rejects with `service_unavailable` as `RateWindow` does. */
  take(key: string): Place | null | Promise<Place | null>
}

export type WindowOptions = {
  /** Names the limit among all of them. */
  readonly name: string
  readonly limit: number
  /** Much less than BUDGET_RECORD_MS. */
  readonly windowMs: number
}

export type PlacesOptions = Pick<WindowOptions, 'name' | 'limit'>

export type Budgets = {
  openWindow(options: WindowOptions): RateWindow
  openPlaces(options: PlacesOptions): Places
  /**
   * Renews the leases of this process and returns those that it does not use; runs by itself every few
   * seconds. Never fails.
   */
  tend(): Promise<void>
  /** Returns all leases, as far as the store can be told. */
  close(): Promise<void>
}

/** Keys that a limit remembers; the one unused for longest is forgotten first. */
export const LIMITER_ENTRIES_MAX = 10_000

/** They answer at once. */
export function openOwnBudgets(clock: Pick<Clock, 'monotonic'>): Budgets {
  return {
    openWindow: ({ limit, windowMs }) =>
      slidingWindow({ limit, windowMs, entriesMax: LIMITER_ENTRIES_MAX, clock }),
    openPlaces: ({ limit }) => countedPlaces(limit),
    tend: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

type SlidingWindowOptions = Omit<WindowOptions, 'name'> & {
  readonly entriesMax: number
  readonly clock: Pick<Clock, 'monotonic'>
}

/** A rate window that never has to ask. */
export function slidingWindow({ limit, windowMs, entriesMax, clock }: SlidingWindowOptions) {
  /** When each that was let through was, by key; the keys in the order of their last use. */
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
        // Times have fractions, and the sum of three of them may be a hair over the window.
        resetSeconds: Math.ceil(Math.min(waitMs, windowMs) / 1000),
      }
    },
  }
}

function countedPlaces(limit: number): Places {
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

/** A place that is returned by the first of its releases. */
export function releasedOnce(release: () => void): Place {
  let isReleased = false
  return {
    release() {
      if (isReleased) return
      isReleased = true
      release()
    },
  }
}
