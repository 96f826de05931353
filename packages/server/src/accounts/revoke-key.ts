// Ending a key.

import type { Clock } from '#platform/clock.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { markKeyRevoked } from './account-rows.ts'

/** Effective on the next request. `last_api_key` for the only active one; a second call 404. */
export async function revokeKey(
  deps: { db: Db; clock: Clock },
  input: { accountId: string; keyId: string },
): Promise<void> {
  const outcome = await deps.db.write(markKeyRevoked, { ...input, nowMs: deps.clock.now() })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'last_key') throw problem('last_api_key')
}
