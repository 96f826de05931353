import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { GOOD_KEY, openTestServer, type TestServer } from '#test/http/test-server.ts'
import { readAnswer, type WireAnswer } from '#test/http/wire.ts'

const PATIENCE = { requestMs: 1_200, headMs: 600 }
/** The time by which the server must have closed: the longer limit and a margin for a busy machine. */
const CUT_MS = PATIENCE.requestMs + 20_000

let server: TestServer
before(async () => {
  server = await openTestServer({ patience: PATIENCE })
})
after(() => server.close(0))

async function open(): Promise<Socket> {
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Sends `text` a few bytes at a time until the server answers; fails when it waits too long. */
async function drip(text: string, first = ''): Promise<WireAnswer & { closed: Promise<unknown> }> {
  const socket = await open()
  const closed = once(socket, 'close')
  let isAnswered = false
  const answer = readAnswer(socket).finally(() => {
    isAnswered = true
  })
  socket.write(first)
  const startMs = performance.now()
  let at = 0
  for await (const _ of every(20)) {
    if (isAnswered) break
    assert.ok(performance.now() - startMs < CUT_MS, 'the server waited too long')
    socket.write(text[at++ % text.length] ?? '')
  }
  return { ...(await answer), closed }
}

const HEAD = `POST /v1/pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\nContent-Type: application/json\r\n`

describe('within the limits of time', { concurrency: true }, () => {
  test('slow headers are cut with 408 in the form of an error', async () => {
    const { status, body, closed } = await drip(
      'GET /v1/pods HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaa',
    )
    assert.equal(status, 408)
    assert.equal(JSON.parse(body).error, 'request_timeout')
    await closed
  })

  test('a silent connection is cut', async () => {
    const socket = await open()
    await once(socket.resume(), 'close', { signal: AbortSignal.timeout(CUT_MS) })
  })

  test('a slow body is cut with 408', async () => {
    const { status, body, closed } = await drip(' ', `${HEAD}Content-Length: 100000\r\n\r\n`)
    assert.equal(status, 408)
    assert.equal(JSON.parse(body).error, 'request_timeout')
    await closed
  })

  test('chunks without an end are cut with 408', async () => {
    const { status, closed } = await drip('1\r\n \r\n', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
    assert.equal(status, 408)
    await closed
  })

  for (const path of ['/v1/pods', '/v1/inboxes/inb_none/imports']) {
    test(`the body of a refused request to ${path} gets no additional time, and no second answer`, async () => {
      const socket = await open()
      let raw = ''
      socket.on('data', (chunk) => {
        raw += chunk.toString()
      })
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n`)
      await once(socket, 'close', { signal: AbortSignal.timeout(CUT_MS) })
      assert.match(raw, /^HTTP\/1\.1 401 /)
      assert.equal(raw.match(/HTTP\/1\.1/g)?.length, 1)
    })
  }

  test('a request that came while the whole process paused is answered, although its connection was idle for long', async () => {
    const own = await openTestServer()
    const idleMs = 100
    Object.assign(own.app.server, { keepAliveTimeout: idleMs, keepAliveTimeoutBuffer: 0 })
    const socket = connect({ port: own.port, host: '127.0.0.1' })
    const get = `GET /v1/pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`
    socket.write(get)
    assert.equal((await readAnswer(socket)).status, 200)
    socket.write(get)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * idleMs)
    assert.equal((await readAnswer(socket)).status, 200)
    await once(socket, 'close', { signal: AbortSignal.timeout(CUT_MS) })
    await own.close(0)
  })

  test('a client whose body nobody has read yet sees its 408 and an orderly end', async () => {
    const waiting = Promise.withResolvers<null>()
    const own = await openTestServer({ patience: PATIENCE, authenticate: () => waiting.promise })
    const socket = connect({ port: own.port, host: '127.0.0.1' })
    const failed = once(socket, 'error').then(([error]) => assert.fail(error))
    const length = 20 * 1024 * 1024
    socket.write(`${HEAD}Content-Length: ${2 * length}\r\n\r\n`)
    socket.write(Buffer.alloc(length, ' '))
    const ended = once(socket, 'end')
    assert.equal((await Promise.race([failed, readAnswer(socket)])).status, 408)
    await Promise.race([failed, ended])
    waiting.resolve(null)
    await own.close(0)
  })

  test('hundreds of slow and idle clients do not delay a fast one', async () => {
    const sockets = await Promise.all(Array.from({ length: 300 }, open))
    for (const [index, socket] of sockets.entries()) {
      socket.write(
        index % 2 === 0 ? 'GET /health HTTP/1.1\r\nX: ' : `${HEAD}Content-Length: 9\r\n\r\n`,
      )
    }
    const startMs = performance.now()
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await server.request('/v1/pods')).status, 200)
    }
    assert.ok(performance.now() - startMs < 30_000)
    for (const socket of sockets) socket.destroy()
  })
})

const CONNECTIONS_MAX = 20

for (const [what, text] of [
  ['say nothing', ''],
  ['begin a request', 'GET /v1/pods HTTP/1.1\r\n'],
] as const) {
  test(`connections of one address that ${what} leave room for others`, async () => {
    await using small = await openTestServer({ connectionsMax: CONNECTIONS_MAX })
    const { port } = small
    const sockets: Socket[] = []
    let closed = 0
    for (let count = 0; count < 2 * CONNECTIONS_MAX; count += 1) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
      socket.on('error', () => {}).on('close', () => (closed += 1))
      await once(socket, 'connect')
      socket.write(text)
      sockets.push(socket)
    }
    while (closed < CONNECTIONS_MAX) await new Promise((resolve) => setTimeout(resolve, 10))
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => (await small.request('/v1/pods')).status),
    )
    assert.deepEqual(answers, [200, 200, 200, 200, 200])
    for (const socket of sockets) socket.destroy()
  })
}
