// When to look again at a log whose events wait for an older transaction to end: soon at first, then
// ever later, and when it takes long the operator is told why.

import type { Deps } from '#actions/deps.ts'
import { LOG_POLL_MS, LOG_STALL_MS, LOG_UNSETTLED_MS } from '#base/limits.ts'
import { comparePositions, type LogPosition } from '#model/event.ts'

export type Stall = {
  /** Milliseconds until the next look of a reader that came this far and found that events wait. */
  delayMs(position: LogPosition): number
  /** None waits. */
  end(): void
}

/** For one reader of the log; `reader` names it in what the operator is told. */
export function openStall({ clock, log }: Pick<Deps, 'clock' | 'log'>, reader: string): Stall {
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
