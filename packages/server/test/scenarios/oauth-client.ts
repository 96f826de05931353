// An assistant and the browser of a person, each by plain requests.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'

export type Service = { readonly baseUrl: string; readonly key: string }

export const REDIRECT = 'https://assistant.example/callback'
const VERIFIER = 'a-verifier-of-the-test-with-at-least-43-characters'

export type TokenAnswer = {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
  token_type: string
}

export function challengeOf(verifier = VERIFIER): string {
  return hash('sha256', verifier, 'base64url')
}

export function postForm(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  path: string,
  fields: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${baseUrl}${path}`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers,
    redirect: 'manual',
  })
}

/** The client id of a new registration. */
export async function register(
  service: Service,
  metadata: object = { client_name: 'Acme assistant', redirect_uris: [REDIRECT] },
): Promise<string> {
  const response = await postJson(service, '/oauth/register', metadata)
  assert.equal(response.status, 201, await response.clone().text())
  return ((await response.json()) as { client_id: string }).client_id
}

export function postJson({ baseUrl }: Service, path: string, body: unknown): Promise<Response> {
  return fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

export function authorizeUrl(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  clientId: string,
  changes: Record<string, string | undefined> = {},
): string {
  const url = new URL('/oauth/authorize', baseUrl)
  const fields: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: challengeOf(),
    code_challenge_method: 'S256',
    state: 'the state',
    resource: `${baseUrl}/mcp`,
    ...changes,
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/** The parameters of the redirect to the client. */
export function replyOf(response: Response): Record<string, string> {
  assert.equal(response.status, 303)
  return Object.fromEntries(new URL(response.headers.get('location') ?? '').searchParams)
}

/** The parameters of the link back to the client on the page of a refused request. */
export async function refusalOf(response: Response): Promise<Record<string, string>> {
  assert.deepEqual([response.status, response.headers.get('location')], [400, null])
  const [, link = ''] = /<a href="([^"]+)"/.exec(await response.text()) ?? []
  return Object.fromEntries(new URL(link.replaceAll('&amp;', '&')).searchParams)
}

/** The sealed request within a page. */
export async function requestIn(page: Response): Promise<string> {
  const html = await page.text()
  const [, sealed] = /name="request" value="([^"]+)"/.exec(html) ?? []
  assert.ok(sealed !== undefined, html)
  return sealed
}

export type Consent = {
  inboxes?: string[]
  scopes?: string[]
  days?: string
  decision?: string
  key?: string
  client?: Record<string, string | undefined>
}

export const ALL_SCOPES = ['mail:read', 'mail:draft', 'mail:send', 'mail:organise']

/** The person opens the link, signs in, and allows what `consent` says: by default, everything. */
export async function approve(
  service: Service,
  clientId: string,
  consent: Consent = {},
): Promise<Response> {
  const opened = await fetch(authorizeUrl(service, clientId, consent.client), {
    redirect: 'manual',
  })
  assert.equal(opened.status, 200, await opened.clone().text())
  const own = { origin: service.baseUrl }
  const signedIn = await postForm(
    service,
    '/oauth/authorize',
    {
      request: await requestIn(opened),
      api_key: consent.key ?? service.key,
      decision: 'continue',
    },
    own,
  )
  assert.equal(signedIn.status, 200, await signedIn.clone().text())
  const { inboxes, scopes = ALL_SCOPES, days = '30', decision = 'allow' } = consent
  const form = new URLSearchParams({
    request: await requestIn(signedIn),
    decision,
    days,
  })
  if (inboxes === undefined) form.set('all', 'yes')
  for (const inbox of inboxes ?? []) form.append('inbox', inbox)
  for (const scope of scopes) form.append('scope', scope)
  return postForm(service, '/oauth/authorize', form, own)
}

export function redeem(
  service: Service,
  clientId: string,
  code: string,
  changes: Record<string, string> = {},
): Promise<Response> {
  return postForm(service, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: VERIFIER,
    redirect_uri: REDIRECT,
    ...changes,
  })
}

export function refresh(
  service: Service,
  clientId: string,
  token: string,
  changes: Record<string, string> = {},
): Promise<Response> {
  return postForm(service, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
    ...changes,
  })
}

export async function tokensOf(response: Response): Promise<TokenAnswer> {
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as TokenAnswer
}

/** The status and the error code of OAuth. */
export async function oauthErrorOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: string }
  return `${response.status} ${error}`
}

/** The whole way of a new client: registration, consent and tokens. */
export async function connectAssistant(service: Service, consent: Consent = {}) {
  const clientId = await register(service)
  const { code = '' } = replyOf(await approve(service, clientId, consent))
  const tokens = await tokensOf(await redeem(service, clientId, code))
  return { clientId, code, tokens }
}

export type Asked = { method?: string; params?: object; path?: string }

/** A message to the MCP endpoint. */
export function callMcp(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  token: string | null,
  { method = 'tools/list', params = {}, path = '/mcp' }: Asked = {},
): Promise<Response> {
  return fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

/** The text of a tool's result, also of an error. */
export async function callTool(
  service: Service,
  token: string,
  name: string,
  given: object = {},
): Promise<string> {
  const params = { name, arguments: given }
  const response = await callMcp(service, token, { method: 'tools/call', params })
  return response.text()
}
