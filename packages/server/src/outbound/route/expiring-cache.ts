// Values with an age, so many and no more: what was used longest ago goes first.

import type { Clock } from '#platform/clock.ts'

export type ExpiringCache<Value> = {
  /** With the milliseconds it has left; null when it is gone. */
  get(key: string): { value: Value; leftMs: number } | null
  set(key: string, value: Value, ageMs: number): void
  delete(key: string): void
}

/** Ages by the monotonic clock, so that a step of the other one neither ends nor prolongs anything. */
export function makeExpiringCache<Value>(clock: Clock, entriesMax: number): ExpiringCache<Value> {
  const entries = new Map<string, { value: Value; untilMs: number }>()
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return null
      entries.delete(key)
      const leftMs = entry.untilMs - clock.monotonic()
      if (leftMs <= 0) return null
      entries.set(key, entry)
      return { value: entry.value, leftMs }
    },
    set(key, value, ageMs) {
      entries.delete(key)
      entries.set(key, { value, untilMs: clock.monotonic() + ageMs })
      const oldest = entries.keys().next()
      if (entries.size > entriesMax && !oldest.done) entries.delete(oldest.value)
    },
    delete: (key) => void entries.delete(key),
  }
}
