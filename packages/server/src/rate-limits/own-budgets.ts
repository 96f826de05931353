// The limits of a process that shares its database with no other, counted exactly in its memory.

import type { Clock } from '#platform/clock.ts'
import type { Allowance, Budgets, Place, Places, WindowOptions } from './budgets.ts'

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
