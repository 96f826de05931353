// API keys and approver tokens. Only the SHA-256 of a token and a few of its characters are stored.

import { hash, timingSafeEqual } from 'node:crypto'
import type { Key } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { findApproverByToken } from '#accounts/store/approvers.ts'
import {
  ACTIVE_KEYS_MAX,
  findKey,
  insertKey,
  markKeyRevoked,
  type NewKey,
  touchKeys,
} from '#accounts/store/keys.ts'
import { Cache } from '#platform/cache.ts'
import { BASE62, type Chance, randomText } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

/** Only this result contains the token. Throws `api_key_limit_reached` above ACTIVE_KEYS_MAX. */
export async function createKey(
  deps: Store & { chance: Chance },
  { accountId, name }: { accountId: string; name: string | null },
): Promise<{ key: Key; token: string }> {
  const { stored, key, token } = newKey(deps, { name })
  const outcome = await deps.db.write(insertKey, { accountId, key: stored, nowMs: key.createdAtMs })
  if (outcome === 'no_account') throw notFound()
  if (outcome === 'limit_reached') throw tooManyKeys()
  return { key, token }
}

export function tooManyKeys() {
  return problem(
    'api_key_limit_reached',
    `The account has reached the limit of ${ACTIVE_KEYS_MAX} active keys.`,
  )
}

export function newKey<Name extends string | null>(
  { chance, clock, makeId }: Store & { chance: Chance },
  { name, token: wanted }: { name: Name; token?: string | null },
): { stored: NewKey & { name: Name }; key: Key; token: string } {
  // 40 base62 characters hold 238 bits, so the digest needs neither salt nor a slow hash.
  const token = wanted ?? `mr_${randomText(chance, BASE62, 40)}`
  const shown = {
    id: makeId('key'),
    name,
    tokenPrefix: token.slice(0, 7),
    last4: token.slice(-4),
  }
  return {
    stored: { ...shown, tokenHash: hashToken(token) },
    key: { ...shown, createdAtMs: clock.now(), lastUsedAtMs: null },
    token,
  }
}

export function hashToken(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}

/** Takes effect on the next request. Throws `last_api_key`, or `not_found` on a second call. */
export async function revokeKey(
  deps: Store,
  input: { accountId: string; keyId: string },
): Promise<void> {
  const outcome = await deps.db.write(markKeyRevoked, { ...input, nowMs: deps.clock.now() })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'last_key') throw problem('last_api_key')
}

export function refuseScopedKey<Path>(find: (accountId: string, path: Path) => Promise<unknown>) {
  return async ({ path }: { path: Path }, { accountId }: { accountId: string }): Promise<never> => {
    await find(accountId, path)
    throw problem('scoped_keys_not_supported')
  }
}

export type Identity = {
  readonly accountId: string
  readonly actor: Exclude<Actor, { kind: 'operator' }>
}

/** No generated API key begins with this prefix; MAILROOM_BOOTSTRAP_API_KEY may. */
export const APPROVER_TOKEN_PREFIX = 'mra_'

/** Resolves to null if the token is unknown or revoked. */
export type Authenticate = (token: string) => Promise<Identity | null>

/** Writing a key's last use for each request would be too expensive. */
const TOUCH_EVERY_MS = 60_000
const TOUCHED_KEYS_MAX = 10_000

/**
 * Looks up each token in the database, so that a revoked key stops working immediately. Waits until
 * a key's first use is recorded.
 */
export function makeAuthenticate(deps: Store): Authenticate {
  const touch = makeTouch(deps)
  return async (token) => {
    const presented = hashToken(token)
    if (token.startsWith(APPROVER_TOKEN_PREFIX)) {
      const approver = await findApproverByToken(deps.db, presented)
      if (approver !== undefined && timingSafeEqual(presented, approver.tokenHash)) {
        const { accountId, approverId } = approver
        return { accountId, actor: { kind: 'approver', approverId } }
      }
    }
    const key = await findKey(deps.db, presented)
    if (key === undefined || !timingSafeEqual(presented, key.tokenHash)) return null
    const { accountId, keyId } = key
    const touched = touch({ accountId, keyId })
    if (key.lastUsedAtMs === null) await touched
    return { accountId, actor: { kind: 'key', keyId } }
  }
}

export function makeTouch(deps: {
  db: Db
  clock: Clock
  log: Log
}): (key: { accountId: string; keyId: string }) => Promise<void> {
  const touches = new Cache<Promise<void>>({
    entriesMax: TOUCHED_KEYS_MAX,
    now: () => deps.clock.monotonic(),
  })
  return ({ accountId, keyId }) => {
    const latest = touches.get(keyId)
    if (latest !== null) return latest
    const write = { accountId, keyIds: [keyId], nowMs: deps.clock.now() }
    const touched = deps.db.write(touchKeys, write).catch((error) => {
      if (touches.get(keyId) === touched) touches.delete(keyId)
      deps.log.debug({ error }, 'the last use of a key was not noted')
    })
    touches.set(keyId, touched, { ttlMs: TOUCH_EVERY_MS })
    return touched
  }
}
