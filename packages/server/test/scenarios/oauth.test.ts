import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationId } from '@mailroom/contract/operations.ts'
import { openConnections } from '#oauth/use-connection.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import {
  approve,
  authorizeUrl,
  callMcp,
  callTool,
  connectAssistant,
  oauthErrorOf,
  postForm,
  postJson,
  REDIRECT,
  redeem,
  refresh,
  refusalOf,
  register,
  replyOf,
  requestIn,
  tokensOf,
} from '#test/scenarios/oauth-client.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import { settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

onEachEngine('OAuth', (engine) => {
  const world = opened(() => openTenant(engine))
  const json = async (path: string) =>
    (await (await fetch(`${world.baseUrl}${path}`)).json()) as Record<string, unknown>
  const own = () => ({ origin: world.baseUrl })

  test('a client without a token is led to the metadata, and from there to every endpoint', async () => {
    const response = await callMcp(world, null)
    assert.equal(response.status, 401)
    const challenge = response.headers.get('www-authenticate') ?? ''
    const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
    assert.equal(metadataUrl, `${world.baseUrl}/.well-known/oauth-protected-resource/mcp`)
    assert.match(challenge, /^Bearer .*scope="mail:read mail:draft mail:send mail:organise"/)
    const resource = (await (await fetch(metadataUrl)).json()) as Record<string, unknown>
    assert.equal(resource.resource, `${world.baseUrl}/mcp`)
    assert.deepEqual(resource.authorization_servers, [world.baseUrl])
    const server = await json('/.well-known/oauth-authorization-server')
    assert.equal(server.issuer, world.baseUrl)
    assert.deepEqual(server.code_challenge_methods_supported, ['S256'])
    assert.deepEqual(server.token_endpoint_auth_methods_supported, ['none'])
    assert.equal(server.client_id_metadata_document_supported, true)
    assert.equal(server.authorization_response_iss_parameter_supported, true)
    assert.deepEqual(await json('/.well-known/openid-configuration'), server)
    assert.deepEqual(await json('/.well-known/oauth-protected-resource'), resource)
  })

  test('a request without a token is never taken for a failed sign-in', async () => {
    for (let n = 0; n < 70; n++) assert.equal((await callMcp(world, null)).status, 401)
    const response = await callMcp(world, null)
    assert.match(response.headers.get('www-authenticate') ?? '', /resource_metadata=/)
  })

  test('the metadata name the public URL, whatever Host a request has', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    const response = await fetch(`${world.baseUrl}/.well-known/oauth-authorization-server`, {
      headers,
    })
    assert.ok(!(await response.text()).includes('evil.example'))
  })

  test('an assistant registers itself, a person connects it, and it uses the tools', async () => {
    await world.inbox()
    const clientId = await register(world)
    const approved = await approve(world, clientId)
    const { code = '', state, iss } = replyOf(approved)
    assert.deepEqual([state, iss], ['the state', world.baseUrl])
    const response = await redeem(world, clientId, code, { resource: `${world.baseUrl}/mcp` })
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const tokens = await tokensOf(response)
    assert.match(tokens.access_token, /^mro_[0-9A-Za-z]{40}$/)
    assert.deepEqual([tokens.expires_in, tokens.token_type], [3600, 'Bearer'])
    const listed = await callMcp(world, tokens.access_token)
    assert.equal(listed.status, 200)
    assert.match(await callTool(world, tokens.access_token, 'list_inboxes'), /@/)
    const [connection] = (await world.client.connections.list().page()).data
    assert.equal(connection?.clientName, 'Acme assistant')
    assert.deepEqual([connection?.clientId, connection?.inboxIds], [clientId, null])
    assert.ok(connection?.lastUsedAt !== null)
    const { data } = await world.client.connections.listSteps({ limit: 5 }).page()
    const steps = data.map(({ step, isOk }) => `${step} ${isOk}`)
    assert.deepEqual(steps.slice(0, 4), [
      'call true',
      'token true',
      'authorization true',
      'registration true',
    ])
  })

  test('an access token works at the MCP endpoint only, for an hour', async () => {
    const { tokens, clientId } = await connectAssistant(world)
    for (const path of ['/v1/inboxes', '/v1/me', '/v1/connections', '/v1/events']) {
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      assert.equal((await fetch(`${world.baseUrl}${path}`, { headers })).status, 401, path)
    }
    assert.equal((await callMcp(world, tokens.refresh_token)).status, 401)
    world.clock.advance(HOUR_MS + SECOND_MS)
    const late = await callMcp(world, tokens.access_token)
    assert.equal(late.status, 401)
    assert.match(late.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
    const fresh = await tokensOf(await refresh(world, clientId, tokens.refresh_token))
    assert.equal((await callMcp(world, fresh.access_token)).status, 200)
  })

  test('the database has no token and no code', async () => {
    const { tokens, code } = await connectAssistant(world)
    const { db } = world.app.deps
    const rows = [
      await db.read.selectFrom('connections').selectAll().execute(),
      await db.read.selectFrom('connection_tokens').selectAll().execute(),
      await db.read.selectFrom('connection_steps').selectAll().execute(),
    ]
    const text = JSON.stringify(rows, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    )
    for (const secret of [tokens.access_token, tokens.refresh_token, code]) {
      assert.ok(!text.includes(secret) && !text.includes(secret.slice(4)))
    }
  })

  test('a code works once; the second use ends what the first one gave', async () => {
    const { clientId, code, tokens } = await connectAssistant(world)
    assert.equal(await oauthErrorOf(await redeem(world, clientId, code)), '400 invalid_grant')
    assert.equal((await callMcp(world, tokens.access_token)).status, 401)
    const again = await refresh(world, clientId, tokens.refresh_token)
    assert.equal(await oauthErrorOf(again), '400 invalid_grant')
    const [step] = (await world.client.connections.listSteps({ limit: 2 }).page()).data.slice(1)
    assert.match(step?.detail ?? '', /used a second time/)
  })

  test('a code that is redeemed twice at the same moment gives tokens at most once', async () => {
    const clientId = await register(world)
    const { code = '' } = replyOf(await approve(world, clientId))
    const all = await Promise.all([1, 2, 3, 4].map(() => redeem(world, clientId, code)))
    const good = all.filter(({ status }) => status === 200)
    assert.equal(good.length, 1)
    const { access_token: token } = await tokensOf(good[0] as Response)
    assert.equal((await callMcp(world, token)).status, 401)
  })

  test('a code expires after two minutes', async () => {
    const clientId = await register(world)
    const { code = '' } = replyOf(await approve(world, clientId))
    world.clock.advance(2 * MINUTE_MS)
    assert.equal(await oauthErrorOf(await redeem(world, clientId, code)), '400 invalid_grant')
  })

  test('a code is bound to its client, its redirect_uri and its verifier', async () => {
    const other = await register(world)
    const wrong: Record<string, string>[] = [
      { client_id: other },
      { redirect_uri: `${REDIRECT}/other` },
      { code_verifier: 'another-verifier-with-at-least-43-characters!'.replace('!', '.') },
    ]
    for (const changes of wrong) {
      const clientId = await register(world)
      const { code = '' } = replyOf(await approve(world, clientId))
      const response = await redeem(world, clientId, code, changes)
      assert.equal(await oauthErrorOf(response), '400 invalid_grant', JSON.stringify(changes))
    }
  })

  test('without PKCE, or with the method plain, nobody is asked', async () => {
    const clientId = await register(world)
    for (const changes of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
    ]) {
      const response = await fetch(authorizeUrl(world, clientId, changes), { redirect: 'manual' })
      const { error, iss, state } = await refusalOf(response)
      assert.deepEqual([error, iss, state], ['invalid_request', world.baseUrl, 'the state'])
    }
    const { code = '' } = replyOf(await approve(world, clientId))
    const fields = { grant_type: 'authorization_code', client_id: clientId, code }
    const bare = await postForm(world, '/oauth/token', fields)
    assert.equal(await oauthErrorOf(bare), '400 invalid_request')
  })

  test('a wrong redirect_uri is answered with a page, never by a redirect', async () => {
    const clientId = await register(world)
    for (const redirect_uri of [
      `${REDIRECT}/../evil`,
      `${REDIRECT}?x=1`,
      'https://assistant.example.evil.example/callback',
      'https://assistant.example@evil.example/callback',
      'javascript:alert(1)',
    ]) {
      const response = await fetch(authorizeUrl(world, clientId, { redirect_uri }), {
        redirect: 'manual',
      })
      assert.deepEqual([response.status, response.headers.get('location')], [400, null])
      assert.ok(!(await response.text()).includes('evil'))
    }
    const unknown = await fetch(authorizeUrl(world, 'ocl_unknown'), { redirect: 'manual' })
    assert.equal(unknown.status, 400)
  })

  test('only the port of a loopback address may differ', async () => {
    const redirect_uris = ['http://127.0.0.1:1/callback', 'http://localhost/callback']
    const clientId = await register(world, { redirect_uris })
    const statusOf = async (redirect_uri: string) => {
      const url = authorizeUrl(world, clientId, { redirect_uri })
      const response = await fetch(url, { redirect: 'manual' })
      const page = await response.text()
      if (response.status === 200) assert.match(page, /a program on this computer/)
      return response.status
    }
    assert.equal(await statusOf('http://127.0.0.1:54321/callback'), 200)
    assert.equal(await statusOf('http://localhost:1234/callback'), 200)
    assert.equal(await statusOf('http://127.0.0.1:54321/other'), 400)
    assert.equal(await statusOf('http://127.0.0.1:54321/callback?x=1'), 400)
    assert.equal(await statusOf('http://[::1]:54321/callback'), 400)
    assert.equal(await statusOf('https://127.0.0.1:54321/callback'), 400)
    for (const odd of ['http://127.0.0.1:5/callback\n', 'http:127.0.0.1:5/callback']) {
      assert.equal(await statusOf(odd), 400, JSON.stringify(odd))
    }
    world.clock.advance(MINUTE_MS)
  })

  test('refresh tokens rotate; parallel use is fine for a minute, later use ends the family', async () => {
    const { clientId, tokens } = await connectAssistant(world)
    const [first, second] = await Promise.all([
      refresh(world, clientId, tokens.refresh_token).then(tokensOf),
      refresh(world, clientId, tokens.refresh_token).then(tokensOf),
    ])
    assert.notEqual(first.refresh_token, second.refresh_token)
    world.clock.advance(MINUTE_MS + SECOND_MS)
    const stolen = await refresh(world, clientId, tokens.refresh_token)
    assert.equal(await oauthErrorOf(stolen), '400 invalid_grant')
    for (const { access_token, refresh_token } of [first, second]) {
      assert.equal((await callMcp(world, access_token)).status, 401)
      const after = await refresh(world, clientId, refresh_token)
      assert.equal(await oauthErrorOf(after), '400 invalid_grant')
    }
  })

  test('a refresh may narrow the scopes and never widen them', async () => {
    const scopes = ['mail:read', 'mail:draft']
    const { clientId, tokens } = await connectAssistant(world, { scopes })
    assert.equal(tokens.scope, 'mail:read mail:draft')
    const wider = { scope: 'mail:read mail:send' }
    const refused = await refresh(world, clientId, tokens.refresh_token, wider)
    assert.equal(await oauthErrorOf(refused), '400 invalid_scope')
    const narrow = await tokensOf(
      await refresh(world, clientId, tokens.refresh_token, { scope: 'mail:read' }),
    )
    assert.equal(narrow.scope, 'mail:read')
    const unknown = await refresh(world, clientId, narrow.refresh_token, {
      scope: 'offline_access',
    })
    assert.equal(await oauthErrorOf(unknown), '400 invalid_scope')
    const full = await tokensOf(await refresh(world, clientId, narrow.refresh_token))
    assert.equal(full.scope, 'mail:read mail:draft')
  })

  test('a form of another site, or one without an origin, decides nothing', async () => {
    const clientId = await register(world)
    const opened = await fetch(authorizeUrl(world, clientId))
    const request = await requestIn(opened)
    const fields = { request, api_key: world.key, decision: 'continue' }
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: world.baseUrl, 'sec-fetch-site': 'cross-site' },
      {},
    ]
    for (const headers of foreign) {
      const response = await postForm(world, '/oauth/authorize', fields, headers)
      assert.equal(response.status, 403, JSON.stringify(headers))
    }
    const forged = { ...fields, request: request.replace(/^(.{30})./, (_, start) => `${start}_`) }
    const response = await postForm(world, '/oauth/authorize', forged, own())
    assert.equal(response.status, 410)
    const allowed = { request, decision: 'allow', all: 'yes', scope: 'mail:read', days: '30' }
    const skipped = await postForm(world, '/oauth/authorize', allowed, own())
    assert.equal(skipped.status, 403, 'the page before the sign-in connects nothing')
    for (const page of [opened, skipped]) {
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
      assert.match(policy, /form-action https: 'self'/)
    }
  })

  test('a person who cancels, or signs in wrongly, connects nothing', async () => {
    const clientId = await register(world)
    const open = async () => requestIn(await fetch(authorizeUrl(world, clientId)))
    const denied = { request: await open(), decision: 'deny' }
    const reply = replyOf(await postForm(world, '/oauth/authorize', denied, own()))
    assert.deepEqual([reply.error, reply.iss], ['access_denied', world.baseUrl])
    const approver = await world.client.approvers.create({ name: 'Eve' })
    for (const api_key of ['mr_wrong', '', approver.token, 'a b']) {
      const wrong = { request: await open(), api_key, decision: 'continue' }
      const response = await postForm(world, '/oauth/authorize', wrong, own())
      assert.equal(response.status, 403, api_key)
      assert.ok(!(await response.text()).includes('name="inbox"'))
    }
  })

  test('an inbox and a verb must be chosen, and only inboxes of the account', async () => {
    const stranger = await world.newAccount()
    const foreign = await stranger.client.inboxes.create()
    for (const consent of [
      { inboxes: [] },
      { scopes: [] },
      { inboxes: [foreign.id] },
      { days: '400' },
      { days: '' },
      { days: '-0' },
      { days: '0x1e' },
    ]) {
      const response = await approve(world, await register(world), consent)
      assert.equal(response.status, 422, JSON.stringify(consent))
    }
    world.clock.advance(MINUTE_MS)
  })

  test('only Connect approves: a decision that is absent or odd shows the page again', async () => {
    const { total } = await world.client.connections.list().page()
    for (const decision of ['', 'continue', 'ALLOW', 'bogus']) {
      const response = await approve(world, await register(world), { decision })
      assert.equal(response.status, 422, decision)
      assert.match(await response.text(), /Choose Connect or Cancel/)
    }
    assert.equal((await world.client.connections.list().page()).total, total)
    world.clock.advance(MINUTE_MS)
  })

  test('scopes that were not asked for are not granted', async () => {
    const clientId = await register(world)
    const client = { scope: 'mail:read offline_access' }
    const { code = '' } = replyOf(await approve(world, clientId, { client }))
    const tokens = await tokensOf(await redeem(world, clientId, code))
    assert.equal(tokens.scope, 'mail:read')
    const response = await fetch(authorizeUrl(world, clientId, { scope: 'admin' }), {
      redirect: 'manual',
    })
    assert.equal((await refusalOf(response)).error, 'invalid_scope')
  })

  test('a token is only for this resource', async () => {
    const clientId = await register(world)
    const resource = 'https://other.example/mcp'
    const response = await fetch(authorizeUrl(world, clientId, { resource }), {
      redirect: 'manual',
    })
    assert.equal((await refusalOf(response)).error, 'invalid_target')
    const { code = '' } = replyOf(await approve(world, clientId))
    const redeemed = await redeem(world, clientId, code, { resource })
    assert.equal(await oauthErrorOf(redeemed), '400 invalid_target')
  })

  test('hostile registrations are refused with the error of RFC 7591', async () => {
    for (const redirect_uris of [
      undefined,
      [],
      ['javascript:alert(1)'],
      ['JAVASCRIPT:alert(1)'],
      ['data:text/html,x'],
      ['http://example.com/cb'],
      ['https://user@example.com/cb'],
      ['https://example.com/cb#x'],
      ['https://example.com/\r\nset-cookie: x'],
      ['/relative'],
      [7],
      Array.from({ length: 21 }, (_, index) => `https://example.com/${index}`),
      [`https://example.com/${'x'.repeat(1_000)}`],
      ['https:a.example'],
      ['ms-msdt:/id'],
    ]) {
      const response = await postJson(world, '/oauth/register', { redirect_uris })
      assert.equal(await oauthErrorOf(response), '400 invalid_redirect_uri', String(redirect_uris))
    }
    const client_name = `<script>alert(1)</script>\u202egnp.exe${'x'.repeat(500)}`
    const clientId = await register(world, { client_name, redirect_uris: [REDIRECT] })
    const page = await (await fetch(authorizeUrl(world, clientId))).text()
    assert.ok(!page.includes('<script') && !page.includes('\u202e') && page.includes('&lt;script'))
    assert.ok(!page.includes('x'.repeat(100)))
    for (const scheme of ['cursor://anysphere/callback', 'com.example.app:/callback']) {
      await register(world, { redirect_uris: [scheme] })
    }
  })

  test('a registered client that nobody connects is removed after a day', async () => {
    const unused = await register(world)
    const { clientId } = await connectAssistant(world, { days: '0' })
    world.clock.advance(DAY_MS + HOUR_MS)
    const gone = await redeem(world, unused, 'mrc_x')
    assert.equal(await oauthErrorOf(gone), '401 invalid_client')
    assert.equal(await oauthErrorOf(await redeem(world, clientId, 'mrc_x')), '400 invalid_grant')
  })

  test('a revoked connection or key ends at once, and only its own account can revoke it', async () => {
    const { tokens } = await connectAssistant(world)
    const [{ id } = { id: '' }] = (await world.client.connections.list().page()).data
    const stranger = await world.newAccount()
    assert.equal(await refusal(stranger.client.connections.delete(id)), '404 not_found')
    assert.equal((await stranger.client.connections.list().page()).total, 0)
    await world.client.connections.delete(id)
    assert.equal((await callMcp(world, tokens.access_token)).status, 401)

    const key = await world.client.apiKeys.create()
    const other = await connectAssistant(world, { key: key.token })
    assert.equal((await callMcp(world, other.tokens.access_token)).status, 200)
    await world.client.apiKeys.delete(key.id)
    assert.equal((await callMcp(world, other.tokens.access_token)).status, 401)
    const late = await refresh(world, other.clientId, other.tokens.refresh_token)
    assert.equal(await oauthErrorOf(late), '400 invalid_grant')
    const left = (await world.client.connections.list().page()).data
    assert.ok(left.every(({ keyId }) => keyId !== key.id))
  })

  test('a wait that is running reads nothing after its connection was revoked', async () => {
    const inbox = await world.inbox()
    const { tokens, clientId } = await connectAssistant(world)
    const given = { inbox: inbox.id, timeout_seconds: 20 }
    const waiting = callTool(world, tokens.access_token, 'wait_for_mail', given)
    await sleep(700)
    const { data } = await world.client.connections.list().page()
    const own = data.find((one) => one.clientId === clientId)
    await world.client.connections.delete(own?.id ?? '')
    await deliver(world, inbox, plainMail({ subject: 'after the end' }))
    const answer = await waiting
    assert.ok(!answer.includes('after the end'), answer)
    assert.match(answer, /revoked/)
  })

  test('U+0000 in a parameter is a bad request', async () => {
    for (const query of ['client_id=%00', 'client_id=a&state=%00']) {
      const response = await fetch(`${world.baseUrl}/oauth/authorize?${query}`)
      assert.equal(response.status, 400, query)
    }
    const body = 'grant_type=refresh_token&client_id=%00&token=a&refresh_token=a&inbox=%00'
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...own() }
    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/authorize']) {
      const response = await fetch(`${world.baseUrl}${path}`, { method: 'POST', headers, body })
      assert.equal(response.status, 400, path)
    }
  })

  test('a client revokes its own tokens only', async () => {
    const { clientId, tokens } = await connectAssistant(world)
    const revoke = (client_id: string) =>
      postForm(world, '/oauth/revoke', { token: tokens.refresh_token, client_id })
    assert.equal((await revoke(await register(world))).status, 200)
    assert.equal((await callMcp(world, tokens.access_token)).status, 200)
    assert.equal((await revoke(clientId)).status, 200)
    assert.equal((await callMcp(world, tokens.access_token)).status, 401)
  })

  test('a connection ends after the days that a person chose', async () => {
    const { clientId, tokens } = await connectAssistant(world, { days: '30' })
    world.clock.advance(29 * DAY_MS)
    const later = await tokensOf(await refresh(world, clientId, tokens.refresh_token))
    world.clock.advance(DAY_MS)
    const ended = await refresh(world, clientId, later.refresh_token)
    assert.equal(await oauthErrorOf(ended), '400 invalid_grant')
  })

  test('tools outside the grant are not listed, and a call says which scopes it needs', async () => {
    const inbox = await world.inbox()
    const { tokens } = await connectAssistant(world, { scopes: ['mail:read', 'mail:draft'] })
    const listed = await (await callMcp(world, tokens.access_token)).text()
    assert.match(listed, /"save_draft"/)
    assert.doesNotMatch(listed, /"send_mail"|"delete_thread"/)
    const params = { name: 'send_mail', arguments: { to: 'ann@friend.example', text: 'x' } }
    const response = await callMcp(world, tokens.access_token, { method: 'tools/call', params })
    assert.equal(response.status, 403)
    assert.equal(
      response.headers.get('www-authenticate'),
      `Bearer error="insufficient_scope", resource_metadata="${world.baseUrl}/.well-known/oauth-protected-resource/mcp", scope="mail:read mail:draft mail:send"`,
    )
    const sent = await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()
    assert.equal(sent.total, 0)
  })

  test('a connection reaches its inboxes only', async () => {
    const mine = await world.inbox()
    const other = await world.inbox()
    await world.send({ to: other.address, raw: 'Subject: secret\r\n\r\nthe secret text\r\n' })
    await world.send({ to: mine.address, raw: 'Subject: open\r\n\r\nthe open text\r\n' })
    const [thread] = (await world.client.threads.list(other.id).page()).data
    const [own] = (await world.client.threads.list(mine.id).page()).data
    const { tokens } = await connectAssistant(world, { inboxes: [mine.id] })
    const call = (name: string, given: object = {}) =>
      callTool(world, tokens.access_token, name, given)
    assert.match(await call('read_thread', { thread_id: own?.id }), /the open text/)
    assert.doesNotMatch(await call('read_thread', { thread_id: thread?.id }), /secret text/)
    assert.doesNotMatch(await call('list_inboxes'), new RegExp(other.address))
    assert.doesNotMatch(await call('search_mail', { query: 'secret' }), /secret text/)
    assert.doesNotMatch(await call('create_inbox', {}), /@.*created/i)
  })

  test('a connection to some inboxes uses the sandbox and uploads for these inboxes', async () => {
    const mine = await world.inbox()
    const other = await world.inbox()
    for (const { id, address } of [mine, other]) {
      const mail = { to: 'ann@friend.example', subject: 'Captured', body: `from ${address}` }
      await settled(world, await world.client.inboxes.send(id, mail))
    }
    const scopes = ['mail:read', 'mail:send', 'mail:organise']
    const { tokens } = await connectAssistant(world, { inboxes: [mine.id], scopes })
    const call = (name: string, given: object = {}) =>
      callTool(world, tokens.access_token, name, given)
    const captured = await call('get_sandbox_mail')
    assert.match(captured, new RegExp(`from ${mine.address}`))
    assert.doesNotMatch(captured, new RegExp(other.address))
    const inbound = { from: 'ann@friend.example', subject: 'Hi', text: 'Hi' }
    assert.match(await call('simulate_inbound', { ...inbound, inbox: mine.address }), /arrived at/)
    const refused = await call('simulate_inbound', { ...inbound, inbox: other.address })
    assert.doesNotMatch(refused, /arrived at/)
    assert.match(await call('upload_link', { filename: 'a.txt' }), /curl/)
    const listed = await (await callMcp(world, tokens.access_token)).text()
    assert.match(listed, /"upload_link"/)
  })

  test('the API refuses objects of other inboxes, whatever a tool asks for', async () => {
    const mine = await world.inbox()
    const other = await world.inbox()
    for (const { address } of [mine, other]) {
      await world.send({ to: address, raw: 'Subject: x\r\n\r\nx\r\n' })
    }
    const idsIn = async ({ id }: { id: string }) => {
      const [message] = (await world.client.messages.list(id).page()).data
      const draft = await world.client.drafts.create(id, { subject: 'x' })
      return {
        inbox: id,
        thread: message?.threadId ?? '',
        message: message?.id ?? '',
        draft: draft.id,
      }
    }
    const [own, foreign] = [await idsIn(mine), await idsIn(other)]
    const { tokens } = await connectAssistant(world, { inboxes: [mine.id] })
    const connections = openConnections({ ...world.app.deps, recordStep: async () => {} })
    const from = { clientAddress: '127.0.0.1', userAgent: 'test' }
    const grant = await connections.authenticate(tokens.access_token, from)
    const asked = { path: {}, query: {}, body: undefined }
    const outcome = (id: OperationId, named: object) =>
      grant?.requireReach(id, { ...asked, ...named }).then(
        () => 'reached',
        ({ code }) => code,
      )
    const kinds = [
      ['inbox', 'inboxes.get', 'inboxes.send', 'messages.list', 'drafts.create'],
      ['thread', 'threads.get', 'threads.update', 'threads.claim', 'threads.view'],
      ['message', 'messages.get', 'messages.forward', 'messages.view', 'messages.raw'],
      ['draft', 'drafts.get', 'drafts.send', 'drafts.delete', 'drafts.update'],
    ] as const
    for (const [kind, ...ids] of kinds) {
      for (const id of ids) {
        assert.equal(await outcome(id, { path: { id: own[kind] } }), 'reached', id)
        assert.equal(await outcome(id, { path: { id: foreign[kind] } }), 'not_found', id)
      }
    }
    const file = { messageId: foreign.message, filename: 'a.txt' }
    assert.equal(await outcome('attachments.get', { path: file }), 'not_found')
    const path = { id: mine.id }
    const bodies = [{ attachments: [file] }, { attachments: [{ source: file }] }]
    for (const body of [...bodies, { threadId: foreign.thread }]) {
      assert.equal(await outcome('inboxes.send', { path, body }), 'not_found')
    }
    assert.equal(await outcome('messages.search', { query: { q: 'x' } }), 'not_found')
    const query = { q: 'x', inboxId: other.id }
    assert.equal(await outcome('messages.search', { query }), 'not_found')
    assert.equal(
      await outcome('messages.search', { query: { q: 'x', inboxId: mine.id } }),
      'reached',
    )
    for (const id of ['policy.replace', 'apiKeys.create', 'inboxes.delete'] as const) {
      assert.throws(() => grant?.requireScope(id), /was not granted/)
    }
  })

  test('a client that a person created is for the account alone', async () => {
    const made = await world.client.connections.createClient({
      name: 'Own assistant',
      redirectUris: [REDIRECT],
    })
    assert.equal(replyOf(await approve(world, made.id)).error, undefined)
    const stranger = await world.newAccount()
    const opened = await fetch(authorizeUrl(world, made.id))
    const wrong = {
      request: await requestIn(opened),
      api_key: stranger.key,
      decision: 'continue',
    }
    const response = await postForm(world, '/oauth/authorize', wrong, own())
    assert.equal(response.status, 403)
    assert.match(await response.text(), /belongs to another account/)
    await world.client.connections.deleteClient(made.id)
    assert.equal((await world.client.connections.listClients().page()).total, 0)
    const bad = { name: 'x', redirectUris: ['javascript:alert(1)'] }
    assert.equal(await refusal(world.client.connections.createClient(bad)), '400 bad_request')
  })
})
