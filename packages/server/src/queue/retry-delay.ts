// When a job that failed is tried again.

const FIRST_MS = 1_000
const LAST_MS = 60 * 60 * 1_000

/** Milliseconds until attempt number `attempts + 1`: doubling from a second to an hour. */
export function retryDelayMs(attempts: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(attempts - 1, 20), LAST_MS)
}
