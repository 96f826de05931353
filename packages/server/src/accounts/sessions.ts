// Signing in to the console with a key, and who a session's cookie belongs to. Every use looks the key
// up, so a revoked one signs out at once, and in every process; so does signing out.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { sealer as sealerOf } from '#platform/seal.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import type { Account } from './account.ts'
import { findKeyWithAccount } from './account-rows.ts'
import { type Authenticate, makeTouch } from './authenticate.ts'
import { endSession, findEndedSessions } from './ended-session-rows.ts'
import type { Key } from './key.ts'
import { openSession, type Session, sealSession, sessionId } from './session.ts'

/** From signing in to the end of the session. */
export const SESSION_MS = 12 * HOUR_MS

export type SignedIn = {
  readonly session: Session
  readonly account: Account
  readonly key: Key
}

export type Sessions = {
  /** With the value of the cookie; null when the token is unknown or revoked. */
  create(token: string): Promise<(SignedIn & { readonly cookie: string }) | null>
  /**
   * Null for a cookie that no process with this secret has made, and for one that has expired, that was
   * signed out of, or whose key was revoked.
   */
  find(cookie: string): Promise<SignedIn | null>
  /** Signs out, in every process. */
  end(session: Session): Promise<void>
}

const CSRF_TOKEN_BYTES = 24

/** Nothing is kept of those that are open: any process with the same secret knows those of the others. */
export function openSessions(
  deps: {
    db: Db
    clock: Clock
    chance: Chance
    log: Log
    deriveKey: (purpose: string) => Uint8Array
  },
  authenticate: Authenticate,
): Sessions {
  const sealer = sealerOf(deps.deriveKey('console-session'), deps.chance)
  const touch = makeTouch(deps)
  return {
    async create(token) {
      const identity = await authenticate(token)
      const found = identity && (await findKeyWithAccount(deps.db, identity))
      if (identity === null || found === null) return null
      const { accountId, keyId } = identity
      const csrfToken = Buffer.from(deps.chance.bytes(CSRF_TOKEN_BYTES)).toString('base64url')
      const session = { accountId, keyId, csrfToken, expiresAtMs: deps.clock.now() + SESSION_MS }
      return { ...found, session, cookie: sealSession(sealer, session) }
    },
    async find(cookie) {
      const session = openSession(sealer, cookie)
      if (session === null || session.expiresAtMs <= deps.clock.now()) return null
      const found = await findKeyWithAccount(deps.db, session)
      if (found === null) return null
      if ((await findEndedSessions(deps.db, [sessionId(session)])).length > 0) return null
      void touch(session)
      return { ...found, session }
    },
    async end(session) {
      const { expiresAtMs } = session
      await deps.db.write(endSession, { id: sessionId(session), expiresAtMs })
    },
  }
}
