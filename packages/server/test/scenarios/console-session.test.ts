import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openApp } from '#app/app.ts'
import { silentLog } from '#platform/log.ts'
import { purgeExpired } from '#removal/removal.ts'
import { openSocket } from '#test/http/socket-client.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, postSession, type SignedIn, signIn } from '#test/scenarios/console-world.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, onEachEngine, opened, openSecond, openWorld, testKey } from '#test/world.ts'

onEachEngine('a session of the console', (engine) => {
  const world = opened(() => openWorld(engine))
  let signedIn: SignedIn
  before(async () => {
    signedIn = await signIn(world)
  })

  test('is a cookie that scripts cannot read, and holds nothing of the key', () => {
    const { setCookie, cookie } = signedIn
    const [, ...attributes] = setCookie.split('; ')
    assert.deepEqual(attributes, ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    const value = cookie.slice(cookie.indexOf('=') + 1)
    const content = Buffer.from(value, 'base64url').toString('latin1')
    const { key } = signedIn.session
    assert.ok(key !== null)
    for (const part of [world.key, key.tokenPrefix, key.id]) {
      assert.ok(!value.includes(part) && !content.includes(part), part)
    }
    assert.ok(!JSON.stringify(signedIn.session).includes(world.key))
  })

  test('names the key that signed in, and does so again on request', async () => {
    const { account, key, isSandbox, version, expiresAt } = signedIn.session
    assert.equal(account.plan, 'launch')
    assert.ok(key !== null)
    assert.equal(key.tokenPrefix, world.key.slice(0, 7))
    assert.equal(key.last4, world.key.slice(-4))
    assert.equal(isSandbox, true)
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert.ok(Date.parse(expiresAt) > world.clock.now() + 11.9 * 3_600_000)
    const again = await browse(world, signedIn, '/auth/session')
    assert.equal(again.headers.get('cache-control'), 'no-store')
    assert.deepEqual(await again.json(), signedIn.session)
  })

  test('reads and writes as the key does', async () => {
    const body = JSON.stringify({ name: 'a pod' })
    const made = await browse(world, signedIn, '/v1/pods', { method: 'POST', body })
    assert.equal(made.status, 201)
    const { id } = (await made.json()) as { id: string }
    assert.equal((await browse(world, signedIn, `/v1/pods/${id}`)).status, 200)
    const gone = await browse(world, signedIn, `/v1/pods/${id}`, { method: 'DELETE' })
    assert.equal(gone.status, 204)
  })

  test('changes nothing without its own CSRF token', async () => {
    const other = await signIn(world)
    const wrong = ['', 'x', `${signedIn.session.csrfToken}x`, other.session.csrfToken, 'é']
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const path = method === 'POST' ? '/v1/pods' : '/v1/pods/none'
      const body = method === 'DELETE' ? {} : { body: '{}' }
      for (const token of wrong) {
        const headers = { 'x-csrf-token': encodeURI(token) }
        const answer = browse(world, signedIn, path, { method, ...body, headers })
        assert.equal(await outcomeOf(answer), '403 invalid_csrf_token', `${method} ${token}`)
      }
    }
    const { cookie } = signedIn
    const bare = fetch(`${world.baseUrl}/v1/pods`, { method: 'POST', headers: { cookie } })
    assert.equal(await outcomeOf(bare), '403 invalid_csrf_token')
    const leave = fetch(`${world.baseUrl}/auth/session`, { method: 'DELETE', headers: { cookie } })
    assert.equal(await outcomeOf(leave), '403 invalid_csrf_token')
  })

  test('is refused to pages of other origins, reading or writing', async () => {
    const { port } = new URL(world.baseUrl)
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${Number(port) + 1}` },
      { origin: `http://127.0.0.1.evil.example:${port}` },
      { origin: `ftp://127.0.0.1:${port}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      const told = JSON.stringify(headers)
      const read = browse(world, signedIn, '/v1/pods', { headers })
      assert.equal(await outcomeOf(read), '403 forbidden_origin', told)
      const write = browse(world, signedIn, '/v1/pods', { method: 'POST', body: '{}', headers })
      assert.equal(await outcomeOf(write), '403 forbidden_origin', told)
      const enter = postSession(world, { apiKey: world.key }, headers)
      assert.equal(await outcomeOf(enter), '403 forbidden_origin', told)
    }
  })

  test('is accepted at the public name and at the requested host', async () => {
    for (const origin of [world.baseUrl, world.app.deps.publicUrl()]) {
      assert.equal((await browse(world, signedIn, '/v1/pods', { headers: { origin } })).status, 200)
    }
  })

  test('yields to a key in the Authorization header, good or bad', async () => {
    const other = await world.newAccount()
    const headers = { authorization: `Bearer ${other.key}`, origin: 'https://evil.example' }
    const answer = await browse(world, signedIn, '/v1/account', { headers })
    assert.equal(((await answer.json()) as { id: string }).id, other.id)
    const wrong = { authorization: 'Bearer mr_wrong' }
    const refused = browse(world, signedIn, '/v1/pods', { headers: wrong })
    assert.equal(await outcomeOf(refused), '401 unauthorized')
  })

  test('that was altered anywhere is invalid, and so are two sessions', async () => {
    const { cookie } = signedIn
    const value = cookie.split('=')[1] ?? ''
    const flip = (at: number) =>
      value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1)
    const other = (await signIn(world)).cookie
    const changed = [
      `mailroom_session=${flip(0)}`,
      `mailroom_session=${flip(Math.floor(value.length / 2))}`,
      `mailroom_session=${flip(value.length - 2)}`,
      `mailroom_session=${value.slice(0, -4)}`,
      'mailroom_session=x',
      `mailroom_session=${'A'.repeat(5_000)}`,
      `Mailroom_Session=${value}`,
      `${cookie}; ${other}`,
    ]
    for (const one of changed) {
      const answer = fetch(`${world.baseUrl}/v1/pods`, { headers: { cookie: one } })
      assert.equal(await outcomeOf(answer), '401 unauthorized', one.slice(0, 60))
    }
    const beside = `a=b; ${cookie}; c=d`
    const kept = await fetch(`${world.baseUrl}/v1/pods`, { headers: { cookie: beside } })
    assert.equal(kept.status, 200)
  })

  test('gives no access to the operator’s routes', async () => {
    const answer = browse(world, signedIn, '/admin/accounts')
    assert.equal(await outcomeOf(answer), '401 unauthorized')
  })

  test('ends at once with its key, and the cookie is cleared', async () => {
    const key = await world.client.apiKeys.create({ name: 'to be revoked' })
    const guest = await signIn(world, key.token)
    await world.client.apiKeys.delete(key.id)
    assert.equal(await outcomeOf(browse(world, guest, '/v1/pods')), '401 unauthorized')
    const answer = await browse(world, guest, '/auth/session')
    assert.match(answer.headers.get('set-cookie') ?? '', /^mailroom_session=; .*Max-Age=0/)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(await outcomeOf(answer), '401 unauthorized')
    assert.equal(await outcomeOf(postSession(world, { apiKey: key.token })), '401 unauthorized')
  })

  test('ends in the browser on signing out', async () => {
    const guest = await signIn(world)
    const answer = await browse(world, guest, '/auth/session', { method: 'DELETE' })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.match(
      answer.headers.get('set-cookie') ?? '',
      /^mailroom_session=; .*Max-Age=0; HttpOnly/,
    )
  })

  test('ends after twelve hours', async () => {
    const guest = await signIn(world)
    world.clock.advance(12 * 3_600_000 - 60_000)
    assert.equal((await browse(world, guest, '/v1/pods')).status, 200)
    world.clock.advance(61_000)
    assert.equal(await outcomeOf(browse(world, guest, '/v1/pods')), '401 unauthorized')
    signedIn = await signIn(world)
  })

  test('requires a key', async () => {
    for (const body of [{}, { apiKey: '' }, { apiKey: 5 }, { apiKey: 'x', more: 1 }]) {
      assert.equal(await outcomeOf(postSession(world, body)), '400 bad_request')
    }
    assert.equal(await outcomeOf(postSession(world, { apiKey: 'mr_no' })), '401 unauthorized')
    const nobody = await fetch(`${world.baseUrl}/auth/session`)
    assert.equal(await outcomeOf(nobody), '401 unauthorized')
    const bearer = await world.fetch('/auth/session')
    assert.equal(await outcomeOf(bearer), '401 unauthorized')
  })

  test('opens a WebSocket for its own pages only, which closes with it', async () => {
    const { cookie } = signedIn
    const open = (headers: Record<string, string>) =>
      openSocket(world.baseUrl, { headers: { cookie, ...headers } })
    const client = await open({ origin: world.baseUrl })
    assert.equal((await client.ask({ type: 'subscribe' })).type, 'subscribed')
    for (const origin of ['', 'https://evil.example', 'null']) {
      const headers: Record<string, string> = origin === '' ? {} : { origin }
      await assert.rejects(open(headers), { status: 403 })
    }
    await world.app.checkKeys()
    world.clock.advance(12 * 3_600_000)
    await world.app.checkKeys()
    assert.equal((await client.closed).code, 4001)
    signedIn = await signIn(world)
  })

  test('is valid in every process with the same secret, even after a restart', async (t) => {
    // SQLite has only one process.
    if (engine === 'sqlite') await world.app.close(1_000)
    const seams = { log: silentLog, clock: world.clock, makeKey: testKey }
    const dataDir = engine === 'sqlite' ? world.dataDir : `${world.dataDir}/second`
    const second = await openApp({ ...world.settings, dataDir }, seams)
    t.after(() => second.close(1_000))
    const { cookie } = signedIn
    const answer = await fetch(`${second.http?.address}/v1/pods`, { headers: { cookie } })
    assert.equal(answer.status, 200, await answer.text())
  })
})

onAnyEngine('a session over https', (engine) => {
  test('has a secure cookie, and the public name is its origin', async () => {
    await using world = await openWorld(engine, {
      env: { MAILROOM_PUBLIC_URL: 'https://mail.example.com' },
    })
    const signedIn = await signIn(world)
    assert.match(signedIn.setCookie, /; Secure$/)
    const headers = { origin: 'https://mail.example.com' }
    assert.equal((await browse(world, signedIn, '/v1/pods', { headers })).status, 200)
    const { session } = signedIn
    assert.equal(session.isSandbox, true)
  })
})

onAnyEngine('signing in', (engine) => {
  test('is limited like all failed authentications, and signing out is no failure', async () => {
    const env = { MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '5' }
    await using world = await openWorld(engine, { env })
    const key = await world.client.apiKeys.create()
    const guest = await signIn(world, key.token)
    await world.client.apiKeys.delete(key.id)
    for (let time = 0; time < 10; time += 1) {
      assert.equal(await outcomeOf(browse(world, guest, '/v1/pods')), '401 unauthorized')
      assert.equal(await outcomeOf(fetch(`${world.baseUrl}/auth/session`)), '401 unauthorized')
    }
    for (let time = 0; time < 5; time += 1) {
      assert.equal(await outcomeOf(postSession(world, { apiKey: 'no' })), '401 unauthorized')
    }
    const late = await postSession(world, { apiKey: 'no' })
    assert.ok(Number(late.headers.get('retry-after')) > 0)
    assert.equal(await outcomeOf(late), '429 rate_limit_exceeded')
    // A good key works, however many others failed from this address.
    assert.equal((await postSession(world, { apiKey: world.key })).status, 201)
  })
})

onEachEngine('a session that was signed out', (engine) => {
  const world = opened(() => openWorld(engine))

  async function signOut(guest: SignedIn): Promise<void> {
    const answer = await browse(world, guest, '/auth/session', { method: 'DELETE' })
    assert.equal(answer.status, 204)
  }

  test('is invalid even for a copy of its cookie, and other sessions continue', async () => {
    const guest = await signIn(world)
    const other = await signIn(world)
    await signOut(guest)
    assert.equal(await outcomeOf(browse(world, guest, '/v1/pods')), '401 unauthorized')
    const again = browse(world, guest, '/auth/session', { method: 'DELETE' })
    assert.equal(await outcomeOf(again), '401 unauthorized')
    const socket = await openSocket(world.baseUrl, {
      headers: { cookie: guest.cookie, origin: world.baseUrl },
    })
    assert.equal((await socket.closed).code, 4001)
    assert.equal((await browse(world, other, '/v1/pods')).status, 200)
  })

  test('closes its open WebSocket, and no other', async () => {
    const open = ({ cookie }: SignedIn) =>
      openSocket(world.baseUrl, { headers: { cookie, origin: world.baseUrl } })
    const [guest, other] = [await signIn(world), await signIn(world)]
    const [going, staying] = [await open(guest), await open(other)]
    assert.equal((await going.ask({ type: 'subscribe' })).type, 'subscribed')
    await signOut(guest)
    assert.equal((await going.closed).code, 4001)
    assert.equal((await staying.ask({ type: 'ping' })).type, 'pong')
    staying.socket.close()
  })

  // SQLite has only one process.
  if (engine === 'postgres') {
    test('is invalid in every process, and its connections close', async () => {
      await using second = await openSecond(world)
      const baseUrl = second.http?.address ?? ''
      const guest = await signIn(world)
      const { cookie } = guest
      const socket = await openSocket(baseUrl, { headers: { cookie, origin: baseUrl } })
      assert.equal((await socket.ask({ type: 'subscribe' })).type, 'subscribed')
      await signOut(guest)
      const answer = fetch(`${baseUrl}/v1/pods`, { headers: { cookie } })
      assert.equal(await outcomeOf(answer), '401 unauthorized')
      await second.checkKeys()
      assert.equal((await socket.closed).code, 4001)
    })
  }

  test('is forgotten when it would have expired', async () => {
    await signOut(await signIn(world))
    const rows = () => runSql(world, 'select id from ended_sessions')
    assert.ok((await rows()).length > 0)
    world.clock.advance(12 * 3_600_000 + 1)
    await purgeExpired(world.app.deps, new AbortController().signal)
    assert.deepEqual(await rows(), [])
  })
})

onAnyEngine('over https', (engine) => {
  test('a session has a cookie name that no sibling host can set', async () => {
    const env = { MAILROOM_PUBLIC_URL: 'https://mail.example.com' }
    await using world = await openWorld(engine, { env })
    const guest = await signIn(world)
    assert.match(guest.setCookie, /^__Host-mailroom_session=[^;]+; Path=\/; .*; Secure$/)
    const ask = (cookie: string, origin = 'https://mail.example.com') =>
      browse(world, { ...guest, cookie }, '/v1/pods', { headers: { origin } })
    assert.equal((await ask(guest.cookie)).status, 200)
    const tossed = guest.cookie.replace('__Host-', '')
    assert.equal(await outcomeOf(ask(tossed)), '401 unauthorized')
    assert.equal((await ask(`mailroom_session=x; ${guest.cookie}`)).status, 200)
    for (const origin of ['http://mail.example.com', 'http://mail.example.com:8080']) {
      assert.equal(await outcomeOf(ask(guest.cookie, origin)), '403 forbidden_origin')
    }
    const gone = await browse(world, guest, '/auth/session', {
      method: 'DELETE',
      headers: { origin: 'https://mail.example.com' },
    })
    assert.match(gone.headers.get('set-cookie') ?? '', /^__Host-mailroom_session=; .*; Secure$/)
  })
})

onAnyEngine('failed authentications', (engine) => {
  const world = opened(() =>
    openWorld(engine, { env: { MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '3' } }),
  )

  test('from pages of other sites do not block an agent at the same address', async () => {
    const foreign = [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]
    const statuses: number[] = []
    for (let time = 0; time < 6; time += 1) {
      const headers = foreign[time % 2] ?? {}
      statuses.push((await fetch(`${world.baseUrl}/v1/pods`, { headers })).status)
    }
    assert.deepEqual(statuses, [401, 401, 401, 429, 429, 429])
    assert.equal((await world.fetch('/v1/pods')).status, 200)
    assert.equal((await postSession(world, { apiKey: world.key })).status, 201)
  })

  test('do not include cookies of another service', async () => {
    const headers = { cookie: 'mailroom_session=of-another' }
    for (let time = 0; time < 6; time += 1) {
      const answer = fetch(`${world.baseUrl}/v1/pods`, { headers })
      assert.equal(await outcomeOf(answer), '401 unauthorized')
    }
  })
})
