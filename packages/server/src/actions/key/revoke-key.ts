// Ending a key.

import type { Deps } from '#actions/deps.ts'
import { notFound, problem } from '#model/problem.ts'
import { markKeyRevoked } from '#store/account.ts'

/** Effective on the next request. `last_api_key` for the only active one; a second call 404. */
export async function revokeKey(
  deps: Pick<Deps, 'db' | 'clock'>,
  input: { accountId: string; keyId: string },
): Promise<void> {
  const outcome = await deps.db.write(markKeyRevoked, { ...input, nowMs: deps.clock.now() })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'last_key') throw problem('last_api_key')
}
