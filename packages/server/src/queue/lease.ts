// Holding a job for as long as it is worked on: its lease is renewed before it can end, and one that
// was lost all the same is noticed before the next step.

import type { Clock } from '#platform/clock.ts'
import type { Db } from '#schema/tables.ts'
import { renewLease } from './job-rows.ts'

/** How long a job stays with a worker that is not heard of any more. */
export const LEASE_MS = 60_000

export type Lease = {
  /** Call before each step: true while the job is still held and the service is not ending. */
  mayGoOn(): Promise<boolean>
}

/**
 * The lease of a job that was claimed at `claimedMs` of the monotonic clock. It is renewed when a
 * third of it is over.
 */
export function holdLease(
  deps: { db: Db; clock: Clock },
  holding: { id: string; worker: string; claimedMs: number; signal: AbortSignal },
): Lease {
  const { id, worker, signal } = holding
  let renewedMs = holding.claimedMs
  let isHeld = true
  return {
    async mayGoOn() {
      const nowMs = deps.clock.monotonic()
      if (isHeld && !signal.aborted && nowMs - renewedMs >= LEASE_MS / 3) {
        const untilMs = deps.clock.now() + LEASE_MS
        isHeld = await deps.db.write(renewLease, { id, worker, untilMs })
        renewedMs = nowMs
      }
      return isHeld && !signal.aborted
    },
  }
}
