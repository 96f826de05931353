// Counting a request of an account, and what the answer tells of it.

import { rateLimited } from './problems.ts'
import type { SlidingWindow } from './rate-limit.ts'

/** Tells each header of the rate limit, refused or not; throws `rate_limit_exceeded`. */
export function takeRequest(
  requests: SlidingWindow,
  accountId: string,
  tell: (name: string, value: string) => void,
): void {
  const { isAllowed, limit, remaining, resetSeconds } = requests.take(accountId)
  tell('ratelimit-limit', String(limit))
  tell('ratelimit-remaining', String(remaining))
  tell('ratelimit-reset', String(resetSeconds))
  if (isAllowed) return
  throw rateLimited(`The account may make ${limit} requests a minute.`, resetSeconds)
}
