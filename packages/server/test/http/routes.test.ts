import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { PATH_PARAMETER_LENGTH_MAX } from '#api/server.ts'
import { DAY_MS } from '#platform/units.ts'
import {
  errorOf,
  GOOD_KEY,
  GOOD_SESSION,
  openTestServer,
  type TestServer,
  tokenFor,
} from '#test/http/test-server.ts'
import { exchange } from '#test/http/wire.ts'

let server: TestServer
before(async () => {
  server = await openTestServer()
})
after(() => server.close(0))

const JSON_TYPE = { 'content-type': 'application/json' }

/** Bodies of operations that require one. */
const bodies: Record<string, string> = {
  'threads.update': '{"is_read":true}',
  'threads.claim': '{"owner":"a","leaseSeconds":60}',
  'inboxes.claimThreads': '{"owner":"a","leaseSeconds":60}',
  'admin.accounts.create': '{"name":"a","plan":"free"}',
  'inboxes.sendBatch': '{"items":[]}',
  'messages.forward': '{"to":"a@b.example"}',
  'messages.rsvp': '{"response":"accepted"}',
  'inboxes.checkSend': '{"to":"a@b.example","subject":"a","body":"b"}',
  'drafts.addAttachment': '{"filename":"a","contentType":"text/plain","data":""}',
  'inboxes.send': '{"to":"a@b.example","subject":"a","body":"b"}',
  'suppressions.create': '{"address":"a@b.example"}',
  'senderRules.create': '{"type":"block","value":"b.example"}',
  'policy.createRule': '{"direction":"inbound","type":"block","value":"b.example"}',
  'account.update': '{"filterMode":"none"}',
  'exports.create': '{"inboxId":"x","format":"mbox"}',
  'erasures.create': '{"address":"a@b.example"}',
  'approvers.create': '{"name":"a"}',
  'connections.createClient': '{"name":"a","redirectUris":["https://a.example/"]}',
  'reviews.approve': '{"digest":"a"}',
  'reviews.edit': '{"digest":"a"}',
  'reviews.comment': '{"text":"a"}',
  'account.sendFeedback': '{"type":"bug","message":"a"}',
  'policy.setMode': '{"mode":"none","direction":"inbound"}',
  'reviews.approveMany': '{"items":[{"id":"a","digest":"b"}]}',
  'domains.create': '{"domain":"a.example"}',
  'domains.update': '{"podId":null}',
  'uploads.createLink': '{"filename":"a"}',
  'webhooks.create': '{"url":"https://a.example/"}',
  'session.create': '{"apiKey":"a"}',
  'pairing.poll': '{"requestId":"a"}',
  'sandbox.receive': '{"from":"a@b.example","to":"c@d.example","subject":"e"}',
}

/** Queries of operations that require one. */
const queries: Record<string, string> = {
  'pairing.pollByUrl': '?requestId=x',
  'inboxes.search': '?q=x',
  'messages.search': '?q=x',
}

for (const id of operationIds) {
  const operation = operationOf(id)
  test(`${operation.method} ${operation.path} answers with the success of ${id}`, async () => {
    const { method, body } = operation
    const key = operation.needsIdempotencyKey ? { 'idempotency-key': 'k' } : {}
    const path = operation.path.replaceAll(/\{\w+\}/g, 'x') + (queries[id] ?? '')
    const session = operation.auth === 'session' ? GOOD_SESSION : {}
    const response = await server.request(path, {
      method,
      token: tokenFor(operation),
      ...(body ? { body: bodies[id] ?? '{}' } : {}),
      headers: { ...(body ? JSON_TYPE : {}), ...key, ...session },
    })
    assert.equal(response.status, operation.success.status)
    assert.match(response.headers.get('x-request-id') ?? '', /^req_\d+$/)
    assert.equal(response.headers.has('ratelimit-limit'), operation.isRateLimited)
    await response.arrayBuffer()
  })
}

test('a handler gets path, query and context', async () => {
  const response = await server.request('/v1/inboxes/inb%2F1%20/threads?is_read=false&limit=500')
  const { input, context } = (await response.json()) as Record<string, Record<string, unknown>>
  assert.deepEqual(input, {
    path: { id: 'inb/1 ' },
    query: { is_read: false, limit: 100, offset: 0 },
  })
  assert.equal(context?.accountId, 'acc_1')
  assert.equal(context?.keyId, 'key_1')
  assert.doesNotMatch(JSON.stringify(context), new RegExp(GOOD_KEY))
  assert.equal(context?.clientAddress, '127.0.0.1')
  assert.equal(context?.requestId, response.headers.get('x-request-id'))
})

const badQueries = ['is_read=1', 'is_read=TRUE', 'is_read=', 'limit=ten', 'limit=1e1', 'limit=%205']

for (const query of badQueries) {
  test(`?${query} is 400 bad_request and names the parameter`, async () => {
    const response = await server.request(`/v1/inboxes/inb_1/threads?${query}`)
    const body = await errorOf(response)
    assert.equal(response.status, 400)
    assert.equal(body.error, 'bad_request')
    const name = query.split('=')[0]
    assert.match(String(body.message), new RegExp(`^The query parameter "${name}" must `))
  })
}

test('a parameter of one value that is given twice is reported as such', async () => {
  for (const query of ['limit=1&limit=2', 'assignee=a&assignee=a', 'metadata.a=1&metadata.a=2']) {
    const body = await errorOf(await server.request(`/v1/inboxes/inb_1/threads?${query}`))
    assert.equal(body.error, 'bad_request')
    const name = query.split(/[=.]/)[0]
    assert.equal(body.message, `The query parameter "${name}" is given more than once.`)
  }
})

test('a page beyond every list is requested with a number that databases accept', async () => {
  const response = await server.request(`/v1/pods?limit=${'9'.repeat(30)}&offset=${'9'.repeat(30)}`)
  const { input } = (await response.json()) as { input: { query: unknown } }
  assert.deepEqual(input.query, { limit: 100, offset: Number.MAX_SAFE_INTEGER })
})

test('probes, crawlers and researchers find what they expect of any web server', async () => {
  const text = async (path: string) => {
    const response = await server.request(path, { token: null })
    assert.equal(response.status, 200, path)
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain/)
    return response.text()
  }
  assert.equal(await text('/healthz'), 'ok\n')
  assert.match(await text('/robots.txt'), /^Disallow: \/$/m)
  const security = await text('/.well-known/security.txt')
  assert.match(security, /^Contact: mailto:postmaster@mailroom\.example$/m)
  const [, expires = ''] = /^Expires: (.*)$/m.exec(security) ?? []
  const days = (Date.parse(expires) - Date.now()) / DAY_MS
  assert.ok(days > 30 && days < 365, expires)
  const refused = await server.request('/healthz', { method: 'POST', token: null })
  assert.equal(refused.status, 405)
  await refused.arrayBuffer()
})

test('a probe is answered before the service has started', async () => {
  await using starting = await openTestServer({ started: new Promise(() => {}) })
  const response = await starting.request('/healthz', { token: null })
  assert.equal(await response.text(), 'ok\n')
})

const missing = [
  '/',
  '/v1',
  '/v1/',
  '/v1/pods/',
  '/v1/pods/a/b',
  '/V1/pods',
  '/v1/unknown',
  '/v1/attachments/msg_1',
  '/v1/attachments/msg_1/..%2f..%2fetc%2fpasswd/x',
  '/v1/pods/%00',
  '/v1/pods/%ff',
  '/v1/pods/%',
  '/v2/pods',
]

for (const path of missing) {
  test(`${path} is 404 not_found`, async () => {
    const { status, body, headers } = await exchange(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`,
    )
    assert.equal(status, 404)
    const error = JSON.parse(body)
    assert.equal(error.error, 'not_found')
    assert.equal(error.requestId, headers.get('x-request-id'))
  })
}

test('an address in a query is one address, and an unescaped plus sign is reported', async () => {
  const none = await errorOf(await server.request('/v1/suppressions?address='))
  assert.deepEqual(none.details, [{ path: 'address', message: 'must not be empty' }])
  const plus = await server.request('/v1/suppressions?address=a+b@c.com')
  assert.equal(plus.status, 400)
  const { details } = await errorOf(plus)
  const [detail] = details as { path: string; message: string }[]
  assert.equal(detail?.path, 'address')
  assert.match(String(detail?.message), /%2B/)
  const escaped = await server.request('/v1/suppressions?address=a%2Bb@c.com')
  assert.equal(escaped.status, 200)
  await escaped.arrayBuffer()
})

test('an unknown route is 404 whatever the request', async () => {
  const headers = { 'content-type': 'text/plain' }
  const init = { method: 'POST', body: 'x', headers, token: null }
  const response = await server.request('/v1/unknown', init)
  assert.equal(response.status, 404)
})

test('HEAD answers like GET without a body', async () => {
  const head = await server.request('/health', { method: 'HEAD', token: null })
  assert.equal(head.status, 200)
  assert.equal(await head.text(), '')
  assert.equal((await server.request('/v1/pods', { method: 'HEAD', token: null })).status, 401)
})

test('HEAD of a list that is streamed reads none of the items', async () => {
  let itemsRead = 0
  const items = async function* () {
    itemsRead += 1
    yield { id: 'msg_1' }
  }
  const streaming = await openTestServer({
    answers: { 'messages.list': () => ({ data: items(), total: 1 }) as never },
  })
  const path = '/v1/inboxes/inb_1/messages'
  const head = await streaming.request(path, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(head.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(await head.text(), '')
  assert.equal(itemsRead, 0)
  const whole = await streaming.request(path)
  assert.deepEqual(await whole.json(), { total: 1, data: [{ id: 'msg_1' }] })
  assert.equal(itemsRead, 1)
  await streaming.close(0)
})

test('HEAD states the length of a complete list, and of a file', async () => {
  for (const path of ['/v1/pods', '/v1/messages/msg_1/raw', '/openapi.json']) {
    const headers = { 'accept-encoding': 'identity' }
    const head = await server.request(path, { method: 'HEAD', headers })
    const { length } = Buffer.from(await (await server.request(path, { headers })).arrayBuffer())
    assert.equal(await head.text(), '')
    // The echo of /v1/pods contains the request's own headers and id, which differ in length.
    const told = Number(head.headers.get('content-length'))
    assert.ok(path === '/v1/pods' ? told > 0 : told === length, path)
  }
})

test('HEAD asks a handler for no range and no content', async () => {
  const seen: unknown[] = []
  const asking = await openTestServer({
    answers: {
      'attachments.get': (_input, { headers, wantsContent }) => {
        seen.push([headers.range, wantsContent])
        return { headers: { 'content-length': '7' }, content: null }
      },
    },
  })
  const path = '/v1/attachments/msg_1/a.pdf'
  const headers = { range: 'bytes=0-1' }
  const head = await asking.request(path, { method: 'HEAD', headers })
  assert.equal(head.headers.get('content-length'), '7')
  await asking.request(`${path}?signature=x`, { method: 'HEAD', headers })
  assert.deepEqual(seen, [
    [undefined, false],
    [undefined, false],
  ])
  await asking.close(0)
})

test('a path parameter of 101 characters is accepted, one beyond the limit is 414', async () => {
  const name = `${'ä'.repeat(97)}.pdf`
  const url = `/v1/pods/${encodeURIComponent(name)}`
  const { input } = (await (await server.request(url)).json()) as { input: { path: unknown } }
  assert.deepEqual(input.path, { idOrClientId: name })
  const longer = await server.request(`/v1/pods/${'a'.repeat(PATH_PARAMETER_LENGTH_MAX + 1)}`)
  assert.equal(longer.status, 414)
  assert.equal((await errorOf(longer)).error, 'uri_too_long')
})

test('a file name with unusual characters reaches the handler unchanged', async () => {
  const tricky = await openTestServer({
    answers: {
      'attachments.get': ({ path }) => ({ headers: {}, content: path.filename }),
    },
  })
  for (const [written, read] of [
    ['..%2f..%2fetc%2fpasswd', '../../etc/passwd'],
    ['%252e%252e', '%2e%2e'],
    ['a%5Cb', 'a\\b'],
    ['%E5%90%8D%E5%89%8D.pdf', '名前.pdf'],
  ]) {
    const response = await tricky.request(`/v1/attachments/msg_1/${written}`)
    assert.equal(await response.text(), read)
  }
  await tricky.close(0)
})
