// Console sessions, sealed in a cookie. Only the ids of ended sessions are stored.

import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { SECURE_SESSION_COOKIE, SESSION_COOKIE } from '@mailroom/contract/vocabulary.ts'
import { type Authenticate, type Identity, makeTouch } from '#accounts/keys/issue-key.ts'
import { type Account, findAccount, type Key } from '#accounts/store/accounts.ts'
import { type Approver, findApprover } from '#accounts/store/approvers.ts'
import { findKeyWithAccount } from '#accounts/store/keys.ts'
import { endSession, findEndedSessions } from '#accounts/store/sessions.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import { isIdOf } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { type Sealer, sealer as sealerOf } from '#platform/seal.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'

export type Session = Identity & {
  readonly csrfToken: string
  readonly expiresAtMs: number
}

export type SignedIn = {
  readonly session: Session
  readonly account: Account
  readonly key: Key | null
  readonly approver: Approver | null
}

export type Sessions = {
  /** Null if the token is unknown or revoked. */
  create(token: string): Promise<(SignedIn & { readonly cookie: string }) | null>
  /** Null if the cookie is not valid, the session has ended, or its key or approver was removed. */
  find(cookie: string): Promise<SignedIn | null>
  end(session: Session): Promise<void>
}

const SESSION_MS = 12 * HOUR_MS
const CSRF_TOKEN_BYTES = 24

/** Each use checks the key or approver, so revoking or deleting it ends the session immediately. */
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
  const sealer = sealerOf(deps.deriveKey(CONTEXT), deps.chance)
  const touch = makeTouch(deps)
  return {
    async create(token) {
      const identity = await authenticate(token)
      const found = identity && (await findHolder(deps.db, identity))
      if (identity === null || found === null) return null
      const csrfToken = Buffer.from(deps.chance.bytes(CSRF_TOKEN_BYTES)).toString('base64url')
      const session = { ...identity, csrfToken, expiresAtMs: deps.clock.now() + SESSION_MS }
      return { ...found, session, cookie: sealSession(sealer, session) }
    },
    async find(cookie) {
      const session = openSession(sealer, cookie)
      if (session === null || session.expiresAtMs <= deps.clock.now()) return null
      const found = await findHolder(deps.db, session)
      if (found === null) return null
      if ((await findEndedSessions(deps.db, [sessionId(session)])).length > 0) return null
      const { accountId, actor } = session
      if (actor.kind === 'key') void touch({ accountId, keyId: actor.keyId })
      return { ...found, session }
    },
    async end(session) {
      const { expiresAtMs } = session
      await deps.db.write(endSession, { id: sessionId(session), expiresAtMs })
    },
  }
}

async function findHolder(
  db: Db,
  { accountId, actor }: Identity,
): Promise<Omit<SignedIn, 'session'> | null> {
  if (actor.kind === 'key') {
    const found = await findKeyWithAccount(db, { accountId, keyId: actor.keyId })
    return found && { ...found, approver: null }
  }
  const approver = await findApprover(db, { accountId, approverId: actor.approverId })
  const account = approver && (await findAccount(db, accountId))
  return account && { account, key: null, approver }
}

/** Identifies a session in the database and in memory. The id cannot be used to sign in. */
export function sessionId({ csrfToken }: Session): string {
  return hash('sha256', csrfToken, 'base64url')
}

const CONTEXT = 'console-session'
const COOKIE_LENGTH_MAX = 1_000
const SEALED = /^[A-Za-z0-9_-]+$/

function sealSession(sealer: Sealer, session: Session): string {
  const { accountId, actor, csrfToken, expiresAtMs } = session
  const holderId = actor.kind === 'key' ? actor.keyId : actor.approverId
  const plain = Buffer.from([accountId, holderId, csrfToken, expiresAtMs].join(' '))
  return Buffer.from(sealer.seal(plain, CONTEXT)).toString('base64url')
}

/** Null if the text was not sealed with this key. Expired sessions are returned. */
function openSession(sealer: Sealer, text: string): Session | null {
  if (text.length > COOKIE_LENGTH_MAX || !SEALED.test(text)) return null
  const plain = sealer.open(Buffer.from(text, 'base64url'), CONTEXT)
  if (plain === null) return null
  const [accountId = '', holderId = '', csrfToken = '', expiresAt] = Buffer.from(plain)
    .toString()
    .split(' ')
  const actor: Session['actor'] = isIdOf('apr', holderId)
    ? { kind: 'approver', approverId: holderId }
    : { kind: 'key', keyId: holderId }
  return { accountId, actor, csrfToken, expiresAtMs: Number(expiresAt) }
}

/** A Set-Cookie value (RFC 6265), restricted to https if the public URL is https. */
export function sessionCookie(value: string, publicUrl: string): string {
  return cookie(value, SESSION_MS / 1000, publicUrl)
}

export function endedSessionCookie(publicUrl: string): string {
  return cookie('', 0, publicUrl)
}

function cookie(value: string, maxAgeSeconds: number, publicUrl: string): string {
  const secure = isSecure(publicUrl) ? '; Secure' : ''
  return `${nameOf(publicUrl)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`
}

function nameOf(publicUrl: string): string {
  return isSecure(publicUrl) ? SECURE_SESSION_COOKIE : SESSION_COOKIE
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/**
 * Returns '' without a cookie, or with two different ones: a sibling host can add its own (RFC 6265
 * §8.6), so that a victim would write mail in the attacker's account.
 */
export function readSessionCookie(
  { cookie: field = '' }: IncomingHttpHeaders,
  publicUrl: string,
): string {
  const name = nameOf(publicUrl)
  const values = new Set<string>()
  for (const pair of field.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    values.add(pair.slice(equals + 1).trim())
  }
  const [value = '', ...others] = values
  return others.length === 0 ? value : ''
}
