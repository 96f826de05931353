// Who is signed in, and the client of the service that speaks for them: the cookie says who, the
// header proves that this page asks.

import { Mailroom, MailroomError, type Session } from '@mailroom/sdk'
import { effect, signal } from '@preact/signals'

/** Undefined until the service was asked. */
export const session = signal<Session | null | undefined>(undefined)
/** Why somebody who was signed in is not any more. */
export const signedOutReason = signal<string | null>(null)
/** Why the service could not be asked at the start. */
export const startFailure = signal<unknown>(null)

const EXPIRY_MARGIN_MS = 1_000
const SIGNED_OUT = 'You were signed out: the session expired, or its key was revoked.'

/** Cookies do the rest; an Authorization header would go before them. */
export const consoleFetch: typeof fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const token = session.value?.csrfToken
  if (token !== undefined) headers.set('x-csrf-token', token)
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  noteAnswer(response.status, token)
  return response
}

/** `token` is that of the session in which it was asked: another one may have begun since. */
export function noteAnswer(status: number, token: string | undefined): void {
  if (token === undefined || session.value?.csrfToken !== token) return
  if (status === 401) {
    signedOutReason.value = SIGNED_OUT
    session.value = null
  }
  // In another window somebody may have signed in anew, and the cookie is for both.
  if (status === 403) void refreshSession()
}

export const client = new Mailroom({
  baseUrl: location.origin,
  apiKey: '',
  fetch: consoleFetch,
  maxRetries: 2,
})

/** Looks whether the browser has a session; called once at the start, and to try again. */
export async function resumeSession(): Promise<void> {
  startFailure.value = null
  try {
    session.value = await client.session.get()
  } catch (error) {
    if (error instanceof MailroomError && error.status === 401) session.value = null
    else startFailure.value = error
  }
}

export async function signIn(apiKey: string): Promise<void> {
  const made = await client.session.create({ apiKey })
  signedOutReason.value = null
  session.value = made
}

/** Rejects where the service did not hear of it: the cookie, which no script can remove, still holds. */
export async function signOut(): Promise<void> {
  try {
    await client.session.delete()
  } catch (error) {
    if (!(error instanceof MailroomError) || error.status !== 401) throw error
  }
  signedOutReason.value = null
  session.value = null
}

/** Asks whose session the cookie is now. Without an answer all stays as it is. */
async function refreshSession(): Promise<void> {
  const before = session.value
  const now = await client.session.get().catch(() => null)
  if (now !== null && session.value === before && now.csrfToken !== before?.csrfToken) {
    session.value = now
  }
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && session.value) void refreshSession()
})

/** A session ends at its hour also where nobody asks the service anything; whose clock is right, it knows. */
effect(() => {
  const current = session.value
  if (!current) return
  const restMs = Date.parse(current.expiresAt) - Date.now()
  const timer = setTimeout(() => void refreshSession(), Math.max(0, restMs) + EXPIRY_MARGIN_MS)
  return () => clearTimeout(timer)
})
