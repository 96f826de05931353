import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import { SUBSCRIPTIONS_MAX } from '#streams/event-stream.ts'
import {
  closeSocket,
  openSocket,
  type SocketClient,
  type SocketOptions,
} from '#test/http/socket-client.ts'
import { onEachEngine, openTenant, plainMail, type World } from '#test/world.ts'

onEachEngine('the WebSocket', (engine) => {
  let world: World
  const clients: SocketClient[] = []

  before(async () => {
    world = await openTenant(engine)
  })
  after(async () => {
    for (const { socket } of clients) socket.terminate()
    await world.close()
  })

  async function connect(options: SocketOptions = {}): Promise<SocketClient> {
    const client = await openSocket(world.baseUrl, { token: world.key, ...options })
    clients.push(client)
    return client
  }

  async function deliver(inbox: Inbox, subject: string): Promise<void> {
    const raw = plainMail({ to: inbox.address, subject })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
  }

  async function readLog(key: string): Promise<Record<string, unknown>[]> {
    const headers = { authorization: `Bearer ${key}` }
    const { data } = (await (await world.fetch('/v1/events', { headers })).json()) as {
      data: Record<string, unknown>[]
    }
    return data
  }

  const subjectOf = (frame: Record<string, unknown>) =>
    (frame.message as { subject: string }).subject

  /** The event of this mail: on PostgreSQL it is readable once older transactions have ended. */
  async function readEventOf(key: string, subject: string): Promise<Record<string, unknown>> {
    for (;;) {
      const found = (await readLog(key)).find((event) => subjectOf(event) === subject)
      if (found !== undefined) return found
      await sleep(10)
    }
  }

  test('a subscription is acknowledged first, and then events arrive, in the envelope of the log', async () => {
    const client = await connect()
    assert.deepEqual(await client.ask({ type: 'subscribe' }), {
      type: 'subscribed',
      inbox_ids: [],
      pod_ids: [],
      event_types: [],
      categories: [],
      // There are no events yet.
      last_event_id: null,
    })
    const inbox = await world.inbox()
    await deliver(inbox, 'Hello')
    const { delivered_at: deliveredAt, ...frame } = await client.next()
    const { delivered_at: _, ...logged } = (await readLog(world.key)).at(-1) ?? {}
    assert.match(String(deliveredAt), /^\d{4}-.*Z$/)
    assert.deepEqual(frame, logged)
    assert.equal(frame.event, 'message.received')
    assert.equal(frame.inbox_id, inbox.id)
    assert.equal('type' in frame, false)
    await closeSocket(client)
  })

  test('nothing arrives without a subscription, or outside its filters', async () => {
    const [mine, other] = [await world.inbox(), await world.inbox()]
    const pod = await world.client.pods.create({ clientId: `pod-${engine}` })
    const inPod = await world.client.inboxes.create({ podId: pod.id })
    const mute = await connect()
    const ofInbox = await connect()
    await ofInbox.ask({
      type: 'subscribe',
      inbox_ids: [mine.id],
      event_types: ['message.received'],
    })
    const ofPod = await connect()
    const subscribed = await ofPod.ask({ type: 'subscribe', pod_ids: [`pod-${engine}`] })
    assert.deepEqual(subscribed.pod_ids, [pod.id])
    const ofSent = await connect()
    await ofSent.ask({ type: 'subscribe', event_types: ['message.sent'] })
    for (const inbox of [other, inPod, mine]) await deliver(inbox, inbox.id)
    assert.equal(subjectOf(await ofInbox.next()), mine.id)
    assert.equal(subjectOf(await ofPod.next()), inPod.id)
    for (const client of [mute, ofInbox, ofPod, ofSent]) {
      assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
      assert.deepEqual(client.rest, [])
      await closeSocket(client)
    }
  })

  test('subscriptions add up without repeats, and end one by one or all together', async () => {
    const [first, second] = [await world.inbox(), await world.inbox()]
    const client = await connect()
    await client.ask({ type: 'subscribe', inbox_ids: [first.id] })
    await client.ask({ type: 'subscribe', inbox_ids: [first.id, second.id] })
    await deliver(first, 'one')
    await deliver(second, 'two')
    assert.deepEqual(
      [subjectOf(await client.next()), subjectOf(await client.next())],
      ['one', 'two'],
    )
    const unsubscribe = { type: 'unsubscribe', inbox_ids: [first.id] }
    assert.deepEqual(await client.ask(unsubscribe), { ...unsubscribe, type: 'unsubscribed' })
    await deliver(first, 'three')
    await deliver(second, 'four')
    assert.equal(subjectOf(await client.next()), 'four')
    const ended = { type: 'unsubscribed', inbox_ids: [] }
    assert.deepEqual(await client.ask({ type: 'unsubscribe' }), ended)
    await deliver(second, 'five')
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
    await closeSocket(client)
  })

  test('a subscription that breaks before its first event can be continued', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    await deliver(other, 'before')
    const { event_id: newest } = await readEventOf(world.key, 'before')
    const client = await connect()
    const frame = { type: 'subscribe', inbox_ids: [inbox.id] }
    const { last_event_id: lastEventId } = await client.ask(frame)
    assert.equal(lastEventId, newest)
    await closeSocket(client)
    await deliver(inbox, 'between')
    const again = await connect()
    const subscribed = await again.ask({ ...frame, last_event_id: lastEventId })
    assert.equal(subscribed.last_event_id, lastEventId)
    assert.equal(subjectOf(await again.next()), 'between')
    await closeSocket(again)
  })

  test('after a disconnection all events since the last one arrive, then new ones, once each', async () => {
    const inbox = await world.inbox()
    const client = await connect()
    await client.ask({ type: 'subscribe', inbox_ids: [inbox.id] })
    await deliver(inbox, '0')
    const last = await client.next()
    await closeSocket(client)
    for (const subject of ['1', '2', '3']) await deliver(inbox, subject)
    const again = await connect()
    const during = deliver(inbox, '4')
    const frame = { type: 'subscribe', inbox_ids: [inbox.id], last_event_id: last.event_id }
    assert.equal((await again.ask(frame)).type, 'subscribed')
    await during
    await deliver(inbox, '5')
    const subjects = []
    while (subjects.length < 5) subjects.push(subjectOf(await again.next()))
    assert.deepEqual(subjects, ['1', '2', '3', '4', '5'])
    assert.deepEqual(await again.ask({ type: 'ping' }), { type: 'pong' })
    await closeSocket(again)
  })

  test('another account’s, unknown or excessive objects cause an error and no subscription', async () => {
    const theirs = await world.newAccount()
    const pod = await theirs.client.pods.create({ clientId: 'theirs' })
    const inbox = await theirs.client.inboxes.create({ podId: pod.id })
    await deliver(inbox, 'theirs')
    const own = await world.inbox()
    const client = await connect()
    const wrong: Record<string, string[]>[] = [
      { inbox_ids: [inbox.id] },
      { inbox_ids: [own.id, inbox.id] },
      { inbox_ids: ['inb_01h455vb4pex5vsknk084sn02q'] },
      { inbox_ids: [''] },
      { pod_ids: [pod.id] },
      { pod_ids: ['theirs'] },
      { pod_ids: [own.id] },
      { event_types: ['message.read'] },
      { event_types: ['message.read', 'nonsense'] },
    ]
    for (const fields of wrong) {
      const answer = await client.ask({ type: 'subscribe', ...fields })
      assert.equal(answer.type, 'error', JSON.stringify(fields))
      const [[field, entries] = []] = Object.entries(fields)
      assert.match(String(answer.message), new RegExp(`"${field}"`))
      assert.ok(entries?.some((entry) => String(answer.message).includes(`"${entry}"`)))
    }
    await deliver(own, 'own')
    await deliver(inbox, 'theirs')
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
    await closeSocket(client)
  })

  test('an unknown or malformed cursor causes an error frame, and the client is subscribed', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'before the cursor')
    const before = await readEventOf(world.key, 'before the cursor')
    for (const cursor of ['evt_01h455vb4pex5vsknk084sn02q', 'evt_x', '', 'msg_\u2028']) {
      const client = await connect()
      const subscribe = { type: 'subscribe', inbox_ids: [inbox.id], last_event_id: cursor }
      const error = await client.ask(subscribe)
      assert.equal(error.type, 'error')
      assert.match(String(error.message), /^"last_event_id" "/)
      const subscribed = await client.next()
      assert.deepEqual([subscribed.type, subscribed.inbox_ids], ['subscribed', [inbox.id]])
      const isPlace = cursor.length === 30
      // With this cursor the next connection continues without a gap.
      assert.equal(subscribed.last_event_id, isPlace ? cursor : before.event_id)
      if (isPlace) assert.equal((await client.next()).event_id, before.event_id)
      assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
      await closeSocket(client)
    }
  })

  test('unknown kinds among known ones cause an error frame, and the known ones are subscribed', async () => {
    const inbox = await world.inbox()
    const client = await connect()
    const event_types = ['message.read', 'message.received', 'x'.repeat(500)]
    const error = await client.ask({ type: 'subscribe', inbox_ids: [inbox.id], event_types })
    assert.deepEqual([error.type, String(error.message).length < 400], ['error', true])
    assert.match(String(error.message), /"event_types" .*"message\.read"/)
    const subscribed = await client.next()
    assert.deepEqual(subscribed.event_types, ['message.received'])
    await deliver(inbox, 'known')
    assert.equal(subjectOf(await client.next()), 'known')
    const unsubscribed = await client.ask({ type: 'unsubscribe', inbox_ids: [inbox.id] })
    assert.deepEqual(unsubscribed, { type: 'unsubscribed', inbox_ids: [inbox.id] })
    await closeSocket(client)
  })

  test('a connection has a hundred subscriptions at most', async () => {
    // To an inbox of its own: on PostgreSQL events of earlier mail may still be pending.
    const inbox = await world.inbox()
    const frame = { type: 'subscribe', inbox_ids: [inbox.id] }
    const client = await connect()
    for (let index = 0; index < SUBSCRIPTIONS_MAX; index++) {
      assert.equal((await client.ask(frame)).type, 'subscribed')
      if (index % 25 === 24) world.clock.advance(10_001)
    }
    const answer = await client.ask(frame)
    assert.match(String(answer.message), /at most 100 subscriptions/)
    await deliver(inbox, 'once')
    assert.equal(subjectOf(await client.next()), 'once')
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
    await closeSocket(client)
  })

  test('the end of a key closes its connections with 4001 and no others', async () => {
    const { id, token } = await world.client.apiKeys.create()
    const [revoked, other] = [await connect({ token }), await connect()]
    const inbox = await world.inbox()
    const frame = { type: 'subscribe', inbox_ids: [inbox.id] }
    await revoked.ask(frame)
    await other.ask(frame)
    await world.client.apiKeys.delete(id)
    assert.equal((await revoked.closed).code, 4001)
    assert.equal((await (await connect({ token })).closed).code, 4001)
    await deliver(inbox, 'after')
    assert.equal(subjectOf(await other.next()), 'after')
    assert.deepEqual(revoked.rest, [])
    await closeSocket(other)
  })

  test('a slow reader gets all of many events in order, and once', async () => {
    const inbox = await world.inbox()
    const client = await connect()
    await client.ask({ type: 'subscribe', inbox_ids: [inbox.id] })
    client.socket.pause()
    const body = 'x'.repeat(70_000).replaceAll(/.{70}/g, '$&\r\n')
    for (let index = 0; index < 40; index++) {
      const raw = plainMail({ to: inbox.address, subject: String(index), body })
      await world.send({ to: inbox.address, raw })
    }
    client.socket.resume()
    for (let index = 0; index < 40; index++) {
      assert.equal(subjectOf(await client.next()), String(index))
    }
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
    await closeSocket(client)
  })
})
