// A browser for tests: signs in to the console and sends requests as a page of the service or of another site.

import assert from 'node:assert/strict'
import type { Session } from '@mailroom/contract/sessions.ts'
import type { World } from '#test/world.ts'

export type SignedIn = {
  /** `mailroom_session=…`, as a browser sends it back. */
  readonly cookie: string
  /** All attributes of the cookie. */
  readonly setCookie: string
  readonly session: Session
}

/** Signs in with the first account's key unless given another. */
export async function signIn(world: World, apiKey = world.key): Promise<SignedIn> {
  const response = await postSession(world, { apiKey })
  assert.equal(response.status, 201, await response.clone().text())
  const setCookie = response.headers.get('set-cookie') ?? ''
  const cookie = setCookie.split(';')[0] ?? ''
  return { cookie, setCookie, session: (await response.json()) as Session }
}

/** The request that signs in, successful or not. */
export function postSession(
  world: World,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${world.baseUrl}/auth/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** A request with the session's cookie, and its CSRF token where `init.method` changes something. */
export function browse(
  world: World,
  { cookie, session }: SignedIn,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const isReading = ['GET', 'HEAD'].includes(init.method ?? 'GET')
  const headers = {
    cookie,
    origin: world.baseUrl,
    'sec-fetch-site': 'same-origin',
    ...(isReading ? {} : { 'x-csrf-token': session.csrfToken }),
    ...(typeof init.body === 'string' ? { 'content-type': 'application/json' } : {}),
    ...init.headers,
  }
  return fetch(`${world.baseUrl}${path}`, { redirect: 'manual', ...init, headers })
}
