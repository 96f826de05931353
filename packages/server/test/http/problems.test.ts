import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { errorCodes } from '@mailroom/contract/error-codes.ts'
import type { RequestSeen } from '#api/server.ts'
import { problemOf } from '#http/problems.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { AppError } from '#platform/problem.ts'
import {
  errorOf,
  GOOD_KEY,
  keepingLog,
  OPERATOR_TOKEN,
  openTestServer,
} from '#test/http/test-server.ts'
import { exchange } from '#test/http/wire.ts'

test('every code of the vocabulary is answered with its status', () => {
  for (const [code, { status }] of Object.entries(errorCodes)) {
    const problem = problemOf(new AppError(code, 'What happened.'), 'req_1')
    assert.equal(problem.status, status)
    assert.equal(problem.body.error, code)
    assert.equal(problem.body.message, 'What happened.')
    assert.equal(problem.body.requestId, 'req_1')
    assert.equal(problem.headers['retry-after'] !== undefined, status === 429 || status === 503)
    assert.equal(problem.isOurs, status === 500)
  }
})

test('an error may carry its own fix, details, fields and time to wait', () => {
  const error = new AppError('recipient_suppressed', 'No.', {
    fix: 'Ask somebody else.',
    details: [{ path: 'to', message: 'is suppressed' }],
    fields: { type: 'bounce', address: 'a@b.example' },
  })
  assert.deepEqual(problemOf(error, 'req_1').body, {
    error: 'recipient_suppressed',
    message: 'No.',
    requestId: 'req_1',
    fix: 'Ask somebody else.',
    details: [{ path: 'to', message: 'is suppressed' }],
    type: 'bounce',
    address: 'a@b.example',
  })
  const limited = new AppError('rate_limit_exceeded', 'Wait.', { retryAfterSeconds: 12.2 })
  assert.equal(problemOf(limited, 'req_1').headers['retry-after'], '13')
})

const surprises: [string, unknown][] = [
  ['an exception', new Error('SELECT secret FROM accounts')],
  ['an AppError with a code that is not public', new AppError('secret_code', 'secret')],
  ['an exception that claims a status', Object.assign(new Error('secret'), { statusCode: 418 })],
  ['a code that is a name of every object', Object.assign(new Error('x'), { code: 'toString' })],
  ['text', 'secret'],
  ['nothing', undefined],
]

for (const [name, thrown] of surprises) {
  test(`${name} is 500 internal_error without any detail`, () => {
    const { status, body, isOurs } = problemOf(thrown, 'req_1')
    assert.equal(status, 500)
    assert.equal(isOurs, true)
    assert.deepEqual(body, {
      error: 'internal_error',
      message: errorCodes.internal_error.sentence,
      requestId: 'req_1',
      fix: errorCodes.internal_error.fix,
    })
  })
}

test('a store in trouble is 503 service_unavailable without any detail of its error', () => {
  for (const thrown of [
    Object.assign(new Error('secret'), { code: 'ECONNRESET' }),
    new StorageError('unavailable', 'secret'),
  ]) {
    const { status, body, isOurs, headers } = problemOf(thrown, 'req_1')
    assert.deepEqual([status, isOurs, headers['retry-after']], [503, false, '2'])
    assert.equal(body.message, 'The storage of the service cannot be reached; nothing was changed.')
  }
})

test('an internal error is logged with its cause and the id that the client got', async () => {
  const { log, lines } = keepingLog()
  const cause = new Error('disk on fire')
  const server = await openTestServer({
    log,
    answers: {
      'pods.get': () => {
        throw new Error('unexpected', { cause })
      },
      'pods.delete': () => {
        throw new AppError('not_found', 'No.')
      },
    },
  })
  const response = await server.request('/v1/pods/pod_1')
  const body = await errorOf(response)
  await server.request('/v1/pods/pod_1', { method: 'DELETE' })
  await server.close(0)
  assert.equal(response.status, 500)
  assert.doesNotMatch(JSON.stringify(body), /unexpected|fire/)
  assert.equal(lines.length, 1)
  const [line] = lines
  assert.equal(line?.level, 'error')
  assert.equal(line?.fields.requestId, body.requestId)
  assert.equal(line?.fields.operationId, 'pods.get')
  assert.ok(line?.fields.error instanceof Error && line.fields.error.cause === cause)
})

test('bytes, text and streams are sent unchanged', async () => {
  const contents = [
    new Uint8Array([1, 2, 3]),
    '\x01\x02\x03',
    { stream: Readable.from([Buffer.from([1, 2, 3])]), holdsBytes: 0 },
  ]
  for (const content of contents) {
    const server = await openTestServer({
      answers: {
        'messages.raw': () => ({ headers: { 'content-type': 'message/rfc822' }, content }),
      },
    })
    const response = await server.request('/v1/messages/msg_1/raw')
    assert.equal(response.headers.get('content-type'), 'message/rfc822')
    assert.deepEqual(new Uint8Array(await response.arrayBuffer()), new Uint8Array([1, 2, 3]))
    await server.close(0)
  }
})

test('a file may have another status and no content', async () => {
  const headers = { etag: '"a"' }
  const server = await openTestServer({
    answers: { 'attachments.get': () => ({ status: 304, headers, content: null }) },
  })
  const response = await server.request('/v1/attachments/msg_1/a.pdf')
  assert.equal(response.status, 304)
  assert.equal(response.headers.get('etag'), '"a"')
  await server.close(0)
})

for (const encoding of ['identity', 'gzip']) {
  test(`a list in ${encoding} that fails midway is cut, and the cause is in the log`, () =>
    breakOff(encoding))
}

async function breakOff(encoding: string): Promise<void> {
  const { log, lines } = keepingLog()
  // Enough that the head is sent before the list fails, in any encoding.
  const text = randomBytes(400_000).toString('base64')
  const error = new Error('the database went away')
  const headSent = Promise.withResolvers<void>()
  const items = async function* () {
    yield { id: 'msg_1', text }
    await headSent.promise
    throw error
  }
  const server = await openTestServer({
    log,
    answers: { 'messages.list': () => ({ data: items(), total: 2 }) as never },
  })
  const headers = { 'accept-encoding': encoding }
  const response = await server.request('/v1/inboxes/inb_1/messages', { headers })
  headSent.resolve()
  assert.equal(response.status, 200)
  await assert.rejects(response.text())
  await server.close(0)
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [
      [
        'error',
        { requestId: response.headers.get('x-request-id'), operationId: 'messages.list', error },
      ],
    ],
  )
}

test('a client that leaves during a list causes no error', async () => {
  const { log, lines } = keepingLog()
  const left = Promise.withResolvers<void>()
  const items = async function* () {
    try {
      for (;;) yield { text: 'x'.repeat(100_000) }
    } finally {
      left.resolve()
    }
  }
  const server = await openTestServer({
    log,
    answers: { 'messages.list': () => ({ data: items(), total: 2 }) as never },
  })
  const response = await server.request('/v1/inboxes/inb_1/messages')
  await response.body?.cancel()
  await left.promise
  await server.close(0)
  assert.deepEqual(lines, [])
})

test('resources held for an answer are released when it is sent, and when the client leaves', async () => {
  let released = Promise.withResolvers<void>()
  const server = await openTestServer({
    patience: { requestMs: 20_000, headMs: 20_000, idleMs: 100 },
    answers: {
      'messages.raw': ({ path }) => ({
        headers: {},
        content: new Uint8Array(path.id === 'large' ? 30_000_000 : 10),
        release: () => released.resolve(),
      }),
    },
  })
  await (await server.request('/v1/messages/small/raw')).arrayBuffer()
  await released.promise
  released = Promise.withResolvers()
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.write(
    `GET /v1/messages/large/raw HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`,
  )
  socket.pause()
  await released.promise
  socket.destroy()
  await server.close(0)
})

const malformed: [string, string, number, string][] = [
  ['nonsense', 'nonsense\r\n\r\n', 400, 'bad_request'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00', 400, 'bad_request'],
  ['no Host', 'GET /health HTTP/1.1\r\n\r\n', 400, 'bad_request'],
  ['two Hosts', 'GET /health HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', 400, 'bad_request'],
  [
    'two credentials',
    `GET /v1/pods HTTP/1.1\r\nHost: a\r\n${`Authorization: Bearer ${GOOD_KEY}\r\n`.repeat(2)}\r\n`,
    400,
    'bad_request',
  ],
  [
    'two credentials for a WebSocket',
    [
      'GET /v1/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n',
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
      `${`Authorization: Bearer ${GOOD_KEY}\r\n`.repeat(2)}\r\n`,
    ].join(''),
    400,
    'bad_request',
  ],
  [
    'both a length and chunks',
    'POST /v1/pods HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    'bad_request',
  ],
  [
    'headers that are too large',
    `GET /health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
    431,
    'header_fields_too_large',
  ],
]

for (const [name, text, status, code] of malformed) {
  test(`HTTP with ${name} gets ${status} in the form of an error`, async () => {
    const server = await openTestServer()
    const answer = await exchange(server.port, text)
    await server.close(0)
    assert.equal(answer.status, status, answer.raw)
    const body = JSON.parse(answer.body)
    assert.equal(body.error, code)
    assert.equal(typeof body.message, 'string')
    assert.equal(body.requestId, answer.headers.get('x-request-id'))
  })
}

test('the error about invalid HTTP names the rule that was broken', async () => {
  const server = await openTestServer()
  for (const [text, rule] of [
    ['FOO / HTTP/1.1\r\n\r\n', 'method'],
    ['GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n', 'header value'],
    [
      'POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      'Content-Length',
    ],
  ] as const) {
    const { message } = JSON.parse((await exchange(server.port, text)).body)
    assert.match(message, new RegExp(`^The request is not well-formed HTTP: .*${rule}`))
  }
  await server.close(0)
})

test('invalid HTTP after an answer gets an error, and before it none', async () => {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = await openTestServer({
    answers: {
      'service.ready': async () => {
        entered.resolve()
        await released.promise
        return { status: 'ready' }
      },
    },
  })
  const rawOf = async (path: string, meanwhile: () => Promise<void>) => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    let raw = ''
    socket.on('data', (chunk) => {
      raw += chunk.toString()
    })
    socket.on('error', () => {})
    const closed = once(socket, 'close')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await meanwhile()
    if (path === '/health') await once(socket, 'data')
    socket.write('nonsense\r\n\r\n')
    await closed
    return raw.match(/HTTP\/1\.1 \d+/g)
  }
  assert.deepEqual(await rawOf('/health', async () => {}), ['HTTP/1.1 200', 'HTTP/1.1 400'])
  assert.equal(await rawOf('/ready', () => entered.promise), null)
  released.resolve()
  await server.close(0)
})

test('an unknown expectation is ignored', async () => {
  const server = await openTestServer()
  const text = 'GET /health HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n'
  const { status } = await exchange(server.port, text)
  await server.close(0)
  assert.equal(status, 200)
})

test('each request is recorded once with its route, never with its path', async () => {
  const seen: RequestSeen[] = []
  const server = await openTestServer({ onRequest: (request) => seen.push(request) })
  await server.request('/v1/pods/secret')
  await server.request('/v1/secret')
  await server.request('/v1/pods/%ff')
  await server.request('/metrics', { token: OPERATOR_TOKEN })
  await server.close(1_000)
  assert.deepEqual(
    seen.map(({ route, method, status }) => [method, route, status]),
    [
      ['GET', '/v1/pods/{idOrClientId}', 200],
      ['GET', 'unknown', 404],
      ['GET', '/metrics', 200],
    ],
  )
  assert.ok(seen.every(({ durationMs }) => durationMs >= 0))
})

test('the fix of a bad_request names what to add, remove or correct', async () => {
  await using server = await openTestServer()
  const fixOf = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const { fix, message } = await errorOf(await server.request(path, init))
    return { fix, message }
  }
  const missing = await fixOf('/v1/domains', {})
  assert.equal(missing.fix, 'Add the field "domain".')
  const unknown = await fixOf('/v1/domains', { domain: 'a.example', domian: 'a.example' })
  assert.equal(unknown.fix, 'Remove the field "domian", or correct its name.')
  const wrong = await fixOf('/v1/domains', { domain: 3 })
  assert.equal(wrong.fix, 'Correct the field "domain", and send the request again.')
  const several = await fixOf('/v1/domains', { domian: 'a.example' })
  assert.match(String(several.message), / \(and 1 more error\)\.$/)
  assert.equal(several.fix, 'Use "domain" instead of "domian".')
  const both = await fixOf('/v1/domains', { domain: 3, colour: 1 })
  assert.equal(both.fix, 'Correct the errors in details, and send the request again.')
})
