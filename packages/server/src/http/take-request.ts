// Counting a request of an account, and what the answer tells of it.

import type { RateWindow } from '#rate-limits/budgets.ts'
import { rateLimited } from './problems.ts'

/**
 * Tells each header of the rate limit, refused or not; rejects with `rate_limit_exceeded`, and with
 * `service_unavailable` where nobody can say how many there were.
 */
export async function takeRequest(
  requests: RateWindow,
  accountId: string,
  tell: (name: string, value: string) => void,
): Promise<void> {
  const { isAllowed, limit, remaining, resetSeconds } = await requests.take(accountId)
  tell('ratelimit-limit', String(limit))
  tell('ratelimit-remaining', String(remaining))
  tell('ratelimit-reset', String(resetSeconds))
  if (isAllowed) return
  throw rateLimited(`The account may make ${limit} requests a minute.`, resetSeconds)
}
