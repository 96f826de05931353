// Who is signed in, and the client of the service that speaks for them: the cookie says who, the
// header proves that this page asks.

import { Mailroom, MailroomError } from '@mailroom/sdk'
import { effect, signal } from '@preact/signals'

export type Session = {
  account: { id: string; name: string; plan: string }
  key: { id: string; name: string | null; tokenPrefix: string; last4: string }
  csrfToken: string
  expiresAt: string
  isSandbox: boolean
  version: string
}

/** Undefined until the service was asked. */
export const session = signal<Session | null | undefined>(undefined)
/** Why somebody who was signed in is not any more. */
export const signedOutReason = signal<string | null>(null)
/** Why the service could not be asked at the start. */
export const startFailure = signal<unknown>(null)

const SIGNED_OUT = 'You were signed out: the session is over, or its key was revoked.'

/** Cookies do the rest; an Authorization header would go before them. */
export const consoleFetch: typeof fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const token = session.value?.csrfToken
  if (token !== undefined) headers.set('x-csrf-token', token)
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  if (response.status === 401 && session.value) {
    signedOutReason.value = SIGNED_OUT
    session.value = null
  }
  return response
}

export const client = new Mailroom({
  baseUrl: location.origin,
  apiKey: '',
  fetch: consoleFetch,
  maxRetries: 2,
})

/** A request of the service that answers with JSON, or with nothing. */
export async function ask<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const response = await consoleFetch(path, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  })
  const text = await response.text()
  if (!response.ok) throw new MailroomError(response.status, response.headers, text)
  return text === '' ? (undefined as Body) : JSON.parse(text)
}

/** Looks whether the browser has a session; called once at the start, and to try again. */
export async function resumeSession(): Promise<void> {
  startFailure.value = null
  try {
    session.value = await ask<Session>('GET', '/auth/session')
  } catch (error) {
    if (error instanceof MailroomError && error.status === 401) session.value = null
    else startFailure.value = error
  }
}

export async function signIn(apiKey: string): Promise<void> {
  const made = await ask<Session>('POST', '/auth/session', { apiKey })
  signedOutReason.value = null
  session.value = made
}

export async function signOut(): Promise<void> {
  await ask<void>('DELETE', '/auth/session').catch(() => {})
  signedOutReason.value = null
  session.value = null
}

/** A session ends at its hour also where nobody asks the service anything. */
effect(() => {
  const current = session.value
  if (!current) return
  const restMs = Date.parse(current.expiresAt) - Date.now()
  const timer = setTimeout(
    () => {
      signedOutReason.value = SIGNED_OUT
      session.value = null
    },
    Math.max(0, restMs),
  )
  return () => clearTimeout(timer)
})
