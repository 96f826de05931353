// The requests of known assistants, by what their makers document and their users report.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionScopes } from '@mailroom/contract/vocabulary.ts'
import {
  approve,
  authorizeUrl,
  callMcp,
  oauthErrorOf,
  postJson,
  redeem,
  refresh,
  replyOf,
  requestIn,
  tokensOf,
} from '#test/scenarios/oauth-client.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

type Discovery = {
  client_id_metadata_document_supported: boolean
  token_endpoint_auth_methods_supported: string[]
  scopes_supported: string[]
  registration_endpoint: string
}

onEachEngine('known assistants', (engine) => {
  const world = opened(() => openWorld(engine))
  const discover = async () =>
    (await (
      await fetch(`${world.baseUrl}/.well-known/oauth-authorization-server`)
    ).json()) as Discovery

  async function registerAs(client_name: string, redirect_uris: string[], more: object = {}) {
    const metadata = {
      client_name,
      redirect_uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...more,
    }
    const response = await postJson(world, '/oauth/register', metadata)
    assert.equal(response.status, 201, await response.clone().text())
    return (await response.json()) as { client_id: string; redirect_uris: string[] }
  }

  /** Consent and code for a client whose redirect URI is not the usual one. */
  async function signIn(
    clientId: string,
    redirect_uri: string,
    changes: Record<string, string | undefined> = {},
  ) {
    const client = { redirect_uri, ...changes }
    const reply = await approve(world, clientId, {
      client,
      scopes: await offeredTo(clientId, client),
    })
    assert.ok(reply.headers.get('location')?.startsWith(redirect_uri))
    const { code = '', iss } = replyOf(reply)
    assert.equal(iss, world.baseUrl)
    return tokensOf(await redeem(world, clientId, code, { redirect_uri }))
  }

  /** The verbs that the consent page offers. */
  async function offeredTo(clientId: string, client: Record<string, string | undefined>) {
    const opening = await fetch(authorizeUrl(world, clientId, client), { redirect: 'manual' })
    const fields = { request: await requestIn(opening), api_key: world.key, decision: 'continue' }
    const page = await fetch(`${world.baseUrl}/oauth/authorize`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: world.baseUrl },
    })
    return Array.from(
      (await page.text()).matchAll(/name="scope" value="([^"]+)"/g),
      ([, scope = '']) => scope,
    )
  }

  test('claude.ai registers at each fresh connection, and again after invalid_client', async () => {
    const discovery = await discover()
    // With both, it would send the URL of its metadata document instead.
    assert.ok(discovery.client_id_metadata_document_supported)
    assert.ok(discovery.token_endpoint_auth_methods_supported.includes('none'))
    const redirect = 'https://claude.ai/api/mcp/auth_callback'
    const first = await registerAs('Claude', [redirect])
    const second = await registerAs('Claude', [redirect])
    assert.notEqual(first.client_id, second.client_id)
    const tokens = await signIn(second.client_id, redirect)
    assert.equal((await callMcp(world, tokens.access_token)).status, 200)
    const removed = 'ocl_01m8ngkx2de00tv6x8z0b2d4fh'
    const refused = await refresh(world, removed, tokens.refresh_token)
    assert.equal(await oauthErrorOf(refused), '401 invalid_client')
    const third = await registerAs('Claude', [redirect])
    const renewed = await signIn(third.client_id, redirect)
    assert.equal((await callMcp(world, renewed.access_token)).status, 200)
  })

  test('ChatGPT reconnects without a scope, and is offered the same verbs', async () => {
    const redirect = 'https://chatgpt.com/connector_platform_oauth_redirect'
    const { client_id } = await registerAs('ChatGPT', [redirect])
    const scope = connectionScopes.join(' ')
    const first = await signIn(client_id, redirect, { scope })
    const again = await signIn(client_id, redirect, { scope: undefined })
    assert.deepEqual([first.scope, again.scope], [scope, scope])
    assert.equal((await callMcp(world, again.access_token)).status, 200)
  })

  test('VS Code listens on another loopback port at each run', async () => {
    const registered = ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/']
    const { client_id } = await registerAs('Visual Studio Code', registered)
    for (const redirect of ['http://127.0.0.1:33418/', 'http://127.0.0.1:49731/', registered[0]]) {
      const tokens = await signIn(client_id, redirect ?? '')
      assert.equal((await callMcp(world, tokens.access_token)).status, 200)
    }
  })

  test('Cursor asks for every scope of the metadata, and returns to its own scheme', async () => {
    const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback'
    const { client_id } = await registerAs('Cursor', [redirect])
    const { scopes_supported } = await discover()
    const tokens = await signIn(client_id, redirect, { scope: scopes_supported.join(' ') })
    assert.equal(tokens.scope, scopes_supported.join(' '))
  })

  test('Cursor with a key in its configuration needs no discovery', async () => {
    const before = await world.client.connections.listSteps().page()
    assert.equal((await callMcp(world, world.key)).status, 200)
    const after = await world.client.connections.listSteps().page()
    assert.equal(after.total, before.total)
  })

  test('opencode reads the metadata of the root, and asks for offline access', async () => {
    const metadata = await fetch(`${world.baseUrl}/.well-known/oauth-protected-resource`)
    const { resource } = (await metadata.json()) as { resource: string }
    assert.equal(resource, `${world.baseUrl}/mcp`)
    const redirect = 'http://127.0.0.1:19876/mcp/oauth/callback'
    const { client_id } = await registerAs('OpenCode', [redirect], {
      client_uri: 'https://opencode.ai',
    })
    const tokens = await signIn(client_id, redirect, { scope: 'mail:read offline_access' })
    assert.equal(tokens.scope, 'mail:read')
    const rotated = await tokensOf(await refresh(world, client_id, tokens.refresh_token))
    assert.equal((await callMcp(world, rotated.access_token)).status, 200)
  })
})
