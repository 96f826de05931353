// A clock that all processes of a database share. Changes of the wall clock do not affect it.

import type { Clock } from '#platform/clock.ts'
import { readSharedTime } from '#platform/db/dialect.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'

/** A larger difference means that the process was suspended. */
const SHARED_CLOCK_DRIFT_MS = 2 * SECOND_MS

export type QueueClock = {
  now(): number
  /** Must be called regularly, so that a suspended process catches up with the others. */
  check(): Promise<void>
}

const READS_MAX = 3

/** Rejects if the database cannot be read. */
export async function openQueueClock({ db, clock }: { db: Db; clock: Clock }): Promise<QueueClock> {
  const readOnce = async () => {
    const startMs = clock.steady()
    const sharedMs = await readSharedTime(db.reading)
    const endMs = clock.steady()
    const steadyMs = Math.round((startMs + endMs) / 2)
    return { sharedMs, steadyMs, gapMs: clock.now() - endMs, tookMs: endMs - startMs }
  }
  // The fastest query is the most precise, because its duration bounds the error.
  const measure = async () => {
    let best = await readOnce()
    for (let reads = 1; reads < READS_MAX && best.sharedMs !== null; reads++) {
      const next = await readOnce()
      if (next.tookMs < best.tookMs) best = next
    }
    return best
  }
  let seen = await measure()
  let aheadMs = seen.sharedMs === null ? 0 : seen.sharedMs - seen.steadyMs
  return {
    now: () => clock.steady() + aheadMs,
    async check() {
      const gapMs = clock.now() - clock.steady()
      if (seen.sharedMs === null || Math.abs(gapMs - seen.gapMs) < SHARED_CLOCK_DRIFT_MS) return
      const now = await measure()
      const driftMs = (now.sharedMs ?? 0) - seen.sharedMs - (now.steadyMs - seen.steadyMs)
      if (driftMs > SHARED_CLOCK_DRIFT_MS) aheadMs += driftMs
      seen = now
    },
  }
}
