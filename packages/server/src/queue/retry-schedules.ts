// When deliveries of mail and of webhooks are retried, and when they fail for good.

import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'

/** Waits of mail after the first attempt, the second and so on; the last wait repeats. */
const BACKOFF_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  8 * HOUR_MS,
]

/** The longest wait. */
export const BACKOFF_MS_MAX = 8 * HOUR_MS

/**
 * The time of the attempt after attempt number `attempts` (from 1), or null for none. The last attempt is
 * made at `expiresAtMs`.
 */
export function nextAttemptAt(input: {
  attempts: number
  nowMs: number
  expiresAtMs: number
}): number | null {
  const { attempts, nowMs, expiresAtMs } = input
  if (nowMs >= expiresAtMs) return null
  const index = Math.min(Math.max(attempts, 1), BACKOFF_MS.length) - 1
  return Math.min(nowMs + (BACKOFF_MS[index] ?? BACKOFF_MS_MAX), expiresAtMs)
}

/** Waits of webhooks after the first attempt, the second and so on; none follows the last. */
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

/** The longest wait. */
export const WEBHOOK_WAIT_MS_MAX = 24 * HOUR_MS

/** The time of the attempt after number `attempts` (from 1), or null when there is none left. */
export function nextWebhookAttemptAt(input: { attempts: number; nowMs: number }): number | null {
  const waitMs = WAITS_MS[Math.max(input.attempts, 1) - 1]
  return waitMs === undefined ? null : input.nowMs + waitMs
}
