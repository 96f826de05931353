// Making another key for an account.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { ACTIVE_KEYS_MAX, insertKey } from './account-rows.ts'
import { describeToken, type Key, makeToken } from './key.ts'

/** The key and, this once, its token. `api_key_limit_reached` when there are enough. */
export async function createKey(
  deps: { db: Db; clock: Clock; chance: Chance; makeId: MakeId },
  input: { accountId: string; name: string | null },
): Promise<{ key: Key; token: string }> {
  const token = makeToken(deps.chance)
  const nowMs = deps.clock.now()
  const { tokenHash, tokenPrefix, last4 } = describeToken(token)
  const id = deps.makeId('key')
  const outcome = await deps.db.write(insertKey, {
    accountId: input.accountId,
    key: { id, name: input.name, tokenHash, tokenPrefix, last4 },
    nowMs,
  })
  if (outcome === 'no_account') throw notFound()
  if (outcome === 'limit_reached') {
    throw problem(
      'api_key_limit_reached',
      `The account has reached the limit of ${ACTIVE_KEYS_MAX} active keys.`,
    )
  }
  const key = { id, name: input.name, tokenPrefix, last4, createdAtMs: nowMs, lastUsedAtMs: null }
  return { key, token }
}
