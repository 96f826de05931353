// When to look again at a log whose events wait for an older transaction to end: soon at first, then
// ever later, and when it takes long the operator is told why.

import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { comparePositions, type LogPosition } from './event.ts'

/** Without progress, while events wait for an older transaction to end, until the operator is told. */
export const LOG_STALL_MS = 10 * SECOND_MS
/** Until the next look where an event waits for an older transaction to end. */
export const LOG_UNSETTLED_MS = 20
/** Between looks at the log when nobody tells of a change: what a lost wake-up costs. */
export const LOG_POLL_MS = SECOND_MS

export type Stall = {
  /** Milliseconds until the next look of a reader that came this far and found that events wait. */
  delayMs(position: LogPosition): number
  /** None waits. */
  end(): void
}

/** For one reader of the log; `reader` names it in what the operator is told. */
export function openStall({ clock, log }: { clock: Clock; log: Log }, reader: string): Stall {
  let since: { position: LogPosition; startMs: number; isTold: boolean } | null = null
  return {
    delayMs(position) {
      const nowMs = clock.monotonic()
      if (since === null || comparePositions(since.position, position) !== 0) {
        since = { position, startMs: nowMs, isTold: false }
      }
      const waitedMs = nowMs - since.startMs
      if (waitedMs >= LOG_STALL_MS && !since.isTold) {
        since.isTold = true
        log.warn(
          { reader, waitedMs: Math.round(waitedMs) },
          'events are held up by an open transaction on the database server',
        )
      }
      return Math.min(LOG_POLL_MS, Math.max(LOG_UNSETTLED_MS, waitedMs / 4))
    },
    end() {
      since = null
    },
  }
}
