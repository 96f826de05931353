// Who a bearer token belongs to. Nothing but a look-up decides, so a revoked key ends at once.

import { timingSafeEqual } from 'node:crypto'
import type { Deps } from '#actions/deps.ts'
import { hashToken } from '#model/key.ts'
import { findKey } from '#store/account.ts'

export type Identity = { accountId: string; keyId: string }

/** How often a key's last use is written down: a write per request would cost more than it tells. */
const TOUCH_EVERY_MS = 60_000
const TOUCHED_KEYS_MAX = 10_000

export type Identify = (token: string) => Promise<Identity | null>

/** A function from token to identity, or null when no active key has this token. */
export function makeIdentify(deps: Pick<Deps, 'db' | 'clock' | 'log'>): Identify {
  const touchedAt = new Map<string, number>()
  const touch = (keyId: string) => {
    const nowMs = deps.clock.now()
    if (nowMs - (touchedAt.get(keyId) ?? Number.NEGATIVE_INFINITY) < TOUCH_EVERY_MS) return
    if (touchedAt.size >= TOUCHED_KEYS_MAX) touchedAt.clear()
    touchedAt.set(keyId, nowMs)
    deps.db.write('touchKeys', { keyIds: [keyId], nowMs }).catch((error) => {
      deps.log.debug({ error }, 'the last use of a key was not noted')
    })
  }
  return async (token) => {
    const presented = hashToken(token)
    const key = await findKey(deps.db, presented)
    if (key === null || !timingSafeEqual(presented, key.tokenHash)) return null
    touch(key.keyId)
    return { accountId: key.accountId, keyId: key.keyId }
  }
}
