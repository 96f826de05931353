// What a program gives to the protocol's client so that it signs in by itself, and the person who consents, played by
// an HTTP client.

import assert from 'node:assert/strict'
import { postForm, requestIn, type Service } from '@mailroom/server/test/scenarios/oauth-client.ts'
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'

const REDIRECT = 'http://127.0.0.1:9/callback'

/** Fits the clients of both eras. `asked` is where they send the person. */
export type Provider = OAuthClientProvider & { asked: URL | null }

export function memoryProvider(): Provider {
  let client: StoredOAuthClientInformation | undefined
  let held: StoredOAuthTokens | undefined
  let verifier = ''
  let discovery: OAuthDiscoveryState | undefined
  return {
    asked: null,
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'A client of the protocol',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => client,
    saveClientInformation(information) {
      client = information
    },
    tokens: () => held,
    saveTokens(tokens) {
      held = tokens
    },
    redirectToAuthorization(url) {
      this.asked = url
    },
    codeVerifier: () => verifier,
    saveCodeVerifier(made) {
      verifier = made
    },
    discoveryState: () => discovery,
    saveDiscoveryState(state) {
      discovery = state
    },
    invalidateCredentials(what) {
      if (what === 'all' || what === 'client') client = undefined
      if (what === 'all' || what === 'tokens') held = undefined
    },
  }
}

/** Opens the URL as a browser does, allows what is offered, or only `scopes` of it, and returns where it leads. */
export async function consent(
  service: Service,
  url: string | URL,
  scopes?: readonly string[],
): Promise<URL> {
  const own = { origin: service.baseUrl }
  const decide = (form: URLSearchParams) => postForm(service, '/oauth/authorize', form, own)
  const request = await requestIn(await fetch(url, { redirect: 'manual' }))
  const signingIn = { request, api_key: service.key, decision: 'continue' }
  const page = await decide(new URLSearchParams(signingIn))
  const html = await page.clone().text()
  const form = new URLSearchParams({
    request: await requestIn(page),
    decision: 'allow',
    days: '30',
  })
  form.set('all', 'yes')
  for (const [, scope = ''] of html.matchAll(/name="scope" value="([^"]+)"/g)) {
    if (scopes?.includes(scope) !== false) form.append('scope', scope)
  }
  const reply = await decide(form)
  assert.equal(reply.status, 303, await reply.clone().text())
  return new URL(reply.headers.get('location') ?? '')
}
