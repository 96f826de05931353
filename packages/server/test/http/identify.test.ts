import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientGroup, plainAddress } from '@mailroom/smtp/client-address.ts'
import { addressRanges } from '#config/forms.ts'
import type { ForwardedHeader } from '#config/settings.ts'
import { AppError } from '#platform/problem.ts'
import {
  errorOf,
  GOOD_KEY,
  GOOD_SESSION,
  OPERATOR_TOKEN,
  openTestServer,
  type TestServerOptions,
} from '#test/http/test-server.ts'

test('the scheme is read in any case', async () => {
  await using server = await openTestServer()
  for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
    const headers = { authorization: `${scheme} ${GOOD_KEY}` }
    assert.equal((await fetch(`${server.address}/v1/pods`, { headers })).status, 200)
  }
})

test('the key is checked before the body', async () => {
  await using server = await openTestServer()
  const init = { method: 'POST', body: '{', token: null }
  assert.equal((await server.request('/v1/pods', init)).status, 401)
})

test('without an operator’s token its routes do not exist', async () => {
  await using server = await openTestServer({ operatorToken: undefined })
  for (const path of ['/admin/accounts', '/metrics', '/unknown']) {
    for (const token of [null, OPERATOR_TOKEN, 'undefined']) {
      const response = await server.request(path, { token })
      const { requestId, ...body } = await errorOf(response)
      assert.equal(response.status, 404)
      assert.equal(typeof requestId, 'string')
      assert.deepEqual(body, {
        error: 'not_found',
        message: `There is no route GET ${path}.`,
        fix: 'Use a route from GET /openapi.json.',
      })
    }
  }
  const wrongMethod = await server.request('/admin/accounts', { method: 'DELETE' })
  assert.equal(wrongMethod.status, 404)
  assert.equal(wrongMethod.headers.get('allow'), null)
})

test('a URL that claims to be signed reaches its handler without a key', async () => {
  const seen: unknown[] = []
  const answers: TestServerOptions['answers'] = {
    'attachments.get': (_input, context) => {
      seen.push(context.isSigned ? 'signed' : context.accountId)
      return { headers: {}, content: 'x' }
    },
  }
  await using server = await openTestServer({ answers })
  const path = '/v1/attachments/msg_1/a.pdf'
  for (const query of ['?expires=1&signature=x', '?expires=1', '?signature=']) {
    assert.equal((await server.request(path + query, { token: null })).status, 200)
  }
  assert.equal((await server.request(path, { token: null })).status, 401)
  assert.equal((await server.request(path)).status, 200)
  assert.deepEqual(seen, ['signed', 'signed', 'signed', 'acc_1'])
})

test('while bad keys are blocked, good ones, the operator’s token and a cookie still work', async () => {
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 3 }
  await using server = await openTestServer({ limits })
  for (const status of [401, 401, 401, 429]) {
    assert.equal((await server.request('/v1/pods', { token: 'bad' })).status, status)
  }
  assert.equal((await server.request('/v1/pods')).status, 200)
  assert.equal((await server.request('/metrics', { token: OPERATOR_TOKEN })).status, 200)
  const cookie = await server.request('/v1/pods', { token: null, headers: GOOD_SESSION })
  assert.equal(cookie.status, 200)
})

test('a key that cannot be looked up is neither accepted nor refused', async () => {
  const authenticate = async () => {
    throw new AppError('service_unavailable', 'The database does not answer.')
  }
  await using server = await openTestServer({ authenticate })
  const response = await server.request('/v1/pods')
  assert.equal(response.status, 503)
  assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
})

test('an IPv4-mapped address is the IPv4 address', () => {
  assert.equal(plainAddress('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
  assert.equal(plainAddress(undefined), '')
})

test('IPv6 clients are counted by /64, IPv4 clients by address', () => {
  assert.equal(clientGroup('192.0.2.1'), '192.0.2.1')
  assert.equal(clientGroup('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(clientGroup('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(clientGroup('::1'), '0:0:0:0::/64')
  assert.equal(clientGroup('2001:db8:1:2::'), clientGroup('2001:db8:1:2:ffff::9'))
})

/** The address to which a request counts, with these headers and proxies. */
async function clientWith(
  proxies: string,
  headers: Record<string, string>,
  forwardedHeader: ForwardedHeader | null = null,
): Promise<unknown> {
  const reading = addressRanges.read(proxies)
  assert.ok('value' in reading)
  let seen: unknown
  const answers: TestServerOptions['answers'] = {
    'pairing.start': (_input, { clientAddress }) => {
      seen = clientAddress
      return {} as never
    },
  }
  await using server = await openTestServer({
    answers,
    trustedProxies: reading.value,
    forwardedHeader,
  })
  const init = { method: 'POST', body: '{}', token: null }
  const all = { 'content-type': 'application/json', ...headers }
  await server.request('/auth/cli/start', { ...init, headers: all })
  return seen
}

test('only a trusted proxy can name the client', async () => {
  const own = '127.0.0.1'
  const cases: [proxies: string, headers: Record<string, string>, client: string][] = [
    ['192.0.2.1', { 'x-forwarded-for': '198.51.100.7' }, own],
    [own, {}, own],
    [own, { 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
    // The client itself wrote the leftmost values.
    [own, { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' }, '198.51.100.7'],
    [`${own},10.0.0.0/8`, { 'x-forwarded-for': '1.1.1.1,198.51.100.7, 10.1.2.3' }, '198.51.100.7'],
    [`${own},10.0.0.0/8`, { 'x-forwarded-for': '10.9.9.9, 10.1.2.3' }, '10.9.9.9'],
    [own, { 'x-forwarded-for': '198.51.100.7:4711' }, '198.51.100.7'],
    [own, { 'x-forwarded-for': '::ffff:198.51.100.7' }, '198.51.100.7'],
    [own, { 'x-forwarded-for': '2001:db8::7' }, '2001:db8::7'],
    [own, { 'x-forwarded-for': '[2001:db8::7]:4711' }, '2001:db8::7'],
    ['127.0.0.0/8,2001:db8::/32', { 'x-forwarded-for': '1.1.1.1, 2001:db8::7' }, '1.1.1.1'],
    // Values beyond an invalid address are not trusted.
    [own, { 'x-forwarded-for': '198.51.100.7, unknown' }, own],
    [own, { 'x-forwarded-for': '' }, own],
    [`${own},10.0.0.1`, { 'x-forwarded-for': '198.51.100.7, <b>, 10.0.0.1' }, '10.0.0.1'],
    [
      own,
      { forwarded: 'for=203.0.113.9, for=198.51.100.7;proto=https;by=10.0.0.1' },
      '198.51.100.7',
    ],
    [own, { forwarded: 'proto=https; For="[2001:db8::7]:4711"' }, '2001:db8::7'],
    [own, { forwarded: 'for=198.51.100.7, for=_hidden' }, own],
    // One of them may be the client's own.
    [own, { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '198.51.100.7' }, own],
    [own, { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
  ]
  for (const [proxies, headers, client] of cases) {
    assert.equal(await clientWith(proxies, headers), client, JSON.stringify({ proxies, headers }))
  }
})

test('a proxy that is set to use one header is not outvoted by a client with the other', async () => {
  const both = { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '198.51.100.7' }
  const own = '127.0.0.1'
  assert.equal(await clientWith(own, both, 'forwarded'), '203.0.113.9')
  assert.equal(await clientWith(own, both, 'x-forwarded-for'), '198.51.100.7')
  assert.equal(await clientWith(own, { forwarded: 'for=203.0.113.9' }, 'x-forwarded-for'), own)
})

test('failures of clients behind a trusted proxy are counted separately', async () => {
  const reading = addressRanges.read('127.0.0.1')
  assert.ok('value' in reading)
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 2 }
  await using server = await openTestServer({ limits, trustedProxies: reading.value })
  const tryAs = async (client: string) => {
    const headers = { 'x-forwarded-for': client }
    return (await server.request('/v1/pods', { token: 'bad', headers })).status
  }
  assert.deepEqual([await tryAs('192.0.2.1'), await tryAs('192.0.2.1')], [401, 401])
  assert.equal(await tryAs('192.0.2.1'), 429)
  assert.equal(await tryAs('192.0.2.2'), 401)
})

test('a client behind a proxy that writes Forwarded gets no further tries by X-Forwarded-For', async () => {
  const reading = addressRanges.read('127.0.0.1')
  assert.ok('value' in reading)
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 2 }
  await using server = await openTestServer({ limits, trustedProxies: reading.value })
  const seen: number[] = []
  for (const invented of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    const headers = { forwarded: 'for=198.51.100.7', 'x-forwarded-for': invented }
    seen.push((await server.request('/v1/pods', { token: 'bad', headers })).status)
  }
  assert.deepEqual(seen, [401, 401, 429])
})
