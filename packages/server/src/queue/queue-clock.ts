// The time of the queue: it passes at the same pace for every process that works it, and a wall clock
// that is set forward or back does not move it. Not for telling the date.

import type { Clock } from '#platform/clock.ts'
import { readSharedTime } from '#platform/db/dialect.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'

/** A process that stood still for longer is late; less is the measuring. */
const SHARED_CLOCK_DRIFT_MS = 2 * SECOND_MS

export type QueueClock = {
  /** Milliseconds, near those since the epoch. */
  now(): number
  /** Call now and then: a process that was suspended catches up with the others. */
  check(): Promise<void>
}

const LOOKS_MAX = 3

/**
 * Counts from what the shared database's clock says now, or this machine's where there is no other
 * process. Rejects when the database cannot be read.
 */
export async function openQueueClock({ db, clock }: { db: Db; clock: Clock }): Promise<QueueClock> {
  const lookOnce = async () => {
    const startMs = clock.steady()
    const sharedMs = await readSharedTime(db.reading)
    const endMs = clock.steady()
    const steadyMs = Math.round((startMs + endMs) / 2)
    return { sharedMs, steadyMs, gapMs: clock.now() - endMs, tookMs: endMs - startMs }
  }
  // The quickest answer tells best: what it took is how far processes may be apart.
  const look = async () => {
    let best = await lookOnce()
    for (let looks = 1; looks < LOOKS_MAX && best.sharedMs !== null; looks++) {
      const next = await lookOnce()
      if (next.tookMs < best.tookMs) best = next
    }
    return best
  }
  let seen = await look()
  let aheadMs = seen.sharedMs === null ? 0 : seen.sharedMs - seen.steadyMs
  return {
    now: () => clock.steady() + aheadMs,
    async check() {
      const gapMs = clock.now() - clock.steady()
      if (seen.sharedMs === null || Math.abs(gapMs - seen.gapMs) < SHARED_CLOCK_DRIFT_MS) return
      // Either the wall clock was set, or this process stood still while the others went on.
      const now = await look()
      const driftMs = (now.sharedMs ?? 0) - seen.sharedMs - (now.steadyMs - seen.steadyMs)
      if (driftMs > SHARED_CLOCK_DRIFT_MS) aheadMs += driftMs
      seen = now
    },
  }
}
