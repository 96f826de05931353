import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import type { KeyedSlots } from '#limits/budgets.ts'
import { AppError } from '#platform/problem.ts'
import type { EventSink } from '#streams/event-stream.ts'
import { STREAM_BUFFER_BYTES_MAX } from '#streams/event-stream.ts'
import { eventText } from '#test/http/event-text.ts'
import {
  closeSocket,
  openSocket,
  RefusedUpgrade,
  type SocketOptions,
} from '#test/http/socket-client.ts'
import {
  GOOD_KEY,
  keepingLog,
  openReaders,
  openTestServer,
  type TestServerOptions,
} from '#test/http/test-server.ts'
import { exchange } from '#test/http/wire.ts'

async function openSocketServer(options: TestServerOptions = {}) {
  const server = await openTestServer(options)
  const connect = (asked: SocketOptions = {}) =>
    openSocket(server.address, { token: GOOD_KEY, ...asked })
  return { ...server, connect }
}

/** Gives each stream of events its sink on every subscription, and whenever it accepts more. */
function streamsOf(
  fill: (sink: EventSink) => void,
  close = () => {},
): NonNullable<TestServerOptions['ports']> {
  return {
    openEventStream: ({ sink }) => ({
      async subscribe() {
        fill(sink)
        return 'subscribed'
      },
      unsubscribe: () => 'unsubscribed',
      resume: () => fill(sink),
      close,
    }),
  }
}

async function refusalOf(opening: Promise<unknown>): Promise<RefusedUpgrade> {
  const refused = await opening.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(refused instanceof RefusedUpgrade, String(refused))
  return refused
}

test('a key in the header or in the URL opens a connection, from any origin', async () => {
  await using server = await openSocketServer()
  const ways: SocketOptions[] = [
    {},
    { token: null, query: `?token=${GOOD_KEY}` },
    { token: GOOD_KEY, query: '?token=wrong' },
    { origin: 'https://evil.example' },
  ]
  for (const way of ways) {
    const client = await server.connect(way)
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
    assert.equal(client.socket.extensions, '')
    await closeSocket(client)
  }
})

test('a missing or bad credential is refused with 4001, and its frames are not read', async () => {
  let asked = 0
  const checkFilter = async () => {
    asked += 1
    return {
      kind: 'filter',
      filter: { kinds: [], podIds: [], inboxIds: [], categories: [] },
      unknownKinds: [],
    } as const
  }
  await using server = await openSocketServer({ ports: { checkFilter } })
  const ways: SocketOptions[] = [
    { token: null },
    { token: `${GOOD_KEY}x` },
    { token: null, query: '?token=' },
    { token: null, query: `?token=${GOOD_KEY}%20x` },
    { token: null, query: '?token=wrong&token=wrong' },
    { token: null, headers: { authorization: 'Basic abc' } },
  ]
  for (const way of ways) {
    const client = await server.connect(way)
    client.send({ type: 'subscribe' })
    client.send({ type: 'ping' })
    assert.equal((await client.closed).code, 4001)
    assert.deepEqual(client.rest, [])
  }
  assert.equal(asked, 0)
})

test('beyond the limit of failed authentications the answer is 429 in plain HTTP', async () => {
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 2 }
  await using server = await openSocketServer({ limits })
  assert.equal((await (await server.connect({ token: 'wrong' })).closed).code, 4001)
  assert.equal((await server.request('/v1/pods', { token: 'wrong' })).status, 401)
  for (const token of ['wrong', null]) {
    const { status, headers } = await refusalOf(server.connect({ token }))
    assert.equal(status, 429)
    assert.match(String(headers['retry-after']), /^[1-9]/)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  }
  assert.deepEqual(await (await server.connect()).ask({ type: 'ping' }), { type: 'pong' })
})

test('a connection counts as one request of the account, and one too many is 429', async () => {
  const limits = { apiPerMinute: 2, failedAuthPerMinute: 60 }
  await using server = await openSocketServer({ limits })
  const client = await server.connect()
  for (let index = 0; index < 5; index++) await client.ask({ type: 'ping' })
  const second = await server.request('/v1/pods')
  assert.equal(second.headers.get('ratelimit-remaining'), '0')
  const { status, headers } = await refusalOf(server.connect())
  assert.equal(status, 429)
  assert.equal(headers['ratelimit-remaining'], '0')
  assert.equal((await server.request('/v1/pods')).status, 429)
})

test('a store in trouble is 503, never the final close code', async () => {
  const authenticate = async () => {
    throw new AppError('service_unavailable', 'Not now.')
  }
  await using server = await openSocketServer({ authenticate })
  const { status, headers } = await refusalOf(server.connect())
  assert.equal(status, 503)
  assert.match(String(headers['retry-after']), /^[1-9]/)
})

test('the answer that opens a connection has the request id and the rate limit', async () => {
  await using server = await openSocketServer()
  const socket = new WebSocket(`${server.address.replace('http', 'ws')}/v1/ws?token=${GOOD_KEY}`)
  const headers = await new Promise<Record<string, unknown>>((resolve) => {
    socket.once('upgrade', (response) => resolve(response.headers))
  })
  assert.match(String(headers['x-request-id']), /^req_/)
  assert.equal(headers['ratelimit-limit'], '1000')
  socket.terminate()
})

test('a plain request to the path is 426, another method 405, and an upgrade of another path is ignored', async () => {
  await using server = await openSocketServer()
  for (const method of ['GET', 'HEAD']) {
    const response = await server.request('/v1/ws', { method, token: null })
    assert.equal(response.status, 426)
    assert.equal(response.headers.get('upgrade'), 'websocket')
    assert.equal(response.headers.get('connection'), 'upgrade')
    const text = await response.text()
    if (method === 'GET') assert.equal(JSON.parse(text).error, 'upgrade_required')
  }
  for (const method of ['POST', 'DELETE']) {
    const response = await server.request('/v1/ws', { method })
    assert.equal(response.status, 405)
    assert.equal(response.headers.get('allow'), 'GET, HEAD')
  }
  const upgrade = (path: string, protocol = 'websocket') =>
    exchange(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n` +
        `Authorization: Bearer ${GOOD_KEY}\r\nSec-WebSocket-Version: 13\r\n` +
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
  const elsewhere = await upgrade('/v1/nothing')
  assert.equal(elsewhere.status, 404)
  assert.equal(JSON.parse(elsewhere.body).error, 'not_found')
  assert.equal((await upgrade('/v1/ws', 'h2c')).status, 426)
  // A client that offers HTTP/2 wants only an answer.
  assert.equal((await upgrade('/v1/pods', 'h2c')).status, 200)
  assert.equal((await upgrade('/v1/pods')).status, 200)
})

test('a malformed handshake is 400 in the form of an error', async () => {
  await using server = await openSocketServer()
  for (const lines of ['', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n']) {
    const { status, body } = await exchange(
      server.port,
      `GET /v1/ws?token=${GOOD_KEY} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\n${lines}\r\n`,
    )
    assert.equal(status, 400)
    assert.equal(JSON.parse(body).error, 'bad_request')
    assert.match(JSON.parse(body).fix, /WebSocket client/)
  }
})

test('an unsupported version gets the list of supported ones (RFC 6455 §4.4)', async () => {
  await using server = await openSocketServer()
  const handshake = (version: number) =>
    exchange(
      server.port,
      `GET /v1/ws?token=${GOOD_KEY} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\nSec-WebSocket-Version: ${version}\r\n` +
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
  const { status, headers } = await handshake(12)
  assert.equal(status, 400)
  assert.equal(headers.get('sec-websocket-version'), '13, 8')
})

test('a refused handshake has the headers of every answer, each once', async () => {
  const limits = { apiPerMinute: 1, failedAuthPerMinute: 60 }
  await using server = await openSocketServer({ limits })
  await server.connect()
  const { headers } = await refusalOf(server.connect())
  // A repeated header would have both values, with a comma between them.
  assert.match(String(headers['x-request-id']), /^req_\d+$/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['ratelimit-remaining'], '0')
})

test('a malformed frame gets an error that names the fault, and no subscription', async () => {
  let subscribed = 0
  const openEventStream = () => {
    subscribed += 1
    throw new Error('unreachable')
  }
  const ids = Array.from({ length: 1_001 }, (_, index) => `inb_${index}`)
  const wrong: [unknown, RegExp][] = [
    ['{', /not JSON/],
    ['', /not JSON/],
    ['null', /not a JSON object/],
    ['[]', /not a JSON object/],
    ['"subscribe"', /not a JSON object/],
    [{}, /no "type"/],
    [{ type: 1 }, /type 1 /],
    [{ type: 'pong' }, /type "pong"/],
    [{ type: 'SUBSCRIBE' }, /"SUBSCRIBE"/],
    [{ type: { a: 'x'.repeat(10_000) } }, /type .{1,110}… /],
    [{ type: 'subscribe', inbox_ids: 'inb_1' }, /"inbox_ids" must be an array/],
    [{ type: 'subscribe', pod_ids: [1] }, /"pod_ids" must be an array/],
    [{ type: 'subscribe', event_types: {} }, /"event_types" must be an array/],
    [{ type: 'subscribe', last_event_id: 7 }, /"last_event_id" must be a string/],
    [{ type: 'subscribe', last_event_id: 'evt_\0' }, /U\+0000/],
    [{ type: 'subscribe', inbox_ids: ['a\0'] }, /U\+0000/],
    [{ type: 'subscribe', inbox_ids: ids }, /at most 1000/],
    [{ type: 'unsubscribe', inbox_ids: [null] }, /"inbox_ids" must be an array/],
    ['['.repeat(30_000), /not JSON/],
  ]
  await using server = await openSocketServer({ ports: { openEventStream } })
  const client = await server.connect()
  for (const [frame, message] of wrong) {
    const { type, ...answer } = await client.ask(frame)
    assert.equal(type, 'error', JSON.stringify(answer))
    assert.match(String(answer.message), message)
    assert.ok(String(answer.message).length < 300)
  }
  client.socket.send(Buffer.from('{"type":"ping"}'))
  assert.match(String((await client.next()).message), /binary/)
  assert.deepEqual(await client.ask({ type: 'ping', further: 1 }), { type: 'pong' })
  assert.equal(subscribed, 0)
})

test('frames are answered in order, even when a subscription takes time', async () => {
  const released = Promise.withResolvers<void>()
  const checkFilter: TestServerOptions['ports'] = {
    async checkFilter({ inboxIds }) {
      await released.promise
      return {
        kind: 'filter',
        filter: { kinds: [], podIds: [], inboxIds, categories: [] },
        unknownKinds: [],
      }
    },
  }
  await using server = await openSocketServer({ ports: checkFilter })
  const client = await server.connect()
  client.send({ type: 'subscribe', inbox_ids: ['inb_1', 'inb_1'] })
  client.send({ type: 'ping' })
  client.send({ type: 'unsubscribe' })
  client.send('{')
  released.resolve()
  const types = []
  for (let index = 0; index < 4; index++) types.push(await client.next())
  assert.deepEqual(types, [
    {
      type: 'subscribed',
      inbox_ids: ['inb_1'],
      pod_ids: [],
      event_types: [],
      categories: [],
      last_event_id: 'evt_1',
    },
    { type: 'pong' },
    { type: 'unsubscribed', inbox_ids: [] },
    { type: 'error', message: 'The frame is not JSON.' },
  ])
})

test('a store in trouble during a subscription closes with 1013, an internal error with 1011', async () => {
  const { log, lines } = keepingLog()
  const errors = [new AppError('service_unavailable', 'Not now.'), new Error('a fault')]
  const checkFilter = async () => {
    throw errors.shift()
  }
  await using server = await openSocketServer({ ports: { checkFilter }, log })
  for (const code of [1013, 1011]) {
    const client = await server.connect()
    client.send({ type: 'subscribe' })
    assert.equal((await client.closed).code, code)
  }
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['info', 'error'],
  )
})

test('a frame over the limit closes with 1009, broken UTF-8 with 1007', async () => {
  await using server = await openSocketServer()
  const good = await server.connect()
  const padding = 'x'.repeat(64 * 1024 - 30)
  assert.deepEqual(await good.ask({ type: 'ping', padding }), { type: 'pong' })
  for (const size of [64 * 1024 + 1, 10 * 1024 * 1024]) {
    const client = await server.connect()
    client.send('x'.repeat(size))
    assert.equal((await client.closed).code, 1009)
  }
  const client = await server.connect()
  client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false })
  assert.equal((await client.closed).code, 1007)
})

test('thirty frames in ten seconds pass, one more closes with 4029, pings and pongs counted', async () => {
  await using server = await openSocketServer()
  const client = await server.connect()
  for (let index = 0; index < 30; index++) await client.ask({ type: 'ping' })
  client.send({ type: 'ping' })
  assert.equal((await client.closed).code, 4029)
  assert.equal(client.rest.length, 0)
  for (const flood of ['ping', 'pong'] as const) {
    const other = await server.connect()
    for (let index = 0; index <= 30; index++) other.socket[flood]()
    assert.equal((await other.closed).code, 4029)
  }
})

test('an account has ten connections, the eleventh closes with 4008, and a place becomes free again', async () => {
  await using server = await openSocketServer()
  const clients = await Promise.all(Array.from({ length: 10 }, () => server.connect()))
  assert.equal((await (await server.connect()).closed).code, 4008)
  for (const client of clients)
    assert.deepEqual(await client.ask({ type: 'ping' }), { type: 'pong' })
  await Promise.all(clients.slice(0, 2).map(closeSocket))
  const again = await server.connect()
  assert.deepEqual(await again.ask({ type: 'ping' }), { type: 'pong' })
})

const patience = { requestMs: 10_000, headMs: 5_000 }

test('a client that answers pings stays, and one that is silent is cut', async () => {
  const socket = { pingMs: 300, silenceMs: 2_000, stallMs: 60_000, tickMs: 50 }
  await using server = await openSocketServer({ patience: { ...patience, socket } })
  const lively = await server.connect()
  const silent = await server.connect({ autoPong: false })
  let pings = 0
  lively.socket.on('ping', () => {
    pings += 1
  })
  assert.equal((await silent.closed).code, 1006)
  while (pings < 3) await new Promise((resolve) => lively.socket.once('ping', resolve))
  assert.deepEqual(await lively.ask({ type: 'ping' }), { type: 'pong' })
})

test('a reader that does not read gets no more than the limit and is then cut', async () => {
  const bytes = 64 * 1024
  const text = eventText('evt_1', JSON.stringify('x'.repeat(bytes)))
  const ended = Promise.withResolvers<void>()
  let written = 0
  let sink: EventSink | undefined
  const fill = (opened: EventSink) => {
    sink = opened
    while (sink.write(text)) written += 1
  }
  const socket = { pingMs: 200, silenceMs: 200, stallMs: 60_000, tickMs: 50 }
  await using server = await openSocketServer({
    patience: { ...patience, socket },
    ports: streamsOf(fill, () => ended.resolve()),
  })
  const client = await server.connect()
  client.socket.pause()
  const before = process.memoryUsage().arrayBuffers
  client.send({ type: 'subscribe' })
  await ended.promise
  // Data in the kernel is not the service's memory.
  assert.ok(written * bytes > STREAM_BUFFER_BYTES_MAX)
  assert.ok(process.memoryUsage().arrayBuffers - before < 20 * STREAM_BUFFER_BYTES_MAX)
  assert.equal(sink?.write(text), false)
  client.socket.resume()
  await client.closed
})

test('a reader that does not read is cut, however much it sends', async () => {
  const text = eventText('evt_1', JSON.stringify('x'.repeat(64 * 1024)))
  const fill = (sink: EventSink) => {
    while (sink.write(text));
  }
  const ended = Promise.withResolvers<void>()
  const socket = { pingMs: 100, silenceMs: 60_000, stallMs: 600, tickMs: 20 }
  await using server = await openSocketServer({
    patience: { ...patience, socket },
    ports: streamsOf(fill, () => ended.resolve()),
  })
  const client = await server.connect()
  client.socket.pause()
  client.send({ type: 'subscribe' })
  const talking = setInterval(() => client.socket.ping(), 350)
  const startMs = performance.now()
  await ended.promise
  clearInterval(talking)
  assert.ok(performance.now() - startMs < 30_000)
  client.socket.resume()
  await client.closed
})

test('a ping is answered with its payload, and of many behind a backlog only the last', async () => {
  const total = 100
  let index = 0
  const text = eventText('evt_1', JSON.stringify('x'.repeat(100_000)))
  const fill = (sink: EventSink) => {
    while (index < total) {
      index += 1
      if (!sink.write(text)) return
    }
  }
  await using server = await openSocketServer({ ports: streamsOf(fill) })
  const client = await server.connect()
  const pongs: string[] = []
  client.socket.on('pong', (data) => pongs.push(data.toString()))
  const answered = once(client.socket, 'pong')
  client.socket.ping('first')
  await answered
  client.socket.pause()
  client.send({ type: 'subscribe' })
  while (index === 0) await new Promise((resolve) => setImmediate(resolve))
  for (let count = 1; count <= 9; count++) client.socket.ping(`ping ${count}`)
  // There is no other sign that the pings have arrived.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const last = once(client.socket, 'pong')
  client.socket.resume()
  await last
  assert.deepEqual(pongs, ['first', 'ping 9'])
  for (let count = 0; count < total; count++) await client.next()
})

test('a slow reader gets everything, and is not cut for its pace', async () => {
  const total = 300
  let index = 0
  const padding = 'x'.repeat(100_000)
  const fill = (sink: EventSink) => {
    while (index < total) {
      index += 1
      const frame = JSON.stringify({ index, padding })
      if (!sink.write(eventText('evt_1', frame))) return
    }
  }
  // Much less than the reader needs for everything before its pongs.
  const socket = { pingMs: 100, silenceMs: 3_000, stallMs: 60_000, tickMs: 50 }
  await using server = await openSocketServer({
    patience: { ...patience, socket },
    ports: streamsOf(fill),
  })
  const client = await server.connect({ autoPong: false })
  client.send({ type: 'subscribe' })
  for (let expected = 1; expected <= total; expected++) {
    assert.equal((await client.next()).index, expected)
    if (expected % 20 > 0) continue
    client.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 500))
    client.socket.resume()
  }
})

test('the end of the service closes with 1001, and does not wait for silent clients', async () => {
  const server = await openTestServer()
  const clients = await Promise.all(
    Array.from({ length: 10 }, () => openSocket(server.address, { token: GOOD_KEY })),
  )
  const [deaf] = clients
  deaf?.socket.pause()
  const startMs = performance.now()
  await server.close(300)
  assert.ok(performance.now() - startMs < 20_000)
  for (const client of clients.slice(1)) assert.equal((await client.closed).code, 1001)
  deaf?.socket.terminate()
})

test('a new connection during the shutdown is 503', async () => {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = await openTestServer({
    async authenticate() {
      entered.resolve()
      await released.promise
      return { accountId: 'acc_1', actor: { kind: 'key', keyId: 'key_1' } }
    },
  })
  const opening = refusalOf(openSocket(server.address, { token: GOOD_KEY }))
  await entered.promise
  const closed = server.close(5_000)
  released.resolve()
  assert.equal((await opening).status, 503)
  await closed
})

test('a client that leaves during the check of its place takes none', async () => {
  const asked = Promise.withResolvers<void>()
  const found = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const places: KeyedSlots = {
    async take() {
      asked.resolve()
      await found.promise
      return { release: () => released.resolve() }
    },
  }
  const readers = openReaders({ slots: { socket: places, stream: places } })
  await using server = await openSocketServer({ readers })
  const socket = new WebSocket(`${server.address.replace('http', 'ws')}/v1/ws?token=${GOOD_KEY}`)
  socket.on('error', () => {})
  await asked.promise
  socket.terminate()
  // The server usually notices first.
  await new Promise((resolve) => setTimeout(resolve, 100))
  found.resolve()
  await released.promise
})

test('a key is never in the log, and a connection is counted as a request', async () => {
  const { log, lines } = keepingLog()
  const seen: unknown[] = []
  const authenticate = async () => {
    throw new Error('a fault')
  }
  await using server = await openSocketServer({
    log,
    authenticate,
    onRequest: (request) => seen.push(request),
  })
  const { status } = await refusalOf(server.connect({ token: null, query: `?token=${GOOD_KEY}` }))
  assert.equal(status, 500)
  assert.equal(lines.length, 1)
  assert.ok(!JSON.stringify(lines).includes(GOOD_KEY))
  assert.match(JSON.stringify(seen), /"route":"\/v1\/ws","method":"GET","status":500/)
})
