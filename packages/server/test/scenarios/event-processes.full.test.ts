import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type App, openApp } from '#app.ts'
import { silentLog } from '#platform/log.ts'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { openSocket } from '#test/http/socket-client.ts'
import { openSender } from '#test/peers/sender.ts'
import { watchListeners } from '#test/scenarios/event-listeners.ts'
import { clientOf, emptyPlace } from '#test/scenarios/service-process.ts'
import { onEachEngine, openWorld, plainMail, testKey, type World } from '#test/world.ts'

suite('two services on one database', () => {
  let world: World
  let second: App
  let dataDir: string
  let address: string
  before(async () => {
    world = await openWorld('postgres')
    dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    const settings = { ...world.settings, dataDir }
    second = await openApp(settings, { log: silentLog, clock: world.clock, makeKey: testKey })
    address = second.http?.address ?? ''
  })
  after(async () => {
    await second.close(1_000)
    await world.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  test('tell of what the other has taken in', async () => {
    const inbox = await world.inbox()
    const authorization = `Bearer ${world.key}`
    const client = await openSocket(address, { token: world.key })
    await client.ask({ type: 'subscribe', inbox_ids: [inbox.id] })
    const feed = await openFeedClient(`${address}/v1/events/stream`, { authorization })
    const listeners = watchListeners({ app: second })
    const waiting = fetch(`${address}/v1/inboxes/${inbox.id}/wait`, { headers: { authorization } })
    await listeners.reach(1)
    await world.send({ to: inbox.address, raw: plainMail({ subject: 'From the other' }) })
    const [frame, told, answer] = await Promise.all([client.next(), feed.next(), waiting])
    const { message } = (await answer.json()) as { message: { subject: string } }
    for (const found of [frame.message, told?.data.message, message]) {
      assert.equal((found as { subject: string }).subject, 'From the other')
    }
    client.socket.terminate()
    feed.close()
  })

  test('end what a key opened that was revoked at the other', async () => {
    const { id, token } = await world.client.apiKeys.create()
    const [revoked, good] = [
      await openSocket(address, { token }),
      await openSocket(address, { token: world.key }),
    ]
    const headers = { authorization: `Bearer ${token}` }
    const feed = await openFeedClient(`${address}/v1/events/stream`, headers)
    const next = feed.next()
    await second.checkKeys()
    assert.deepEqual(await revoked.ask({ type: 'ping' }), { type: 'pong' })
    await world.client.apiKeys.delete(id)
    await second.checkKeys()
    assert.equal((await revoked.closed).code, 4001)
    assert.equal(await next, null)
    assert.deepEqual(await good.ask({ type: 'ping' }), { type: 'pong' })
    good.socket.terminate()
  })
})

onEachEngine('the end of a process', (engine) => {
  test('closes sockets, streams and waits, and takes less than ten seconds', async (t) => {
    const key = 'the-key-of-this-test-0123456789'
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const service = place.start({ MAILROOM_BOOTSTRAP_API_KEY: key })
    const { http, smtpPort } = await service.ready
    const inbox = await clientOf(http, key).inboxes.create()
    const sockets = await Promise.all(
      Array.from({ length: 10 }, () => openSocket(http, { token: key })),
    )
    for (const socket of sockets) await socket.ask({ type: 'subscribe' })
    const headers = { authorization: `Bearer ${key}` }
    const feed = await openFeedClient(`${http}/v1/events/stream`, headers)
    const waits = Array.from({ length: 5 }, () =>
      fetch(`${http}/v1/inboxes/${inbox.id}/wait?timeout=60&subject=never`, { headers }),
    )
    const sender = await openSender(smtpPort)
    assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
    for (const socket of sockets) assert.equal((await socket.next()).event, 'message.received')
    assert.equal((await feed.next())?.event, 'message.received')
    // Two clients do not answer, as if their machines were gone.
    sockets[0]?.socket.pause()
    sockets[1]?.socket.pause()
    const next = feed.next()
    // Of a client whose connection is kept for its next request, as that of the sender is.
    await clientOf(http, key).pods.list().page()
    const startMs = performance.now()
    assert.equal(await service.stop(), 0)
    assert.ok(performance.now() - startMs < 30_000)
    for (const socket of sockets.slice(2)) assert.equal((await socket.closed).code, 1001)
    assert.equal(await next, null)
    for (const wait of waits) assert.equal((await wait).status, 503)
    sender.socket.destroy()
    for (const socket of sockets) socket.socket.terminate()
    for (const line of service.output().trim().split('\n')) {
      assert.ok(JSON.parse(line).level < 50, line)
      assert.ok(!line.includes(key), line)
    }
  })
})
