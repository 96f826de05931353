import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '#app.ts'
import { silentLog } from '#platform/log.ts'
import { purgeExpired } from '#removal/purge.ts'
import { openSocket } from '#test/http/socket-client.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, postSession, type SignedIn, signIn } from '#test/scenarios/console-world.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, onEachEngine, opened, openWorld, testKey } from '#test/world.ts'

onEachEngine('a session that was signed out of', (engine) => {
  const world = opened(() => openWorld(engine))

  async function signOut(guest: SignedIn): Promise<void> {
    const answer = await browse(world, guest, '/auth/session', { method: 'DELETE' })
    assert.equal(answer.status, 204)
  }

  test('is over for whoever has kept its cookie, and others go on', async () => {
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

  test('takes its open WebSocket with it, and no other', async () => {
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

  // The embedded database is one process's.
  if (engine === 'postgres') {
    test('is over in every process, with what is open there', async (t) => {
      const seams = { log: silentLog, clock: world.clock, makeKey: testKey }
      const dataDir = `${world.dataDir}/second`
      const second = await openApp({ ...world.settings, dataDir }, seams)
      t.after(() => second.close(1_000))
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

  test('is forgotten when it would have ended by itself', async () => {
    await signOut(await signIn(world))
    const rows = () => runSql(world, 'select id from ended_sessions')
    assert.ok((await rows()).length > 0)
    world.clock.advance(12 * 3_600_000 + 1)
    await purgeExpired(world.app.deps, new AbortController().signal)
    assert.deepEqual(await rows(), [])
  })
})

onAnyEngine('over https', (engine) => {
  test('a session has a name that no neighbouring host can set', async (t) => {
    const env = { MAILROOM_PUBLIC_URL: 'https://mail.example.com' }
    const world = await openWorld(engine, { env })
    t.after(() => world.close())
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

  test('of pages of other sites hold up no agent at the same address', async () => {
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

  test('are none where a cookie is of another service', async () => {
    const headers = { cookie: 'mailroom_session=of-another' }
    for (let time = 0; time < 6; time += 1) {
      const answer = fetch(`${world.baseUrl}/v1/pods`, { headers })
      assert.equal(await outcomeOf(answer), '401 unauthorized')
    }
  })
})
