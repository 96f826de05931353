import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('figures', (engine) => {
  const world = opened(() => openWorld(engine))

  test('count the mail that arrived and left', async () => {
    const inbox = await world.inbox()
    for (let sent = 0; sent < 3; sent += 1) {
      await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    }
    await world.client.inboxes.send(inbox.id, {
      to: 'ann@elsewhere.example',
      subject: 'A subject',
      body: 'A body.',
    })
    await until(async () => {
      const { totals } = await world.client.stats.get()
      return totals.received === 3 && totals.sent === 1
    }, 30_000)
    const stats = await world.client.stats.get({ range: '7d' })
    const { range, bucketSeconds, buckets, totals, inboxes, unreadThreads, asOf } = stats
    assert.deepEqual([range, bucketSeconds, buckets.length], ['7d', 10_800, 56])
    assert.deepEqual(totals, { received: 3, sent: 1, failed: 0 })
    assert.deepEqual([inboxes, unreadThreads], [1, 3])
    assert.ok(Math.abs(Date.parse(asOf) - world.clock.now()) < 60_000)
    const latest = buckets.findLast(({ sent }) => sent > 0)
    assert.ok((latest?.latencyMsP50 ?? 0) > 0)
  })

  test('are only of the account', async () => {
    const { client } = await world.newAccount()
    const { totals, inboxes, unreadThreads } = await client.stats.get({ range: '30d' })
    assert.deepEqual(totals, { received: 0, sent: 0, failed: 0 })
    assert.deepEqual([inboxes, unreadThreads], [0, 0])
    assert.equal(await outcomeOf(fetch(`${world.baseUrl}/v1/stats`)), '401 unauthorized')
    assert.equal(await outcomeOf(world.fetch('/v1/stats?range=1h')), '400 bad_request')
  })
})
