import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '#app/app.ts'
import { silentLog } from '#platform/log.ts'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { openSocket } from '#test/http/socket-client.ts'
import { openReceiver, type Received } from '#test/peers/receiver.ts'
import { type Mail, openSender } from '#test/peers/sender.ts'
import { countMessages } from '#test/scenarios/deliver.ts'
import { watchListeners } from '#test/scenarios/event-listeners.ts'
import { countOutcomes, repeat } from '#test/scenarios/outcomes.ts'
import { openSendingWorld, send, settled } from '#test/scenarios/sending-world.ts'
import { clientOf, emptyPlace } from '#test/scenarios/service-process.ts'
import {
  moveAwayFromMidnight,
  onEachEngine,
  opened,
  openSecond,
  openWorld,
  plainMail,
  testKey,
  type World,
} from '#test/world.ts'

suite('two services on one database', () => {
  const world = opened(() => openWorld('postgres'))
  const second = opened(() => openSecond(world))
  let address: string
  before(() => {
    address = second.http?.address ?? ''
  })

  test('deliver events of mail that the other received', async () => {
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

  test('close connections of a key that was revoked at the other', async () => {
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
    // Two clients do not answer, as if their machines were down.
    sockets[0]?.socket.pause()
    sockets[1]?.socket.pause()
    const next = feed.next()
    // A client whose connection is kept open for its next request, like the sender's.
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

suite('two services on one database', () => {
  const env = { MAILROOM_LIMIT_SENDS_PER_MINUTE: '10', MAILROOM_LIMIT_COLD_PER_DAY: '20' }
  const world = opened(() => openSendingWorld('postgres', { env }))
  const second = opened(() => openSecond(world))
  let clients: { client: Mailroom }[]
  before(() => {
    // After both have read the shared time of the queue, which each does at its start.
    moveAwayFromMidnight(world.clock)
    const baseUrl = second.http?.address ?? ''
    const other = new Mailroom({ baseUrl, apiKey: world.key, maxRetries: 0 })
    clients = [{ client: world.client }, { client: other }]
  })

  const clientOf = (index: number) => clients[index % 2] ?? { client: world.client }

  test('make one message of a hundred equal requests, and send it once', async () => {
    for (let round = 0; round < 2; round++) {
      const inbox = await world.inbox()
      const key = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => send(clientOf(index), inbox, {}, key)),
      )
      const [first] = answers
      assert.ok(first !== undefined)
      for (const answer of answers) assert.deepEqual(answer, first)
      assert.equal(await countMessages(world, inbox), 1)
      assert.equal((await settled(world, first)).status, 'sent')
      const copies = world.mta.received.filter(({ raw }) => raw.includes(first.providerMessageId))
      assert.equal(copies.length, 1)
    }
  })

  test('send fifty messages once each, whichever of them delivers a message', async () => {
    const inboxes = await Promise.all(Array.from({ length: 5 }, () => world.inbox()))
    const sent = await repeat(50, (index) =>
      send(clientOf(index), inboxes[index % 5] ?? { id: '' }, { to: 'crowd@friend.example' }),
    )
    for (const one of sent) assert.equal((await settled(world, one)).status, 'sent')
    const ids = world.mta.received
      .filter(({ recipients }) => recipients.includes('crowd@friend.example'))
      .map(({ raw }) => /^Message-ID: (.*)$/m.exec(raw.toString())?.[1])
    assert.deepEqual(ids.sort(), sent.map((one) => one.providerMessageId).sort())
  })

  test('allow ten sends in a minute and twenty strangers in a day together', async () => {
    const inbox = await world.inbox()
    const strangers = Array.from({ length: 40 }, (_, index) =>
      send(clientOf(index), inbox, { to: `s${index}@friend.example` }),
    )
    assert.deepEqual(await countOutcomes(strangers), { done: 10, '429 rate_limit_exceeded': 30 })
    assert.equal(await countMessages(world, inbox), 10)
    const other = await world.inbox()
    const cc = (from: number) =>
      Array.from({ length: 4 }, (_, index) => `c${from}.${index}@friend.example`)
    const groups = Array.from({ length: 10 }, (_, index) =>
      send(clientOf(index), other, { to: `t${index}@friend.example`, cc: cc(index) }),
    )
    assert.deepEqual(await countOutcomes(groups), { done: 4, '429 cold_outreach_limit': 6 })
  })
})

const LIMIT = { timeout: 120_000 }
const ENV = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }

const idOf = (request: Received): string => String(request.headers['x-event-id'])

async function makeWebhook(world: World, url: string): Promise<void> {
  const made = await world.fetch('/v1/webhooks', {
    method: 'POST',
    body: JSON.stringify({ url }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(made.status, 201)
}

async function sendOver(port: number, mail: Mail): Promise<void> {
  const sender = await openSender(port)
  assert.equal((await sender.send(mail)).code, 250)
  await sender.quit()
}

function statesOf({ app }: World | { app: App }) {
  return app.deps.db.read
    .selectFrom('webhook_deliveries')
    .select(['status', 'attempts', 'queue_state'])
    .execute()
}

suite('two services on one database', () => {
  test('post each event once, whichever of them received it', LIMIT, async () => {
    await using world = await openWorld('postgres', { env: ENV })
    await using second = await openSecond(world)
    await using receiver = await openReceiver()
    await makeWebhook(world, receiver.origin)
    const inbox = await world.inbox()
    const smtpPorts = [world.smtpPort, second.smtp?.port ?? 0]
    const count = 60
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        sendOver(smtpPorts[index % 2] ?? 0, { to: inbox.address, raw: plainMail({}) }),
      ),
    )
    await receiver.waitForCount(count)
    while ((await statesOf(world)).some(({ status }) => status === 'pending')) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.equal(receiver.requests.length, count)
    assert.equal(new Set(receiver.requests.map(idOf)).size, count)
    const states = await statesOf(world)
    assert.ok(states.every(({ attempts }) => attempts === 1))
  })
})

onEachEngine('a service that calls webhooks', (engine) => {
  test(
    'cuts hanging requests at its end, and the next one repeats the delivery',
    LIMIT,
    async () => {
      await using world = await openWorld(engine, { env: ENV })
      await using receiver = await openReceiver()
      receiver.answer = 'hang'
      const inbox = await world.inbox()
      for (let index = 0; index < 3; index++) {
        await makeWebhook(world, `${receiver.origin}/${index}`)
      }
      await world.send({ to: inbox.address, raw: plainMail({}) })
      await receiver.waitForCount(3)
      const startMs = performance.now()
      await world.app.close(200)
      assert.ok(performance.now() - startMs < 12_000)
      receiver.answer = {}
      const seams = { log: silentLog, clock: world.clock, makeKey: testKey }
      const next = await openApp(world.settings, seams)
      await receiver.waitForCount(6)
      while ((await statesOf({ app: next })).some(({ status }) => status === 'pending')) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const states = await statesOf({ app: next })
      assert.deepEqual(
        states.map((row) => ({ ...row })),
        Array.from({ length: 3 }, () => ({
          status: 'succeeded',
          attempts: 1,
          queue_state: null,
        })),
      )
      const told = receiver.requests.map((request) => `${request.path} ${idOf(request)}`)
      assert.equal(new Set(told).size, 3)
      assert.deepEqual(told.slice(3).toSorted(), told.slice(0, 3).toSorted())
      await next.close(1_000)
    },
  )

  test('a deleted webhook loses its deliveries', LIMIT, async () => {
    await using world = await openWorld(engine, { env: ENV })
    await using receiver = await openReceiver()
    await makeWebhook(world, receiver.origin)
    const inbox = await world.inbox()
    for (let index = 0; index < 3; index++) {
      await world.send({ to: inbox.address, raw: plainMail({}) })
    }
    await receiver.waitForCount(3)
    const { data } = (await (await world.fetch('/v1/webhooks')).json()) as {
      data: { id: string }[]
    }
    const [{ id } = { id: '' }] = data
    assert.equal((await world.fetch(`/v1/webhooks/${id}`, { method: 'DELETE' })).status, 204)
    while ((await statesOf(world)).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
})
