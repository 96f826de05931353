// Making another key for an account.

import type { Deps } from '#actions/deps.ts'
import { ACTIVE_KEYS_MAX } from '#base/limits.ts'
import { describeToken, type Key, makeToken } from '#model/key.ts'
import { notFound, problem } from '#model/problem.ts'
import { insertKey } from '#store/account.ts'

/** The key and, this once, its token. `api_key_limit_reached` when there are enough. */
export async function createKey(
  deps: Pick<Deps, 'db' | 'clock' | 'chance' | 'makeId'>,
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
