import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOutcomes, outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail, prepared } from '#test/world.ts'

onEachEngine('the limit of requests', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_LIMIT_API_PER_MINUTE: '50' } }))
  const account = prepared(() => world.newAccount())

  const ask = (key: string, path = '/v1/pods', init: RequestInit = {}) =>
    world.fetch(path, { ...init, headers: { authorization: `Bearer ${key}` } })
  const newMinute = () => world.clock.advance(60_000)

  test('exactly fifty of two hundred concurrent requests over several keys are allowed', async () => {
    newMinute()
    const { token } = await account.client.apiKeys.create()
    const clients = [account.client, world.clientWith(token)]
    const requests = Array.from({ length: 200 }, async (_, index) => {
      const { data } = await (clients[index % 2] ?? account.client).pods.list().page()
      return data
    })
    const outcomes = await countOutcomes(requests)
    assert.deepEqual(outcomes, { done: 49, '429 rate_limit_exceeded': 151 })
    await world.client.pods.list().page()
  })

  test('every answer has the remaining requests, and a refusal says when to retry', async () => {
    newMinute()
    for (let remaining = 49; remaining >= 0; remaining--) {
      const { headers } = await ask(account.key)
      assert.equal(headers.get('ratelimit-limit'), '50')
      assert.equal(headers.get('ratelimit-remaining'), String(remaining))
      assert.match(headers.get('ratelimit-reset') ?? '', /^(60|[1-5]\d)$/)
      assert.equal(headers.get('retry-after'), null)
    }
    const refused = await ask(account.key)
    assert.equal(refused.headers.get('ratelimit-remaining'), '0')
    assert.equal(refused.headers.get('retry-after'), refused.headers.get('ratelimit-reset'))
    assert.equal(await outcomeOf(refused), '429 rate_limit_exceeded')
  })

  test('the wait in a refusal is exact to a second', async () => {
    newMinute()
    for (let count = 0; count < 50; count++) await ask(account.key)
    const { retryAfterSeconds, body } = await refusalOf(account.client.pods.list().page())
    assert.deepEqual([body.scope, body.limit], ['account', 50])
    const waitMs = Date.parse(String(body.resetsAt)) - world.clock.now()
    assert.ok(waitMs > 40_000 && waitMs <= (retryAfterSeconds ?? 0) * 1000, `${waitMs}`)
    // Ten seconds are the margin for a busy machine.
    world.clock.advance(((retryAfterSeconds ?? 0) - 10) * 1000)
    assert.equal(await refusal(account.client.pods.list().page()), '429 rate_limit_exceeded')
    world.clock.advance(10_000)
    await account.client.pods.list().page()
  })

  // On PostgreSQL, where processes share a limit, a minute is a fixed window.
  if (engine === 'sqlite') {
    test('the minute slides: each request frees its place after a minute', async () => {
      newMinute()
      for (let count = 0; count < 25; count++) await ask(account.key)
      world.clock.advance(40_000)
      for (let count = 0; count < 25; count++) await ask(account.key)
      world.clock.advance(20_000)
      const requests = Array.from({ length: 40 }, () => account.client.pods.list().page())
      const outcomes = await countOutcomes(requests)
      assert.deepEqual(outcomes, { done: 25, '429 rate_limit_exceeded': 15 })
    })
  }

  test('a refused request has no effect and does not count', async () => {
    newMinute()
    const before = (await account.client.pods.list().page()).total
    for (let count = 0; count < 49; count++) await ask(account.key)
    const requests = Array.from({ length: 100 }, () => account.client.pods.create())
    assert.deepEqual(await countOutcomes(requests), { '429 rate_limit_exceeded': 100 })
    newMinute()
    assert.equal((await account.client.pods.list().page()).total, before)
  })

  test('requests that are refused for another reason count, on all routes', async () => {
    newMinute()
    await ask(account.key, '/v1/pods/unknown')
    await ask(account.key, '/v1/pods?limit=x')
    await ask(account.key, '/v1/pods', { method: 'POST', body: 'x' })
    await ask(account.key, '/v1/inboxes')
    const { headers } = await ask(account.key, '/v1/api-keys')
    assert.equal(headers.get('ratelimit-remaining'), '45')
  })

  test('only requests with a key count', async () => {
    newMinute()
    const inbox = await world.inbox()
    const attachment = ['MIME-Version: 1.0', 'Content-Disposition: attachment; filename=a.txt']
    await world.send({ to: inbox.address, raw: plainMail({ headers: attachment }) })
    const { data } = await world.client.messages.list(inbox.id).page()
    const url = data[0]?.attachments[0]?.url ?? ''
    for (let count = 0; count < 60; count++) {
      assert.equal((await fetch(url)).status, 200)
      assert.equal((await fetch(`${world.baseUrl}/health`)).status, 200)
    }
    const { headers } = await ask(world.key)
    assert.equal(headers.get('ratelimit-remaining'), '47')
    assert.equal((await fetch(url)).headers.get('ratelimit-limit'), null)
  })
})

onEachEngine('the default limit of requests', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_LIMIT_API_PER_MINUTE: '' } }))

  test('is a thousand requests a minute for an account', async () => {
    const { headers } = await world.fetch('/v1/pods')
    assert.equal(headers.get('ratelimit-limit'), '1000')
    assert.equal(headers.get('ratelimit-remaining'), '999')
  })
})

const HOUR_MS = 60 * 60 * 1000

onEachEngine('inboxes of a plan', (engine) => {
  const world = opened(() => openTenant(engine))

  for (const [plan, limit] of [
    ['free', 3],
    ['developer', 10],
  ] as const) {
    test(`the plan ${plan} allows exactly ${limit} inboxes over all pods, even when requested at once`, async () => {
      const { client } = await world.newAccount(plan)
      const pod = await client.pods.create()
      const create = (index: number) => client.inboxes.create(index % 2 ? { podId: pod.id } : {})
      const outcomes = await countOutcomes(Array.from({ length: 20 }, (_, index) => create(index)))
      assert.deepEqual(outcomes, { done: limit, '422 inbox_limit_reached': 20 - limit })
      const { data, total } = await client.inboxes.list().page()
      assert.equal(total, limit)
      await client.inboxes.delete(data[0]?.id ?? '')
      await create(0)
      assert.equal(await refusal(create(1)), '422 inbox_limit_reached')
    })
  }

  test('a refused creation does not count', async () => {
    const { client } = await world.newAccount('free')
    await client.inboxes.create({ mailboxName: 'used-up' })
    for (let attempt = 0; attempt < 10; attempt++) {
      assert.equal(
        await refusal(client.inboxes.create({ mailboxName: 'used-up' })),
        '409 address_taken',
      )
    }
    await client.inboxes.create()
    await client.inboxes.create()
    assert.equal((await client.inboxes.list().page()).total, 3)
  })
})

onEachEngine('inboxes of a day', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_LIMIT_INBOXES_PER_DAY: '5' } }))

  test('in any 24 hours an account creates a limited number of inboxes, including deleted ones', async () => {
    const { client } = await world.newAccount()
    const create = () => client.inboxes.create()
    const first = await create()
    await client.inboxes.delete(first.id)
    world.clock.advance(HOUR_MS)
    const outcomes = await countOutcomes(Array.from({ length: 20 }, create))
    assert.deepEqual(outcomes, { done: 4, '429 rate_limit_exceeded': 16 })

    const refused = await refusalOf(create())
    const waitSeconds = refused.retryAfterSeconds ?? 0
    assert.deepEqual([refused.body.scope, refused.body.limit], ['account', 5])
    assert.ok(waitSeconds > 23 * 3600 - 60 && waitSeconds <= 23 * 3600 + 2, `${waitSeconds}`)
    // A minute is the margin for a busy machine.
    world.clock.advance((waitSeconds - 60) * 1000)
    assert.equal(await refusal(create()), '429 rate_limit_exceeded')
    world.clock.advance(60_000)
    await create()
    const next = await refusalOf(create())
    const nextSeconds = next.retryAfterSeconds ?? 0
    assert.ok(nextSeconds > 3600 - 120 && nextSeconds <= 3600 + 2, `${nextSeconds}`)
  })

  test('the limit of a day is separate for each account', async () => {
    const [one, other] = [await world.newAccount(), await world.newAccount()]
    for (let count = 0; count < 5; count++) await one.client.inboxes.create()
    assert.equal(await refusal(one.client.inboxes.create()), '429 rate_limit_exceeded')
    await other.client.inboxes.create()
  })

  test('the refusal of the day states its wait in the answer', async () => {
    const { client, key } = await world.newAccount()
    for (let count = 0; count < 5; count++) await client.inboxes.create()
    const headers = { authorization: `Bearer ${key}` }
    const response = await world.fetch('/v1/inboxes', { method: 'POST', headers })
    assert.match(response.headers.get('retry-after') ?? '', /^863\d\d|86400$/)
    assert.equal(await outcomeOf(response), '429 rate_limit_exceeded')
  })
})
