// Who a bearer token belongs to. Nothing but a look-up decides, so a revoked key ends at once.

import { timingSafeEqual } from 'node:crypto'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#schema/tables.ts'
import { findKey, touchKeys } from './account-rows.ts'
import { hashToken } from './key.ts'

export type Identity = { readonly accountId: string; readonly keyId: string }

/** Looks a presented token up; null for one that is unknown or revoked. */
export type Authenticate = (token: string) => Promise<Identity | null>

/** How often a key's last use is written down: a write per request would cost more than it tells. */
const TOUCH_EVERY_MS = 60_000
const TOUCHED_KEYS_MAX = 10_000

/** Authentication by the database. A key's first use is on record before its request goes on. */
export function makeAuthenticate(deps: { db: Db; clock: Clock; log: Log }): Authenticate {
  const touch = makeTouch(deps)
  return async (token) => {
    const presented = hashToken(token)
    const key = await findKey(deps.db, presented)
    if (key === null || !timingSafeEqual(presented, key.tokenHash)) return null
    const { accountId, keyId } = key
    const noted = touch({ accountId, keyId })
    if (key.lastUsedAtMs === null) await noted
    return { accountId, keyId }
  }
}

/** Notes a use unless one was noted less than TOUCH_EVERY_MS ago; resolves either way. */
export function makeTouch(deps: {
  db: Db
  clock: Clock
  log: Log
}): (key: Identity) => Promise<void> {
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
