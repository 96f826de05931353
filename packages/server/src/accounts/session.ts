// A session of the console: who signed in with which key, until when, and the secret that goes with all
// that changes something. The whole of it is in the cookie, sealed; nothing is kept but which ones were
// signed out of.

import { hash } from 'node:crypto'
import type { Sealer } from '#platform/seal.ts'

export type Session = {
  readonly accountId: string
  readonly keyId: string
  /** 32 characters of base64url. */
  readonly csrfToken: string
  readonly expiresAtMs: number
}

/** What a session is known by elsewhere, which opens nothing. */
export function sessionId({ csrfToken }: Session): string {
  return hash('sha256', csrfToken, 'base64url')
}

const CONTEXT = 'console-session'
const COOKIE_LENGTH_MAX = 1_000
const SEALED = /^[A-Za-z0-9_-]+$/

/** Text for a cookie. */
export function sealSession(sealer: Sealer, session: Session): string {
  const { accountId, keyId, csrfToken, expiresAtMs } = session
  const plain = Buffer.from([accountId, keyId, csrfToken, expiresAtMs].join(' '))
  return Buffer.from(sealer.seal(plain, CONTEXT)).toString('base64url')
}

/** Null for text that `sealSession` did not make with this key; a session that is over is one. */
export function openSession(sealer: Sealer, text: string): Session | null {
  if (text.length > COOKIE_LENGTH_MAX || !SEALED.test(text)) return null
  const plain = sealer.open(Buffer.from(text, 'base64url'), CONTEXT)
  if (plain === null) return null
  const [accountId = '', keyId = '', csrfToken = '', expiresAt] = Buffer.from(plain)
    .toString()
    .split(' ')
  return { accountId, keyId, csrfToken, expiresAtMs: Number(expiresAt) }
}
