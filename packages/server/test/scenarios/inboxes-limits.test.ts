import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOutcomes, outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

const HOUR_MS = 60 * 60 * 1000

onEachEngine('inboxes of a plan', (engine) => {
  const world = opened(() => openWorld(engine))

  for (const [plan, limit] of [
    ['free', 3],
    ['developer', 10],
  ] as const) {
    test(`the plan ${plan} allows exactly ${limit} inboxes over all pods, also at once`, async () => {
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

  test('a refused creation uses up nothing', async () => {
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

  test('in any 24 hours an account makes at most so many inboxes, deleted ones counted', async () => {
    const { client } = await world.newAccount()
    const create = () => client.inboxes.create()
    const first = await create()
    await client.inboxes.delete(first.id)
    world.clock.advance(HOUR_MS)
    const outcomes = await countOutcomes(Array.from({ length: 20 }, create))
    assert.deepEqual(outcomes, { done: 4, '429 rate_limit_exceeded': 16 })

    const refused = await refusalOf(create())
    const waitSeconds = refused.retryAfterSeconds ?? 0
    assert.ok(waitSeconds > 23 * 3600 - 60 && waitSeconds <= 23 * 3600 + 2, `${waitSeconds}`)
    // A minute is left to a busy machine.
    world.clock.advance((waitSeconds - 60) * 1000)
    assert.equal(await refusal(create()), '429 rate_limit_exceeded')
    world.clock.advance(60_000)
    await create()
    const next = await refusalOf(create())
    const nextSeconds = next.retryAfterSeconds ?? 0
    assert.ok(nextSeconds > 3600 - 120 && nextSeconds <= 3600 + 2, `${nextSeconds}`)
  })

  test('the limit of a day is each account’s own', async () => {
    const [one, other] = [await world.newAccount(), await world.newAccount()]
    for (let count = 0; count < 5; count++) await one.client.inboxes.create()
    assert.equal(await refusal(one.client.inboxes.create()), '429 rate_limit_exceeded')
    await other.client.inboxes.create()
  })

  test('the refusal of the day names its wait in the answer', async () => {
    const { client, key } = await world.newAccount()
    for (let count = 0; count < 5; count++) await client.inboxes.create()
    const headers = { authorization: `Bearer ${key}` }
    const response = await world.fetch('/v1/inboxes', { method: 'POST', headers })
    assert.match(response.headers.get('retry-after') ?? '', /^863\d\d|86400$/)
    assert.equal(await outcomeOf(response), '429 rate_limit_exceeded')
  })
})
