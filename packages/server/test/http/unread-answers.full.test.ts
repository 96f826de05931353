import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import {
  errorOf,
  GOOD_KEY,
  openTestServer,
  type TestServer,
  type TestServerOptions,
} from '#test/http/test-server.ts'

const MIB = 2 ** 20
/** More than the kernel's buffers on both sides hold, so that most of it stays in the service. */
const LARGE = 'x'.repeat(16 * MIB)
const OTHER_KEY = 'mr_other000000000000000000000000000000000000'
const IDLE_MS = 1_500
const THREAD = { threadId: 'thr_1', inboxId: 'inb_1', subject: '', isRead: false }
/** A compressed answer takes only its compressed size. */
const WHOLE = { 'accept-encoding': 'identity' }

const answers: NonNullable<TestServerOptions['answers']> = {
  'messages.list': async () => ({ data: [LARGE as never], total: 1 }),
  'sandbox.list': async (_input, { takeSlot, onGone }) => {
    await takeSlot()
    const gone = new Promise<void>((resolve) => onGone(() => resolve()))
    called.resolve()
    await gone
    // Resolves once all listeners have seen the end of the connection.
    await new Promise((resolve) => setImmediate(resolve))
    return { data: [LARGE as never], total: 1 }
  },
  'messages.view': () => ({ headers: { 'content-type': 'text/markdown' }, content: LARGE }),
  'exports.download': () => {
    const stream = Readable.from(withoutEnd())
    streams.push(stream)
    return {
      headers: { 'content-type': 'application/octet-stream' },
      content: { stream, holdsBytes: 16 * MIB },
    }
  },
  'inboxes.create': async () => {
    sends += 1
    return { status: 201, body: LARGE as never }
  },
  'threads.messages': async () => ({
    ...THREAD,
    data: (async function* () {
      for (;;) yield LARGE as never
    })(),
  }),
}

async function* withLongItems() {
  for (;;) yield 'x'.repeat(MIB) as never
}

async function* withoutEnd(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.alloc(64 * 1024)
}

const streams: Readable[] = []
let sends = 0
let server: TestServer
let called = Promise.withResolvers<void>()
const sockets: Socket[] = []
before(async () => {
  server = await openTestServer({
    unreadBytes: { max: 80 * MIB, eachMax: 40 * MIB },
    authenticate: async (token) => {
      if (token === GOOD_KEY) return { accountId: 'acc_1', actor: { kind: 'key', keyId: 'key_1' } }
      return token === OTHER_KEY
        ? { accountId: 'acc_2', actor: { kind: 'key', keyId: 'key_2' } }
        : null
    },
    answers,
  })
})
after(async () => {
  for (const socket of sockets) socket.destroy()
  await server.close(0)
})

const LIST = '/v1/inboxes/a/messages'

/** Sends a request and reads only the first bytes of its answer. */
async function leaveUnread(head: string, { port }: { port: number } = server): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write(`${head} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`)
  await once(socket, 'readable')
}

async function letGo(): Promise<void> {
  for (const socket of sockets.splice(0)) socket.destroy()
  // The service notices it in a moment; then there is room again.
  while ((await readAll(LIST)) !== 200);
}

async function readAll(path: string, token = GOOD_KEY): Promise<number> {
  const response = await server.request(path, { token, headers: WHOLE })
  await response.arrayBuffer()
  return response.status
}

test('an account that does not read its answers is refused further large ones, and others are not', async () => {
  await leaveUnread(`GET ${LIST}`)
  await leaveUnread('GET /v1/messages/a/view')
  for (const path of [LIST, '/v1/messages/a/view']) {
    const refused = await server.request(path, { headers: WHOLE })
    assert.equal(refused.status, 503)
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    assert.match(refused.headers.get('content-type') ?? '', /^application\/json/)
    assert.equal((await errorOf(refused)).error, 'service_unavailable')
  }
  assert.equal(await readAll('/v1/pods'), 200)
  assert.equal(await readAll('/health'), 200)
  assert.equal(await readAll(LIST, OTHER_KEY), 200)
  await letGo()
})

test('streams that nobody reads hold what they reserve, and a refused one is closed', async () => {
  const path = '/v1/exports/a/file'
  for (let asked = 0; asked < 2; asked += 1) await leaveUnread(`GET ${path}`)
  const refused = await server.request(path)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(
    streams.map(({ destroyed }) => destroyed),
    [false, false, true],
  )
  await letGo()
  assert.ok(streams.every(({ destroyed }) => destroyed))
})

test('long lists leave their places to other accounts, whether they are read or not', async () => {
  await using busy = await openTestServer({
    authenticate: async (token) => ({ accountId: token, actor: { kind: 'key', keyId: token } }),
    answers: {
      'threads.messages': async (_input, { accountId, takeSlot }) => {
        await takeSlot()
        const isLong = accountId !== OTHER_KEY
        return { data: isLong ? withLongItems() : ([] as never), ...THREAD }
      },
    },
  })
  const list = '/v1/threads/a/messages'
  const long = ['one', 'two', 'one', 'two', 'three']
  for (const token of long) {
    const socket = connect({ port: busy.port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(`GET ${list} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await once(socket, 'readable')
    if (token === 'three') socket.resume()
  }
  const answered = await busy.request(list, {
    token: OTHER_KEY,
    signal: AbortSignal.timeout(5_000),
  })
  assert.equal(answered.status, 200)
  for (const socket of sockets.splice(0)) socket.destroy()
})

test('other requests run between the parts of a long list', async () => {
  let items = 0
  await using busy = await openTestServer({
    answers: {
      'threads.messages': async () => ({ data: withTurns(), ...THREAD }),
    },
  })
  async function* withTurns() {
    for (; items < 200; items += 1) yield 'x'.repeat(4_096) as never
  }
  let turns = 0
  let most = 0
  let last = 0
  const count = () => {
    most = Math.max(most, items - last)
    last = items
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const answers = Array.from({ length: 4 }, async () => {
    items = 0
    return (await busy.request('/v1/threads/a/messages', { headers: WHOLE })).arrayBuffer()
  })
  await Promise.all(answers)
  clearImmediate(next)
  // Four items make a part, and one account makes two parts at a time.
  assert.ok(most <= 2 * 4, `${most} items in one of ${turns} turns`)
})

test('a change is answered whatever is unread, and then no further one is begun', async () => {
  sends = 0
  const post = 'POST /v1/inboxes HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2'
  for (let asked = 0; asked < 3; asked += 1) {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(`${post}\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n{}`)
    await once(socket, 'readable')
    assert.match(String(socket.read(12)), /^HTTP\/1\.1 2/)
  }
  const refused = await server.request('/v1/inboxes', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(refused.status, 503)
  assert.equal(sends, 3)
  await letGo()
})

test('a client that reads nothing is cut, even during a list without an end', async () => {
  await using impatient = await openTestServer({
    patience: { requestMs: 10_000, headMs: 5_000, idleMs: IDLE_MS },
    answers,
  })
  const cut: Promise<unknown>[] = []
  // Checked at the service, because clients that read nothing do not notice.
  impatient.app.server.on('connection', (socket) => cut.push(once(socket, 'close')))
  await leaveUnread(`GET ${LIST}`, { port: impatient.port })
  await leaveUnread('GET /v1/threads/a/messages', { port: impatient.port })
  assert.equal(cut.length, 2)
  await Promise.all(cut)
})

test('an answer for a client that has left takes no room', async () => {
  // More than there is room for, and more than are processed at once for one account.
  for (let asked = 0; asked < 5; asked += 1) {
    called = Promise.withResolvers()
    const answered = new Promise((resolve) => {
      server.app.server.once('request', (_request, response) => response.once('close', resolve))
    })
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    socket.write(
      `GET /v1/sandbox/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`,
    )
    await called.promise
    socket.destroy()
    await answered
  }
  // The slot of the last one is freed with its answer.
  assert.equal((await server.request('/v1/pods')).status, 200)
  assert.equal(await readAll(LIST), 200)
})

test('callers without a key have room of their own', async () => {
  const large = await openTestServer({
    answers: {
      'service.health': async () => ({ status: LARGE as never }),
    },
  })
  const address = { port: large.port, host: '127.0.0.1' }
  const own = connect(address)
  own.on('error', () => {})
  own.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(own, 'readable')
  // One more than the 16 MiB of an address.
  assert.match(String(own.read(12)), /^HTTP\/1\.1 503/)
  own.destroy()
  assert.equal((await large.request('/v1/pods')).status, 200)
  await large.close(0)
})
