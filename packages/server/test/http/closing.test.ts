import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { GOOD_KEY, openTestServer } from '#test/http/test-server.ts'
import { readAnswer } from '#test/http/wire.ts'

const GET = `GET /v1/pods/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`

/** A server whose `pods.get` waits until it is released. */
async function openSlowDoor() {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = await openTestServer({
    answers: {
      'pods.get': async () => {
        entered.resolve()
        await released.promise
        const createdAt = '2026-01-01T00:00:00.000Z'
        return {
          id: 'pod_1',
          clientId: null,
          name: null,
          retentionDays: null,
          isDefault: false,
          createdAt,
        }
      },
    },
  })
  return { server, entered: entered.promise, release: () => released.resolve() }
}

async function open(port: number) {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

test('a pending request is answered, and its connection is closed after it', async () => {
  const { server, entered, release } = await openSlowDoor()
  const socket = await open(server.port)
  socket.write(GET)
  await entered
  const closed = server.close(5_000)
  const answer = readAnswer(socket)
  release()
  const { status, headers } = await answer
  assert.equal(status, 200)
  assert.equal(headers.get('connection'), 'close')
  await closed
})

test('an idle connection does not delay the end', async () => {
  const server = await openTestServer()
  const socket = await open(server.port)
  socket.write(GET)
  await readAnswer(socket)
  const startMs = performance.now()
  await server.close(60_000)
  assert.ok(performance.now() - startMs < 20_000)
})

test('a connection without a request does not delay the end', async () => {
  const server = await openTestServer()
  const socket = await open(server.port)
  const cut = once(socket, 'close')
  const startMs = performance.now()
  await server.close(60_000)
  assert.ok(performance.now() - startMs < 20_000)
  await cut
})

test('connections that remain after the time to drain are cut', async () => {
  const { server, entered, release } = await openSlowDoor()
  const socket = await open(server.port)
  socket.write(GET)
  await entered
  await server.close(50)
  assert.equal((await readAnswer(socket)).status, 0)
  release()
})

test('closing twice waits for the same end', async () => {
  const server = await openTestServer()
  await Promise.all([server.close(100), server.close(100)])
  await assert.rejects(fetch(`${server.address}/health`))
})

test('a request that is complete only after the close is 503 in the form of an error', async () => {
  const { server, entered, release } = await openSlowDoor()
  const late = await open(server.port)
  late.write(GET.slice(0, 20))
  const early = await open(server.port)
  early.write(GET)
  await entered
  const closed = server.close(5_000)
  late.write(GET.slice(20))
  const { status, body, headers } = await readAnswer(late)
  assert.equal(status, 503)
  assert.equal(JSON.parse(body).error, 'service_unavailable')
  assert.match(headers.get('retry-after') ?? '', /^[1-9]/)
  release()
  await closed
})

test('a client that still sends when the server closes sees its 503 and an orderly end', async () => {
  const { server, entered, release } = await openSlowDoor()
  const late = await open(server.port)
  late.write('POST /v1/pods HTTP/1.1\r\nHost: a\r\n')
  const early = await open(server.port)
  early.write(GET)
  await entered
  const failed = once(late, 'error').then(([error]) => assert.fail(error))
  const closed = server.close(20_000)
  const length = 20 * 1024 * 1024
  late.write(`Content-Length: ${length}\r\nContent-Type: application/json\r\n\r\n`)
  late.write(Buffer.alloc(length))
  const ended = once(late, 'end')
  assert.equal((await Promise.race([failed, readAnswer(late)])).status, 503)
  await Promise.race([failed, ended])
  release()
  await closed
})

test('opening at a port in use rejects', async () => {
  const server = await openTestServer()
  await assert.rejects(openTestServer({ port: server.port }), { code: 'EADDRINUSE' })
  await server.close(0)
})
