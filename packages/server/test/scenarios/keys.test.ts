import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthenticate } from '#accounts/keys/issue-key.ts'
import { DAY_MS } from '#platform/units.ts'
import { countOutcomes, outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { OPERATOR_TOKEN, onEachEngine, opened, openWorld } from '#test/world.ts'

onEachEngine('keys', (engine) => {
  const world = opened(() => openWorld(engine))

  test('a new key shows its token once, works at once, and is listed by its first and last characters', async () => {
    const { client } = await world.newAccount()
    const made = await client.apiKeys.create({ name: 'deploy' })
    const { token, ...shown } = made
    assert.match(token, /^mr_[0-9A-Za-z]{40}$/)
    assert.deepEqual([shown.tokenPrefix, shown.last4], [token.slice(0, 7), token.slice(-4)])
    const listed = await (await world.fetch('/v1/api-keys', bearer(token))).text()
    const { lastUsedAt, ...rest } = JSON.parse(listed).data[0]
    assert.deepEqual({ ...rest, lastUsedAt: null }, shown)
    assert.ok(Date.parse(lastUsedAt) >= Date.parse(shown.createdAt))
    assert.ok(!listed.includes(token) && !listed.includes('"token"'))
  })

  test('keys are listed newest first, a page at a time', async () => {
    const { client } = await world.newAccount()
    const made = [await client.apiKeys.create({ name: 'a' }), await client.apiKeys.create()]
    const { data, total } = await client.apiKeys.list({ limit: 2 }).page()
    assert.deepEqual(
      data.map(({ id }) => id),
      made.map(({ id }) => id).reverse(),
    )
    assert.equal(total, 3)
    assert.deepEqual(
      data.map(({ name }) => name),
      [null, 'a'],
    )
  })

  test('a revoked key is refused on the next request and no longer listed', async () => {
    const { client } = await world.newAccount()
    const { id, token } = await client.apiKeys.create()
    const other = world.clientWith(token)
    await other.pods.list().page()
    await client.apiKeys.delete(id)
    assert.equal(await refusal(other.pods.list().page()), '401 unauthorized')
    assert.equal((await client.apiKeys.list().page()).total, 1)
    assert.equal(await refusal(client.apiKeys.delete(id)), '404 not_found')
  })

  test('a key may revoke itself while another is active, and the last one cannot', async () => {
    const { client } = await world.newAccount()
    const second = await client.apiKeys.create()
    const [first] = (await client.apiKeys.list({ offset: 1 }).page()).data
    await client.apiKeys.delete(first?.id ?? '')
    const left = world.clientWith(second.token)
    assert.equal(await refusal(left.apiKeys.delete(second.id)), '409 last_api_key')
    assert.equal((await left.apiKeys.list().page()).total, 1)
  })

  test('a key shows its account, and that it is for the whole account', async () => {
    const { id, client } = await world.newAccount('developer')
    const [first] = (await client.apiKeys.list().page()).data
    const second = await client.apiKeys.create()
    const account = { accountId: id, name: 'another', plan: 'developer', apiKeyScope: 'account' }
    const told = { ...account, customerId: id, mcpScopes: null }
    for (const key of [
      { id: first?.id, client },
      { id: second.id, client: world.clientWith(second.token) },
    ]) {
      assert.deepEqual(await key.client.account.me(), { ...told, keyId: key.id })
    }
    await world.clientWith(OPERATOR_TOKEN).admin.accounts.update(id, { name: 'renamed' })
    assert.equal((await client.account.me()).name, 'renamed')
  })

  test('keys of one inbox or one pod are refused to the owner, whatever the body', async () => {
    const { client, key } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'tenant-1' })
    const inbox = await client.inboxes.create({ podId: pod.id })
    const paths = [`inboxes/${inbox.id}`, `pods/${pod.id}`, 'pods/tenant-1']
    for (const path of paths) {
      for (const body of [undefined, '{}', '{"name":"mine","scopes":["read"]}']) {
        const response = await world.fetch(`/v1/${path}/api-keys`, {
          method: 'POST',
          headers: {
            ...bearer(key).headers,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body }),
        })
        assert.equal(response.status, 403, `${path} ${body}`)
        assert.match(await response.text(), /"error":"scoped_keys_not_supported"/)
      }
      for (const [method, more] of [
        ['GET', ''],
        ['DELETE', '/key_1'],
      ]) {
        const url = `/v1/${path}/api-keys${more}`
        const response = await world.fetch(url, { method, ...bearer(key) })
        assert.equal(await outcomeOf(response), '403 scoped_keys_not_supported', `${method} ${url}`)
      }
    }
    assert.equal((await client.apiKeys.list().page()).total, 1)
  })

  test('an account is also known by the names of other clients, and takes feedback', async () => {
    const { key } = await world.newAccount()
    const { headers } = bearer(key)
    const me = JSON.parse(await (await world.fetch('/v1/me', { headers })).text())
    assert.deepEqual([me.customerId, me.mcpScopes], [me.accountId, null])
    const give = async (body: object) => {
      const type = { 'content-type': 'application/json' }
      const given = { method: 'POST', headers: { ...headers, ...type }, body: JSON.stringify(body) }
      return outcomeOf(await world.fetch('/v1/feedback', given))
    }
    const feedback = { type: 'bug', message: 'It\u001b[31m broke.\nTwice.', context: { page: 1 } }
    assert.equal(await give(feedback), '202')
    assert.equal(await give({ ...feedback, context: 'x'.repeat(100_000) }), '202')
    assert.equal(await give({ type: 'bug' }), '400 bad_request')
    assert.equal(await give({ ...feedback, message: 'x'.repeat(10_001) }), '400 bad_request')
  })

  test('one of two keys that revoke each other at once stays', async () => {
    const { client } = await world.newAccount()
    const second = await client.apiKeys.create()
    const keys = (await client.apiKeys.list().page()).data
    const outcomes = await countOutcomes(keys.map(({ id }) => client.apiKeys.delete(id)))
    assert.equal(outcomes.done, 1)
    const works = await countOutcomes(
      [client, world.clientWith(second.token)].map((one) => one.pods.list().page()),
    )
    assert.deepEqual(works, { done: 1, '401 unauthorized': 1 })
  })

  test('an account has at most twenty active keys, even when they are requested at once', async () => {
    const { client } = await world.newAccount()
    const outcomes = await countOutcomes(Array.from({ length: 30 }, () => client.apiKeys.create()))
    assert.deepEqual(outcomes, { done: 19, '422 api_key_limit_reached': 11 })
    const { data, total } = await client.apiKeys.list().page()
    assert.equal(total, 20)
    await client.apiKeys.delete(data[0]?.id ?? '')
    await client.apiKeys.create()
    assert.equal(await refusal(client.apiKeys.create()), '422 api_key_limit_reached')
  })

  test('the last use of a key is recorded at most a minute late', async () => {
    const { client } = await world.newAccount()
    const { id, token } = await client.apiKeys.create()
    const lastUse = async () =>
      (await client.apiKeys.list().page()).data.find((key) => key.id === id)?.lastUsedAt ?? null
    assert.equal(await lastUse(), null)
    await world.clientWith(token).pods.list().page()
    assert.notEqual(await lastUse(), null)
    const first = await lastUse()
    world.clock.advance(60_000)
    await world.clientWith(token).pods.list().page()
    await until(async () => (await lastUse()) !== first)
  })

  test('the first use of a key is recorded before its answer, even with concurrent uses', async () => {
    const { client } = await world.newAccount()
    const { id, token } = await client.apiKeys.create()
    const other = world.clientWith(token)
    const lists = await Promise.all(Array.from({ length: 5 }, () => other.apiKeys.list().page()))
    for (const { data } of lists) {
      assert.notEqual(data.find((key) => key.id === id)?.lastUsedAt, null)
    }
  })

  test('a use is recorded after the clock stepped back or the last record failed', async () => {
    const { deps } = world.app
    const { client } = await world.newAccount()
    const { id, token } = await client.apiKeys.create()
    const noted = async () =>
      Date.parse(
        (await client.apiKeys.list().page()).data.find((key) => key.id === id)?.lastUsedAt ?? '',
      )
    const startMs = deps.clock.now()
    let [wallMs, steadyMs, isFull] = [startMs, 0, true]
    const authenticate = makeAuthenticate({
      ...deps,
      clock: {
        ...deps.clock,
        now: () => wallMs,
        monotonic: () => steadyMs,
        steady: () => steadyMs,
      },
      db: new Proxy(deps.db, {
        get: (db, name) =>
          name === 'write' && isFull
            ? () => Promise.reject(new Error('no room'))
            : Reflect.get(db, name, db),
      }),
    })
    assert.deepEqual((await authenticate(token))?.actor, { kind: 'key', keyId: id })
    assert.ok(Number.isNaN(await noted()))
    isFull = false
    await authenticate(token)
    assert.equal(await noted(), startMs)
    wallMs -= 2 * DAY_MS
    steadyMs += 59_999
    await authenticate(token)
    assert.equal(await noted(), startMs)
    steadyMs += 1
    await authenticate(token)
    await until(async () => (await noted()) === wallMs)
  })

  test('the name of a key is one line of at most 200 characters', async () => {
    const { client } = await world.newAccount()
    assert.equal((await client.apiKeys.create({ name: '👍'.repeat(200) })).name?.length, 400)
    assert.equal((await client.apiKeys.create({ name: null } as never)).name, null)
    for (const name of ['x'.repeat(201), 'a\u0007b', 7]) {
      const error = await refusalOf(client.apiKeys.create({ name } as never))
      assert.equal(`${error.code} ${error.details[0]?.path}`, 'bad_request name')
    }
  })

  test('everything but an active key is 401 with the scheme to use', async () => {
    const wrong = [
      '',
      'Bearer',
      'Bearer ',
      'Bearer mr_unknown',
      `bearer ${world.key}x`,
      `Basic ${world.key}`,
      world.key,
      `Bearer ${world.key} ${world.key}`,
      `Bearer ${world.key.toLowerCase()}`,
      `Bearer ${world.key.slice(0, -1)}`,
    ]
    for (const authorization of wrong) {
      const response = await world.fetch('/v1/pods', { headers: { authorization } })
      assert.equal(response.headers.get('www-authenticate'), 'Bearer')
      assert.equal(await outcomeOf(response), '401 unauthorized', authorization)
    }
    const none = await fetch(`${world.baseUrl}/v1/pods`)
    assert.equal(await outcomeOf(none), '401 unauthorized')
  })
})

onEachEngine('guessing keys', (engine) => {
  const world = opened(() => openWorld(engine))

  test('after sixty failures bad keys are 429 for the rest of the minute, and good ones still work', async () => {
    const startMs = performance.now()
    const guess = () => world.clientWith('mr_guess').pods.list().page()
    const outcomes = await countOutcomes(Array.from({ length: 80 }, guess))
    assert.deepEqual(outcomes, { '401 unauthorized': 60, '429 rate_limit_exceeded': 20 })
    const blocked = await refusalOf(guess())
    assert.equal(`${blocked.status} ${blocked.code}`, '429 rate_limit_exceeded')
    const waitSeconds = blocked.retryAfterSeconds ?? 0
    const sinceSeconds = Math.ceil((performance.now() - startMs) / 1_000)
    assert.ok(waitSeconds >= 60 - sinceSeconds && waitSeconds <= 60, `${waitSeconds} s`)
    assert.equal(await outcomeOf(world.fetch('/metrics')), '429 rate_limit_exceeded')
    await world.client.pods.list().page()
    assert.equal((await fetch(`${world.baseUrl}/health`)).status, 200)
    assert.equal((await fetch(`${world.baseUrl}/openapi.json`)).status, 200)
    // The rest of the minute passes by itself on a slow machine.
    world.clock.advance((waitSeconds - 30) * 1000)
    assert.equal(await refusal(guess()), '429 rate_limit_exceeded')
    world.clock.advance(30_000)
    assert.equal(await refusal(guess()), '401 unauthorized')
  })
})

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}
