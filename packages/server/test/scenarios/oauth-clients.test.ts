import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { connectionScopes } from '@mailroom/contract/vocabulary.ts'
import { type FindClient, openClients } from '#oauth/clients.ts'
import { isRegistered, OauthError, redirectUriFault } from '#oauth/model.ts'
import { isPermitted } from '#oauth/permitted-operations.ts'
import { purgeConnections } from '#oauth/store/connections.ts'
import { findClient } from '#oauth/store/oauth-clients.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { openHttpGetter } from '#platform/egress/http-get.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { openPolicyHost } from '#test/net/policy-host.ts'
import { openDns } from '#test/peers/dns.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  approve,
  authorizeUrl,
  callMcp,
  connectAssistant,
  oauthErrorOf,
  postForm,
  postJson,
  REDIRECT,
  redeem,
  refresh,
  register,
  replyOf,
  requestIn,
  tokensOf,
} from '#test/scenarios/oauth-client.ts'
import { until } from '#test/scenarios/outcomes.ts'
import {
  onBothEngines,
  onEachEngine,
  opened,
  openSecond,
  openWorld,
  testClock,
} from '#test/world.ts'

const HOST = 'assistant.localhost'

suite('metadata documents of clients', () => {
  /** An https host, and a service that looks for documents there. */
  async function openHost(t: TestContext, { allowPrivate = true } = {}) {
    const host = await openPolicyHost(t, HOST)
    const dns = await openDns({ [HOST]: { A: ['127.0.0.1'] } })
    const resolver = openResolver({ servers: [dns.server] })
    const documents = openHttpGetter({
      resolver,
      allowPrivate,
      ca: host.ca,
      headers: {},
      bytesMax: 5 * 1024,
      redirectsMax: 0,
      totalMs: 5_000,
    })
    t.after(async () => {
      await documents.close()
      resolver.close()
      await dns.close()
    })
    const clock = testClock()
    // No client is stored.
    const db = { read: null, reading: null } as never
    const find = openClients({ db, clock, documents })
    const url = `https://${HOST}:${host.port}/client.json`
    const answer = (fields: object, headers: Record<string, string> = {}) => {
      const body = JSON.stringify({ client_id: url, redirect_uris: [REDIRECT], ...fields })
      host.answer = (response) => response.writeHead(200, headers).end(body)
    }
    return { host, find, url, answer, clock }
  }

  const failure = async (find: FindClient, url: string): Promise<string> => {
    const error = await find(url).then(
      () => null,
      (thrown) => thrown,
    )
    assert.ok(error instanceof OauthError && error.code === 'invalid_client', String(error))
    return error.message
  }

  test('are fetched, and cached for as long as their Cache-Control says', async (t) => {
    const { host, find, url, answer, clock } = await openHost(t)
    answer({ client_name: 'Acme' }, { 'cache-control': 'public, max-age=600' })
    assert.deepEqual(await find(url), {
      id: url,
      name: 'Acme',
      redirectUris: [REDIRECT],
      accountId: null,
    })
    await find(url)
    assert.equal(host.requests.length, 1)
    clock.advance(10 * MINUTE_MS)
    answer({}, { 'cache-control': 'no-store' })
    assert.equal((await find(url)).name, HOST)
    await find(url)
    assert.equal(host.requests.length, 3)
  })

  test('that redirect are refused, and the target gets no request', async (t) => {
    const { host, find, url } = await openHost(t)
    const inner = await openPolicyHost(t, HOST)
    for (const location of [`https://127.0.0.1:${inner.port}/`, 'http://169.254.169.254/', '/x']) {
      host.answer = (response) => response.writeHead(302, { location }).end()
      assert.match(await failure(find, url), /redirects/)
    }
    assert.deepEqual([inner.requests.length, host.requests.length], [0, 3])
  })

  test('at a private address get no request', async (t) => {
    const { host, find } = await openHost(t, { allowPrivate: false })
    for (const name of [HOST, '127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254']) {
      assert.match(await failure(find, `https://${name}/client.json`), /does not connect to/)
    }
    assert.equal(host.requests.length, 0)
  })

  test('with another client_id, a secret, a hostile redirect URI or more than 5 KB are refused', async (t) => {
    const { host, find, url, answer } = await openHost(t)
    const wrong: [object, RegExp][] = [
      [{ client_id: `${url}x` }, /another client_id/],
      [{ token_endpoint_auth_method: 'client_secret_basic' }, /other than none/],
      [{ redirect_uris: ['javascript:alert(1)'] }, /number 1 must have the scheme https/],
      [{ redirect_uris: [] }, /at least one/],
      [{ padding: 'x'.repeat(5 * 1024) }, /larger than 5 KB/],
    ]
    for (const [fields, expected] of wrong) {
      answer(fields)
      assert.match(await failure(find, url), expected)
    }
    host.answer = (response) => response.writeHead(200).end('[')
    assert.match(await failure(find, url), /not valid JSON/)
    host.answer = (response) => response.writeHead(404).end()
    assert.match(await failure(find, url), /status 200/)
  })
})

test('redirect URIs are https, loopback or the scheme of one program, in canonical form', () => {
  const good =
    'https://a.example/cb https://a.example http://[::1]:7/cb http://localhost vscode://x.y/cb cursor://x/cb com.a:/cb com.example.app:/cb'
  for (const uri of good.split(' ')) assert.equal(redirectUriFault(uri), null, uri)
  const schemes =
    'javascript:1 data:,x ms-msdt:/id search-ms:x shell:startup feed:javascript:alert(1) mhtml:http://x res://x smb://x ldap://x ms-word:ofe livescript:x x-apple.systempreferences:x com..x:/ unknown://x'
  const others =
    'http://a.example/ http://127.0.0.1.a.example/ a https:a.example https:/a.example/x https://@a.example/ https://A.example/ https://a.example:443/ https://a.example/x/../y'
  for (const uri of [...schemes.split(' '), ...others.split(' '), '']) {
    assert.notEqual(redirectUriFault(uri), null, uri)
  }
})

test('a redirect URI matches as text, but for the port of a loopback host', () => {
  const registered = ['http://127.0.0.1:1234/a', 'http://[::1]/a', 'https://a.example/a']
  const matches = (uri: string) => redirectUriFault(uri) === null && isRegistered(uri, registered)
  for (const uri of ['http://127.0.0.1/a', 'http://127.0.0.1:9/a', 'http://[::1]:9/a']) {
    assert.ok(matches(uri), uri)
  }
  const hosts =
    'http://x@127.0.0.1:9/a http://@127.0.0.1:5/a http://localhost:9/a http://LOCALHOST:5/a http://2130706433:5/a http://127.1:5/a http://127.0.0.1:5:6/a http://127.0.0.1:00005/a http://127.0.0.1:99999/a http://127.0.0.1:/a https://a.example:8443/a https://127.0.0.1:5/a'
  const forms =
    'http:127.0.0.1:5/a http:/127.0.0.1:5/a http:\\\\127.0.0.1:5/a http://127.0.0.1:5/a# http://127.0.0.1:5/a? http://127.0.0.1:5/x/../a HTTP://127.0.0.1:5/a'
  const controls = ['\0', '\n', '\r\n', '\t', ' '].flatMap((control) => [
    `${control}http://127.0.0.1:5/a`,
    `http://127.0.0.1:5/a${control}`,
    `http://127.0.0.1:5${control}/a`,
  ])
  for (const uri of [...hosts.split(' '), ...forms.split(' '), ...controls]) {
    assert.ok(!matches(uri), JSON.stringify(uri))
  }
})

test('no scope permits approvals, policy, keys, domains, webhooks or connections', () => {
  const closed =
    /^(?:Approvers|Policy|API keys|Domains|Webhooks|Connections|Account|Console|Pods|Senders|Suppressions|Exports and imports|Administration)$/
  for (const id of operationIds) {
    const { tag, auth } = operationOf(id)
    const isDecision = tag === 'Reviews' && id !== 'reviews.list'
    const isOther = auth === 'none' || auth === 'approver' || auth === 'operator'
    if (closed.test(tag) || isDecision || isOther) {
      assert.ok(!isPermitted(id, connectionScopes), id)
    }
  }
})

onEachEngine('clients of OAuth', (engine) => {
  const world = opened(() => openWorld(engine))

  test('a flood of registrations is limited for each address, with the time to wait', async () => {
    const body = { redirect_uris: [REDIRECT] }
    const all = await Promise.all(
      Array.from({ length: 60 }, () => postJson(world, '/oauth/register', body)),
    )
    const refused = all.filter(({ status }) => status === 429)
    assert.ok(refused.length >= 29, String(refused.length))
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
    assert.equal(await oauthErrorOf(refused[0] as Response), '429 temporarily_unavailable')
    world.clock.advance(MINUTE_MS)
  })

  test('a registration above the limit of unused clients takes the place of the oldest', async () => {
    const nowMs = world.clock.now()
    const rows = Array.from(
      { length: 10_000 },
      (_, index) => `('ocl_flood${index}', 'x', '[]', ${nowMs}, ${nowMs + HOUR_MS + index})`,
    )
    const columns = 'id, name, redirect_uris, created_at, expires_at'
    await runSql(world, `insert into oauth_clients (${columns}) values ${rows.join(', ')}`)
    const clientId = await register(world)
    const isKept = async (index: number) => {
      const id = `ocl_flood${index}`
      return (await findClient(world.app.deps.db, { id, nowMs })) !== null
    }
    assert.deepEqual(await Promise.all([0, 1].map(isKept)), [false, true])
    assert.equal(replyOf(await approve(world, clientId)).error, undefined)
  })

  test('what has expired is removed', async () => {
    const { db } = world.app.deps
    const count = async () => {
      const tables = [
        'connections',
        'connection_tokens',
        'oauth_clients',
        'connection_steps',
      ] as const
      const rows = await Promise.all(
        tables.map((table) => db.read.selectFrom(table).selectAll().execute()),
      )
      return rows.map(({ length }) => length)
    }
    await connectAssistant(world, { days: '30' })
    replyOf(await approve(world, await register(world)))
    world.clock.advance(40 * DAY_MS)
    for (const after of [0, DAY_MS + HOUR_MS]) {
      world.clock.advance(after)
      while (!(await db.write(purgeConnections, { nowMs: world.clock.now() })));
    }
    // The service purges too when its clock advances, and may not have committed yet.
    await until(async () => (await count()).every((rows) => rows === 0))
  })
})

test('without https there is no OAuth', async (t) => {
  const env = { MAILROOM_PUBLIC_URL: 'http://mail.example.com' }
  const world = await openWorld('sqlite', { env })
  t.after(() => world.close())
  for (const path of ['/.well-known/oauth-protected-resource/mcp', '/oauth/authorize']) {
    assert.equal((await fetch(`${world.baseUrl}${path}`)).status, 404, path)
  }
  assert.equal((await postForm(world, '/oauth/token', {})).status, 404)
  assert.equal((await callMcp(world, null)).headers.get('www-authenticate'), 'Bearer')
})

onBothEngines('OAuth over processes', (engine) => {
  // SQLite has one process.
  if (engine === 'sqlite') return
  const world = opened(() => openWorld(engine))

  test('any process takes each step of a sign-in', async () => {
    await using second = await openSecond(world)
    const other = { baseUrl: second.http?.address ?? '', key: world.key }
    const clientId = await register(world)
    const resource = { resource: undefined }
    const opened = await fetch(authorizeUrl(other, clientId, resource))
    const own = { origin: world.baseUrl }
    const fields = { request: await requestIn(opened), api_key: world.key, decision: 'continue' }
    const page = await postForm(world, '/oauth/authorize', fields, own)
    const form = { request: await requestIn(page), decision: 'allow', all: 'yes', days: '0' }
    const allowed = { ...form, scope: 'mail:read' }
    const reply = await postForm(other, '/oauth/authorize', allowed, { origin: other.baseUrl })
    const { code = '' } = replyOf(reply)
    const both = await Promise.all([redeem(world, clientId, code), redeem(other, clientId, code)])
    assert.equal(both.filter(({ status }) => status === 200).length, 1)

    const connected = await connectAssistant(world)
    const token = connected.tokens.refresh_token
    const fresh = await Promise.all([
      refresh(world, connected.clientId, token).then(tokensOf),
      refresh(other, connected.clientId, token).then(tokensOf),
    ])
    for (const { access_token } of fresh) {
      assert.equal((await callMcp(other, access_token)).status, 200)
    }
    const [connection] = (await world.client.connections.list().page()).data
    await world.client.connections.delete(connection?.id ?? '')
    assert.equal((await callMcp(other, fresh[0].access_token)).status, 401)
  })
})
