// Who may come in: keys, the operator's token, signed URLs, and how often one may guess.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '#base/app-error.ts'
import { clientGroup, plainAddress } from '#base/client-address.ts'
import { type DoorOptions, errorOf, GOOD_KEY, OPERATOR_TOKEN, openDoor } from '#test/http/door.ts'

async function withDoor(
  options: DoorOptions,
  run: (door: Awaited<ReturnType<typeof openDoor>>) => Promise<void>,
) {
  const door = await openDoor(options)
  try {
    await run(door)
  } finally {
    await door.close(0)
  }
}

test('without a good key the answer is 401 with WWW-Authenticate', async () => {
  await withDoor({}, async (door) => {
    const headers = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: `Basic ${GOOD_KEY}` },
      { authorization: GOOD_KEY },
      { authorization: `Bearer ${GOOD_KEY}x` },
      { authorization: `Bearer ${GOOD_KEY} ${GOOD_KEY}` },
    ]
    for (const header of headers) {
      const response = await fetch(`${door.address}/v1/pods`, { headers: header })
      const body = await errorOf(response)
      assert.equal(response.status, 401, JSON.stringify(header))
      assert.equal(body.error, 'unauthorized')
      assert.equal(typeof body.fix, 'string')
      assert.equal(response.headers.get('www-authenticate'), 'Bearer')
    }
  })
})

test('the scheme is read in any case', async () => {
  await withDoor({}, async (door) => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { authorization: `${scheme} ${GOOD_KEY}` }
      assert.equal((await fetch(`${door.address}/v1/pods`, { headers })).status, 200)
    }
  })
})

test('a bad body is not looked at before the key', async () => {
  await withDoor({}, async (door) => {
    const init = { method: 'POST', body: '{', token: null }
    assert.equal((await door.request('/v1/pods', init)).status, 401)
  })
})

test('operator’s routes take the operator’s token and no other', async () => {
  await withDoor({}, async (door) => {
    for (const path of ['/admin/accounts', '/metrics']) {
      assert.equal((await door.request(path, { token: OPERATOR_TOKEN })).status, 200)
      assert.equal((await door.request(path, { token: GOOD_KEY })).status, 401)
      assert.equal((await door.request(path, { token: `${OPERATOR_TOKEN}x` })).status, 401)
      assert.equal((await door.request(path, { token: null })).status, 401)
    }
    assert.equal((await door.request('/v1/pods', { token: OPERATOR_TOKEN })).status, 401)
  })
})

test('without an operator’s token its routes look like no routes', async () => {
  await withDoor({ operatorToken: undefined }, async (door) => {
    for (const path of ['/admin/accounts', '/metrics', '/unknown']) {
      for (const token of [null, OPERATOR_TOKEN, 'undefined']) {
        const response = await door.request(path, { token })
        const { requestId, ...body } = await errorOf(response)
        assert.equal(response.status, 404)
        assert.equal(typeof requestId, 'string')
        assert.deepEqual(body, {
          error: 'not_found',
          message: 'There is no such resource or route.',
        })
      }
    }
    const wrongMethod = await door.request('/admin/accounts', { method: 'DELETE' })
    assert.equal(wrongMethod.status, 404)
    assert.equal(wrongMethod.headers.get('allow'), null)
  })
})

test('a URL that claims to be signed goes to its handler without a key', async () => {
  const seen: unknown[] = []
  const answers: DoorOptions['answers'] = {
    'attachments.get': (_input, context) => {
      seen.push(context.isSigned ? 'signed' : context.accountId)
      return { headers: {}, content: 'x' }
    },
  }
  await withDoor({ answers }, async (door) => {
    const path = '/v1/attachments/msg_1/a.pdf'
    for (const query of ['?expires=1&signature=x', '?expires=1', '?signature=']) {
      assert.equal((await door.request(path + query, { token: null })).status, 200)
    }
    assert.equal((await door.request(path, { token: null })).status, 401)
    assert.equal((await door.request(path)).status, 200)
    assert.deepEqual(seen, ['signed', 'signed', 'signed', 'acc_1'])
  })
})

test('after the failures of a minute no key is looked at, until they are a minute old', async () => {
  const time = { ms: 0 }
  const clock = { now: () => time.ms, monotonic: () => time.ms, steady: () => time.ms }
  let lookUps = 0
  const authenticate = async (token: string) => {
    lookUps += 1
    return token === GOOD_KEY ? { accountId: 'acc_1', keyId: 'key_1' } : null
  }
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 3 }
  await withDoor({ clock, authenticate, limits }, async (door) => {
    for (const token of ['bad', 'worse', 'worst']) {
      assert.equal((await door.request('/v1/pods', { token })).status, 401)
    }
    const refused = await door.request('/v1/pods')
    assert.equal(refused.status, 429)
    assert.equal((await errorOf(refused)).error, 'rate_limit_exceeded')
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.equal(lookUps, 3)
    assert.equal((await door.request('/health', { token: null })).status, 200)
    time.ms = 60_000
    assert.equal((await door.request('/v1/pods')).status, 200)
  })
})

test('failures at the same moment get no more refusals than the limit', async () => {
  const limits = { apiPerMinute: 1_000, failedAuthPerMinute: 5 }
  await withDoor({ limits }, async (door) => {
    const attempts = Array.from({ length: 20 }, () => door.request('/v1/pods', { token: 'bad' }))
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 401).length, 5)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })
})

test('a key that cannot be looked up is neither good nor bad', async () => {
  const authenticate = async () => {
    throw new AppError('service_unavailable', 'The database does not answer.')
  }
  await withDoor({ authenticate }, async (door) => {
    const response = await door.request('/v1/pods')
    assert.equal(response.status, 503)
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  })
})

test('of concurrent requests at the limit exactly the limit gets through', async () => {
  const time = { ms: 0 }
  const clock = { now: () => time.ms, monotonic: () => time.ms, steady: () => time.ms }
  const limits = { apiPerMinute: 50, failedAuthPerMinute: 60 }
  await withDoor({ clock, limits }, async (door) => {
    const all = await Promise.all(Array.from({ length: 200 }, () => door.request('/v1/pods')))
    const accepted = all.filter(({ status }) => status === 200)
    assert.equal(accepted.length, 50)
    const remaining = accepted.map(({ headers }) => Number(headers.get('ratelimit-remaining')))
    assert.deepEqual(
      remaining.sort((a, b) => a - b),
      [...Array(50).keys()],
    )
    time.ms = 20_500
    const refused = await door.request('/v1/pods')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '40')
    assert.equal(refused.headers.get('ratelimit-limit'), '50')
    assert.equal(refused.headers.get('ratelimit-remaining'), '0')
    assert.equal(refused.headers.get('ratelimit-reset'), '40')
    assert.equal((await errorOf(refused)).error, 'rate_limit_exceeded')
    time.ms = 60_000
    assert.equal((await door.request('/v1/pods')).status, 200)
  })
})

test('an IPv4-mapped address is the IPv4 address', () => {
  assert.equal(plainAddress('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
  assert.equal(plainAddress(undefined), '')
})

test('one IPv6 client has a /64 to itself, one IPv4 client an address', () => {
  assert.equal(clientGroup('192.0.2.1'), '192.0.2.1')
  assert.equal(clientGroup('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(clientGroup('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(clientGroup('::1'), '0:0:0:0::/64')
  assert.equal(clientGroup('2001:db8:1:2::'), clientGroup('2001:db8:1:2:ffff::9'))
})
