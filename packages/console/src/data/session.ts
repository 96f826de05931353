// The person's session and the API client. The cookie identifies the session; the CSRF header
// proves that this page sent the request.

import { Mailroom, MailroomError, type Session } from '@mailroom/sdk'
import { computed, effect, signal } from '@preact/signals'

/** Undefined until the service has answered. */
export const session = signal<Session | null | undefined>(undefined)
/** An approver's session may only read mail and decide reviews. */
export const isApprover = computed(() => (session.value?.approver ?? null) !== null)
/** The reason shown after a sign-out. */
export const signedOutReason = signal<string | null>(null)
/** The reason why the service could not be reached at the start. */
export const startFailure = signal<unknown>(null)

const EXPIRY_MARGIN_MS = 1_000
const SIGNED_OUT = 'You were signed out: the session expired, or its key was revoked.'

/** The cookie authenticates; an Authorization header would take precedence over it. */
export const consoleFetch: typeof fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const token = session.value?.csrfToken
  if (token !== undefined) headers.set('x-csrf-token', token)
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  noteAnswer(response.status, token)
  return response
}

/** `token` belongs to the session that made the request; a new session may have begun since. */
export function noteAnswer(status: number, token: string | undefined): void {
  if (token === undefined || session.value?.csrfToken !== token) return
  if (status === 401) {
    signedOutReason.value = SIGNED_OUT
    session.value = null
  }
  // The person may have signed in again in another window, which shares the cookie.
  if (status === 403) void refreshSession()
}

/** The cookie of the session identifies the person. */
export const NO_KEY = 'none'

export const client = new Mailroom({
  baseUrl: location.origin,
  apiKey: NO_KEY,
  fetch: consoleFetch,
  maxRetries: 2,
})

/** Checks whether the browser has a session. Called at the start and on retry. */
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

/**
 * Rejects if the service did not answer: the cookie is still valid, and scripts cannot delete it.
 */
export async function signOut(): Promise<void> {
  try {
    await client.session.delete()
  } catch (error) {
    if (!(error instanceof MailroomError) || error.status !== 401) throw error
  }
  signedOutReason.value = null
  session.value = null
}

/** Reloads the session that the cookie belongs to now. Without a response, nothing changes. */
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

/** A session also expires without requests, by the service's clock. */
effect(() => {
  const current = session.value
  if (!current) return
  const restMs = Date.parse(current.expiresAt) - Date.now()
  const timer = setTimeout(() => void refreshSession(), Math.max(0, restMs) + EXPIRY_MARGIN_MS)
  return () => clearTimeout(timer)
})
