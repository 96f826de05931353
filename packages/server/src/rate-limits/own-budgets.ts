// The budgets of a process that shares its database with no other: counts in its memory.

import type { Clock } from '#platform/clock.ts'
import type { Budgets, Place, Places } from './budgets.ts'
import { LIMITER_ENTRIES_MAX } from './leased-window.ts'
import { slidingWindow } from './sliding-window.ts'

/** They ask nobody and answer at once. */
export function openOwnBudgets(clock: Pick<Clock, 'monotonic'>): Budgets {
  return {
    openWindow: ({ limit, windowMs }) =>
      slidingWindow({ limit, windowMs, entriesMax: LIMITER_ENTRIES_MAX, clock }),
    openPlaces: ({ limit }) => countedPlaces(limit),
    tend: () => Promise.resolve(),
    close: () => Promise.resolve(),
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

/** A place that is given back by the first of its releases. */
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
