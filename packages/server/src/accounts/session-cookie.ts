// The cookie of a session (RFC 6265), as it is set, ended and read.

import type { IncomingHttpHeaders } from 'node:http'
import { SECURE_SESSION_COOKIE, SESSION_COOKIE } from '@mailroom/contract/vocabulary.ts'
import { SESSION_MS } from './sessions.ts'

/** A value for Set-Cookie; over https alone where the service is reached by it. */
export function sessionCookie(value: string, publicUrl: string): string {
  return cookie(value, SESSION_MS / 1000, publicUrl)
}

/** A value for Set-Cookie that ends the session in the browser. */
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
 * The session's cookie, '' for none. Of two different ones neither is taken: a neighbouring host can add
 * its own to the service's (RFC 6265 §8.6), and would have its victim write mail in another's account.
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
