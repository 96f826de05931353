import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'

/** Waits after the first, second and further attempts to send mail; the last wait repeats. */
const BACKOFF_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  8 * HOUR_MS,
]

export const BACKOFF_MS_MAX = 8 * HOUR_MS

/** Null if no attempt is left. The last attempt is at `expiresAtMs`. */
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

/** Waits between the attempts at a webhook. */
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

export const WEBHOOK_WAIT_MS_MAX = 24 * HOUR_MS

/** Null if no attempt is left. `attempts` starts at 1. */
export function nextWebhookAttemptAt(input: { attempts: number; nowMs: number }): number | null {
  const waitMs = WAITS_MS[Math.max(input.attempts, 1) - 1]
  return waitMs === undefined ? null : input.nowMs + waitMs
}
