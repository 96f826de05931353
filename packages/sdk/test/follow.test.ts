import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type Event, type FollowOptions, Mailroom, MailroomError } from '@mailroom/sdk'
import { WebSocket as WebSocketOfWs } from 'ws'
import { openPeer } from './peer.ts'
import { openSocketPeer, type SocketPeer } from './socket-peer.ts'

async function open(t: TestContext): Promise<{ peer: SocketPeer; client: Mailroom }> {
  const peer = await openSocketPeer()
  t.after(() => peer.close())
  return { peer, client: new Mailroom({ baseUrl: `${peer.baseUrl}/`, apiKey: 'mr_key+/' }) }
}

/** Reads this many events and leaves. */
async function read(
  client: Mailroom,
  count: number,
  options: FollowOptions = {},
  onEvent: (event: Event, index: number) => unknown = () => {},
): Promise<string[]> {
  const ids: string[] = []
  for await (const event of client.events.follow(options)) {
    ids.push(event.event_id)
    await onEvent(event, ids.length - 1)
    if (ids.length === count) break
  }
  return ids
}

const idOf = ({ value }: IteratorResult<Event, unknown>) => (value as Event | undefined)?.event_id

const idsOf = (events: readonly Event[]) => events.map(({ event_id: id }) => id)

test('following subscribes with the given filters, and sends the key in a header field', async (t) => {
  const { peer, client } = await open(t)
  peer.add(3)
  const [first] = idsOf(peer.log)
  const options = {
    inboxIds: ['inb_1'],
    podIds: ['pod_1'],
    eventTypes: ['message.received'],
    after: first,
  } as const
  assert.deepEqual(await read(client, 2, options), idsOf(peer.log).slice(1))
  const [connection] = peer.connections
  assert.equal(connection?.request.url, '/v1/ws')
  assert.equal(connection?.request.headers.authorization, 'Bearer mr_key+/')
  assert.deepEqual(connection?.frames, [
    {
      type: 'subscribe',
      inbox_ids: ['inb_1'],
      pod_ids: ['pod_1'],
      event_types: ['message.received'],
      last_event_id: first,
    },
    { type: 'ping' },
  ])
})

test('a reader that leaves closes its connection', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  await read(client, 1, { after: peer.log[0]?.event_id ?? '' })
  const [connection] = peer.connections
  assert.ok(connection)
  if (connection.socket.readyState !== connection.socket.CLOSED) {
    await new Promise((resolve) => connection.socket.once('close', resolve))
  }
})

test('events between a connection that delivered nothing and the next one are delivered', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  peer.onConnection = ({ socket, cut }, index) => {
    socket.once('message', () => {
      if (index === 0) setImmediate(cut)
    })
    socket.once('close', () => {
      if (index === 0) peer.add(2)
    })
    return false
  }
  assert.deepEqual(await read(client, 2), idsOf(peer.log).slice(2))
  const asked = peer.connections.map(({ frames: [frame] }) => frame?.last_event_id)
  assert.deepEqual(asked, [undefined, 'evt_00000001'])
})

test('`return` ends the wait for the next event and for the next connection', async (t) => {
  const { peer, client } = await open(t)
  for (const isAway of [false, true]) {
    peer.onConnection = ({ cut }) => {
      if (isAway) cut()
      return isAway
    }
    const following = client.events.follow()
    const next = following.next()
    await peer.waitForConnections(peer.connections.length + 1)
    const { socket } = peer.connections.at(-1) ?? assert.fail('nobody is connected')
    const closed = socket.readyState === socket.CLOSED ? null : once(socket, 'close')
    assert.deepEqual(await following.return(), { done: true, value: undefined })
    assert.deepEqual(await next, { done: true, value: undefined })
    await closed
    assert.equal((await following.next()).done, true)
  }
})

test('broken connections are reopened, and no event is lost or repeated', async (t) => {
  const { peer, client } = await open(t)
  peer.add(1)
  const total = 200
  // Each connection delivers a few more events and then ends in one of several ways.
  peer.onConnection = ({ socket, cut }, index) => {
    const ends = [
      cut,
      () => socket.close(1001),
      () => socket.terminate(),
      () => socket.close(1011),
      () => socket.close(1013),
    ]
    socket.once('message', () => {
      peer.add(20)
      setTimeout(() => ends[index % ends.length]?.(), index % 7)
    })
    return false
  }
  const ids = await read(client, total, { after: peer.log[0]?.event_id ?? '' })
  assert.deepEqual(ids, idsOf(peer.log).slice(1, total + 1))
  assert.ok(peer.connections.length >= 5, `${peer.connections.length} connections`)
})

test('reconnecting to a service that is away slows down', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  const times: number[] = []
  peer.onConnection = ({ cut }, index) => {
    times.push(performance.now())
    if (index < 3) cut()
    return index < 3
  }
  assert.equal((await read(client, 1, { after: peer.log[0]?.event_id ?? '' })).length, 1)
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  assert.equal(gaps.length, 3)
  for (const [index, gap] of gaps.entries()) {
    assert.ok(gap >= 125 * 2 ** (index + 1) - 5, `${index}: ${gap} ms`)
  }
})

test('an invalid key ends following at once and for good', async (t) => {
  const { peer, client } = await open(t)
  peer.onConnection = ({ socket }) => {
    socket.close(4001)
    return true
  }
  await assert.rejects(read(client, 1), (error) => {
    assert.ok(error instanceof MailroomError)
    assert.deepEqual([error.status, error.code], [401, 'unauthorized'])
    return true
  })
  assert.equal(peer.connections.length, 1)
})

test('a key revoked during following ends it after the earlier events', async (t) => {
  const { peer, client } = await open(t)
  peer.add(3)
  const seen: string[] = []
  peer.onConnection = ({ socket }) => {
    socket.once('message', () => setImmediate(() => socket.close(4001)))
    return false
  }
  const following = read(client, 9, { after: peer.log[0]?.event_id ?? '' }, ({ event_id: id }) =>
    seen.push(id),
  )
  await assert.rejects(following, { code: 'unauthorized' })
  assert.deepEqual(seen, idsOf(peer.log).slice(1))
})

test('a refused subscription ends following', async (t) => {
  const { peer, client } = await open(t)
  await assert.rejects(read(client, 1, { inboxIds: ['inb_theirs'] }), {
    name: 'MailroomError',
    code: 'bad_request',
    message: 'No such inbox.',
  })
  assert.equal(peer.connections.length, 1)
})

test('an unknown start event is reported once, and new events are followed', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  const notices: string[] = []
  const { promise: noticed, resolve } = Promise.withResolvers<void>()
  const following = client.events.follow({
    after: 'unknown',
    onNotice(notice) {
      notices.push(notice)
      resolve()
    },
  })
  const first = following.next()
  await noticed
  peer.connections[0]?.cut()
  // Before the next connection, which reports it.
  peer.add(1)
  assert.equal(idOf(await first), peer.log[2]?.event_id)
  assert.equal(peer.connections[1]?.frames[0]?.last_event_id, peer.log[1]?.event_id)
  assert.deepEqual(notices, ['No such event.'])
  await following.return()
})

test('a silent connection is pinged, and closed when no answer comes', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  peer.onConnection = (_, index) => {
    peer.isMute = false
    if (index > 0) peer.add(1)
    return false
  }
  const after = peer.log[1]?.event_id ?? ''
  const reading = read(client, 1, { after, heartbeatMs: 60 })
  await peer.waitForConnections(1)
  const [connection] = peer.connections
  assert.ok(connection)
  const pings = () => connection.frames.filter(({ type }) => type === 'ping').length
  while (pings() < 2) await new Promise((resolve) => connection.socket.once('message', resolve))
  assert.equal(peer.connections.length, 1, 'it was answered')
  peer.isMute = true
  assert.deepEqual(await reading, [peer.log[2]?.event_id])
  assert.equal(peer.connections.length, 2)
})

test('a slow reader costs no memory: later events are delivered after it has read', async (t) => {
  const { peer, client } = await open(t)
  peer.add(1)
  const padding = 'x'.repeat(50_000)
  const after = peer.log[0]?.event_id ?? ''
  const following = client.events.follow({ after })
  const first = following.next()
  await peer.waitForConnections(1)
  peer.add(600, padding)
  const ids = [idOf(await first)]
  // The client closes it, with most of the events undelivered.
  const [connection] = peer.connections
  await new Promise((resolve) => connection?.socket.once('close', resolve))
  assert.equal(peer.connections.length, 1)
  while (ids.length < 600) ids.push(idOf(await following.next()))
  await following.return()
  assert.deepEqual(ids, idsOf(peer.log).slice(1))
  assert.ok(peer.connections.length >= 2)
})

test('the caller’s signal ends a wait for an event or for a connection', async (t) => {
  const { peer, client } = await open(t)
  const reason = new Error('enough')
  for (const isAway of [false, true]) {
    peer.onConnection = ({ cut }) => {
      if (isAway) cut()
      return isAway
    }
    const controller = new AbortController()
    const reading = read(client, 1, { signal: controller.signal })
    await peer.waitForConnections(peer.connections.length + 1)
    setTimeout(() => controller.abort(reason), 20)
    await assert.rejects(reading, reason)
  }
  await assert.rejects(read(client, 1, { signal: AbortSignal.abort(reason) }), reason)
})

test('a runtime whose WebSocket sends no header fields sends the key in the URL', async (t) => {
  const { peer, client } = await open(t)
  peer.add(2)
  // As in browsers, where the second argument holds the names of protocols.
  class WebSocketOfBrowsers extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      if (typeof protocols === 'object') throw new SyntaxError('[object Object] is no protocol')
      super(url)
    }
  }
  const after = peer.log[0]?.event_id ?? ''
  assert.equal((await read(client, 1, { after, WebSocket: WebSocketOfBrowsers })).length, 1)
  assert.equal(peer.connections[0]?.request.url, '/v1/ws?token=mr_key%2B%2F')
})

test('the WebSocket of the package ws works', async (t) => {
  const { peer, client } = await open(t)
  peer.add(1)
  peer.onConnection = ({ cut }, index) => {
    if (index === 0) cut()
    else setTimeout(() => peer.add(1), 10)
    return index === 0
  }
  const after = peer.log[0]?.event_id ?? ''
  assert.equal((await read(client, 1, { after, WebSocket: WebSocketOfWs })).length, 1)
  assert.equal(peer.connections[1]?.request.headers.authorization, 'Bearer mr_key+/')
})

test('a runtime without a WebSocket follows server-sent events', async (t) => {
  await using peer = await openPeer({
    status: 401,
    body: { error: 'unauthorized', message: 'No.' },
  })
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'key' })
  t.mock.property(globalThis, 'WebSocket', undefined as never)
  await assert.rejects(client.events.follow({ after: 'evt_1' }).next(), { code: 'unauthorized' })
  assert.equal(peer.requests[0]?.url, '/v1/events/stream')
  assert.equal(peer.requests[0]?.headers['last-event-id'], 'evt_1')
})
