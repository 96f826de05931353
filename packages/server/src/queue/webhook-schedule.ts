// When a webhook that failed is tried again, and when it is given up.

import { MINUTE_MS } from '#platform/units.ts'

const HOUR_MS = 60 * MINUTE_MS

/** Waits after the first attempt, the second and so on; after the last of them none is made. */
const WAITS_MS = [
  MINUTE_MS / 2,
  MINUTE_MS,
  2 * MINUTE_MS,
  4 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]

/** No waiting delivery is further off than this. */
export const WEBHOOK_WAIT_MS_MAX = 24 * HOUR_MS

/** The time of the attempt after number `attempts` (from 1), or null when there is none left. */
export function nextWebhookAttemptAt(input: { attempts: number; nowMs: number }): number | null {
  const waitMs = WAITS_MS[Math.max(input.attempts, 1) - 1]
  return waitMs === undefined ? null : input.nowMs + waitMs
}
