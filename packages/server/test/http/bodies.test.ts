import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { JSON_BODY_BYTES_MAX } from '#http/collect-body.ts'
import { errorOf, GOOD_KEY, openTestServer, type TestServer } from '#test/http/test-server.ts'
import { exchange } from '#test/http/wire.ts'

let server: TestServer
before(async () => {
  server = await openTestServer()
})
after(() => server.close(0))

const JSON_TYPE = { 'content-type': 'application/json' }

function post(
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = JSON_TYPE,
) {
  return server.request(path, { method: 'POST', body, headers })
}

async function assertError(response: Response, status: number, code: string) {
  const body = await errorOf(response)
  assert.equal(response.status, status, JSON.stringify(body))
  assert.equal(body.error, code)
  assert.equal(typeof body.message, 'string')
  assert.equal(body.requestId, response.headers.get('x-request-id'))
  return body
}

test('other content types are 415 unsupported_media_type', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'x']) {
    const response = await post('/v1/pods', '{}', { 'content-type': type })
    await assertError(response, 415, 'unsupported_media_type')
  }
})

test('a compressed body is 415 unsupported_media_type', async () => {
  const response = await post('/v1/pods', '{}', { ...JSON_TYPE, 'content-encoding': 'gzip' })
  await assertError(response, 415, 'unsupported_media_type')
})

test('a parameter of the content type changes nothing', async () => {
  const response = await post('/v1/pods', '{}', {
    'content-type': 'Application/JSON; charset="UTF-8"',
  })
  assert.equal(response.status, 201)
})

test('JSON with another charset than UTF-8 is 415 unsupported_media_type', async () => {
  for (const charset of ['utf-16', '"UTF-16LE"', 'iso-8859-1']) {
    const type = `application/json; x=y; charset=${charset}`
    const response = await post('/v1/pods', '{}', { 'content-type': type })
    await assertError(response, 415, 'unsupported_media_type')
  }
  for (const charset of ['utf-8', 'utf8', 'us-ascii']) {
    const type = `application/json;charset=${charset}`
    const response = await post('/v1/pods', '{}', { 'content-type': type })
    assert.equal(response.status, 201)
    await response.arrayBuffer()
  }
})

test('a display name may not hold characters that change the direction of writing', async () => {
  for (const mark of ['\u202a', '\u202e', '\u2066', '\u2069']) {
    const body = JSON.stringify({ displayName: `Ada${mark}moc.elpmaxe` })
    for (const method of ['POST', 'PATCH']) {
      const path = method === 'POST' ? '/v1/inboxes' : '/v1/inboxes/inb_1'
      const response = await server.request(path, { method, body, headers: JSON_TYPE })
      await assertError(response, 400, 'bad_request')
    }
  }
  const hebrew = await post('/v1/inboxes', '{"displayName":"\u05e9\u05dc\u05d5\u05dd\u200f"}')
  assert.equal(hebrew.status, 201)
})

test('a body of exactly the limit is read, and one byte more is 413 payload_too_large', async () => {
  const padded = (length: number) => '{}'.padEnd(length, ' ')
  assert.equal((await post('/v1/pods', padded(JSON_BODY_BYTES_MAX))).status, 201)
  const response = await post('/v1/pods', padded(JSON_BODY_BYTES_MAX + 1))
  await assertError(response, 413, 'payload_too_large')
})

test('a client that sends far too much can read its 413 and continue', async () => {
  const response = await post('/v1/pods', 'x'.repeat(20 * JSON_BODY_BYTES_MAX))
  await assertError(response, 413, 'payload_too_large')
  assert.equal((await server.request('/v1/pods')).status, 200)
})

test('the connection stays open after a body that was too large', async () => {
  const head = `Host: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n`
  const length = 20 * JSON_BODY_BYTES_MAX
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.write(
    `POST /v1/pods HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  )
  socket.write('x'.repeat(length))
  socket.write(`GET /v1/pods HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)
  let raw = ''
  for await (const chunk of socket) raw += chunk.toString()
  assert.deepEqual(raw.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 413', 'HTTP/1.1 200'])
})

test('a chunked body over the limit is 413 before it ends', async () => {
  const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`
  const head = `POST /v1/pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const { status } = await exchange(server.port, head + chunk.repeat(20))
  assert.equal(status, 413)
})

test('an operation that needs a body says so', async () => {
  for (const headers of [{}, JSON_TYPE]) {
    const response = await server.request('/v1/threads/thr_1', { method: 'PATCH', headers })
    await assertError(response, 400, 'bad_request')
  }
})

test('a body may be missing if nothing in it is required', async () => {
  for (const headers of [{}, JSON_TYPE, { 'content-type': 'text/plain' }]) {
    const response = await server.request('/v1/inboxes', { method: 'POST', headers })
    assert.equal(response.status, 201, JSON.stringify(headers))
    const { input } = (await response.json()) as { input: unknown }
    assert.deepEqual(input, { path: {}, query: {}, body: {} })
  }
})

test('a DELETE may name a content type without a body, or have a body that is ignored', async () => {
  const init = { method: 'DELETE' }
  for (const type of ['application/json', 'text/plain', 'multipart/form-data', 'nonsense/']) {
    const headers = { 'content-type': type }
    const empty = await server.request('/v1/pods/pod_1', { ...init, headers })
    assert.equal(empty.status, 204, type)
  }
  const full = await server.request('/v1/pods/pod_1', {
    ...init,
    headers: JSON_TYPE,
    body: '{"a":',
  })
  assert.equal(full.status, 204)
})

test('a GET may name a content type', async () => {
  assert.equal((await server.request('/v1/pods', { headers: JSON_TYPE })).status, 200)
})

const violations: [string, string, string, string][] = [
  ['POST /v1/pods', '{"name":5}', 'name', 'must be a string'],
  ['POST /v1/pods', '{"unknown":1}', 'unknown', 'is not a known field'],
  ['POST /v1/pods', '{"clientId":""}', 'clientId', 'must not be empty'],
  ['PATCH /v1/pods/p', '{"clientId":7}', 'clientId', 'must be a string or null'],
  ['PATCH /v1/pods/p', '{"isDefault":true}', 'isDefault', 'is not a known field'],
  ['PATCH /v1/threads/t', '{"is_read":"true"}', 'is_read', 'must be true or false'],
  [
    'POST /admin/accounts',
    '{"name":"a","plan":"x"}',
    'plan',
    'must be one of "free", "developer", "launch"',
  ],
]

for (const [route, body, path, message] of violations) {
  test(`${route} with ${body} gets the error that ${path} ${message}`, async () => {
    const [method = '', url = ''] = route.split(' ')
    const token = url.startsWith('/admin') ? 'operator-token-of-the-test' : GOOD_KEY
    const response = await server.request(url, { method, body, headers: JSON_TYPE, token })
    const error = await assertError(response, 400, 'bad_request')
    assert.deepEqual(error.details, [{ path, message }])
    assert.equal(error.message, `The field "${path}" ${message}.`)
  })
}

test('a field without a name is reported as such', async () => {
  const route = { method: 'POST', body: '{"":1}', headers: JSON_TYPE }
  const error = await assertError(await server.request('/v1/pods', route), 400, 'bad_request')
  assert.equal(error.message, 'The request body has a field without a name.')
})

test('a field of another API, or with a typo, is answered with the name of ours', async () => {
  const fixOf = async (path: string, body: object) => {
    const headers = { ...JSON_TYPE, 'idempotency-key': 'once' }
    const response = await post(path, JSON.stringify(body), headers)
    return (await assertError(response, 400, 'bad_request')).fix
  }
  const send = '/v1/inboxes/inb_1/send'
  const migrated = { from: 'a@x.example', to: 'b@x.example', subject: 's', text: 't', html: 'h' }
  assert.equal(
    await fixOf(send, { ...migrated, reply_to: 'c@x.example' }),
    'Remove "from": mail is sent from the inbox in the path, and displayName of the inbox is the name in From. Use "body" instead of "text". Use "bodyHtml" instead of "html". Use "replyTo" instead of "reply_to".',
  )
  assert.equal(
    await fixOf(send, { to: 'b@x.example', subject: 's', html: 'h' }),
    'Use "bodyHtml" instead of "html". Add the field "body".',
  )
  const message = { to: 'b@x.example', body: 't' }
  assert.equal(await fixOf(send, { ...message, subjct: 's' }), 'Use "subject" instead of "subjct".')
  assert.equal(
    await fixOf(send, { ...message, subject: 's', colour: 'red' }),
    'Remove the field "colour", or correct its name.',
  )
  assert.equal(
    await fixOf('/v1/inboxes', { username: 'agent' }),
    'Use "mailboxName" instead of "username".',
  )
})

test('lengths count code points', async () => {
  const displayName = (length: number) => JSON.stringify({ displayName: '😀'.repeat(length) })
  assert.equal((await post('/v1/inboxes', displayName(200))).status, 201)
  await assertError(await post('/v1/inboxes', displayName(201)), 400, 'bad_request')
})

test('a name may not contain a character that ends a line', async () => {
  for (const character of ['\r\n', '\n', '\r', '\u2028', '\u0085', '\u007f', '\t']) {
    for (const [path, field] of [
      ['/v1/inboxes', 'displayName'],
      ['/v1/pods', 'name'],
      ['/v1/pods', 'clientId'],
      ['/v1/api-keys', 'name'],
    ] as const) {
      const response = await post(path, JSON.stringify({ [field]: `a${character}X-Evil: 1` }))
      await assertError(response, 400, 'bad_request')
    }
  }
})

test('a clientId may not look like a pod id, contain a slash or be dot segments', async () => {
  for (const clientId of ['pod_01kac2jt3vfj9s0ycrbmc65jvq', 'a/b', '.', '..']) {
    await assertError(await post('/v1/pods', JSON.stringify({ clientId })), 400, 'bad_request')
  }
  for (const clientId of ['pod_1', 'tenant-1', 'ünï cödé', '...']) {
    assert.equal((await post('/v1/pods', JSON.stringify({ clientId }))).status, 201)
  }
})

test('a body with thousands of faults gets a short answer', async () => {
  const names = Array.from({ length: 9_000 }, (_, index) => `"unknown${index}":1`)
  const response = await post('/v1/pods', `{${names.join(',')}}`)
  const { details } = await assertError(response, 400, 'bad_request')
  assert.ok(Array.isArray(details) && details.length === 20)
})
