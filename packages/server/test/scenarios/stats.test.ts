import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60_000

onEachEngine('figures', (engine) => {
  const world = opened(() => openTenant(engine))

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

  test('of days are those of the account, by inbox and in all', async () => {
    const { client } = await world.newAccount()
    const [busy, quiet, gone] = await Promise.all([1, 2, 3].map(() => client.inboxes.create()))
    assert.ok(busy && quiet && gone)
    for (const to of [busy.address, busy.address, quiet.address, gone.address]) {
      await world.send({ to, raw: plainMail({ to }) })
    }
    await client.inboxes.send(busy.id, { to: 'ann@elsewhere.example', subject: 'A', body: 'B.' })
    await until(async () => {
      const both = [await client.usage.get(), await client.usage.get({ group_by: 'inbox' })]
      return both.every(({ totals: { received, sent } }) => received === 4 && sent === 1)
    }, 30_000)
    await client.inboxes.delete(gone.id)
    const whole = await client.usage.get()
    const { storedBytes } = await client.stats.get()
    const totals = { received: 4, sent: 1, failed: 0 }
    assert.deepEqual(whole.totals, totals)
    assert.deepEqual(whole.data, [{ inboxId: null, address: null, ...totals, storedBytes }])
    assert.deepEqual([whole.groupBy, whole.total], ['account', 1])
    const today = `${new Date(world.clock.now()).toISOString().slice(0, 10)}`
    assert.equal(Date.parse(whole.to) - Date.parse(whole.from), 30 * DAY_MS)
    assert.ok(Math.abs(Date.parse(today) + DAY_MS - Date.parse(whole.to)) <= DAY_MS)

    const byInbox = await client.usage.get({ group_by: 'inbox' })
    const left = { ...totals, received: 3 }
    assert.deepEqual([byInbox.totals, byInbox.total], [left, 2])
    const shown = byInbox.data.map(({ inboxId, address, received, sent }) => [
      inboxId,
      address,
      received,
      sent,
    ])
    assert.deepEqual(shown, [
      [busy.id, busy.address, 2, 1],
      [quiet.id, quiet.address, 1, 0],
    ])
    assert.equal(
      byInbox.data.reduce((sum, one) => sum + one.storedBytes, 0),
      storedBytes,
    )
    const second = await client.usage.get({ group_by: 'inbox', limit: 1, offset: 1 })
    assert.deepEqual([second.data.length, second.total, second.totals], [1, 2, left])
    const before = await client.usage.get({
      group_by: 'inbox',
      from: '2020-01-01',
      to: '2020-03-31',
    })
    assert.deepEqual([before.total, before.totals.received], [0, 0])
    assert.deepEqual(
      [before.from, before.to],
      ['2020-01-01T00:00:00.000Z', '2020-04-01T00:00:00.000Z'],
    )
  })

  test('of days are refused for days that are none, backwards, or more than 92', async () => {
    const most = await world.fetch('/v1/usage?from=2026-01-01&to=2026-04-02T23:59:59.999Z')
    assert.equal(most.status, 200)
    const times = await world.fetch('/v1/usage?from=2026-01-01T12:00:00Z&to=2026-04-03T12:00:00Z')
    assert.equal(times.status, 200)
    for (const query of [
      'from=2026-01-01&to=2026-04-03',
      'from=2026-01-01T12:00:00Z&to=2026-04-03T12:00:00.001Z',
      'from=2026-02-30&to=2026-03-02',
      'from=2026-03-02&to=2026-03-01',
      'from=yesterday',
      'to=2026-11-20Tx',
      'to=2026-11-20T25:00:00Z',
      'from=2026-01-01',
      'group_by=pod',
    ]) {
      const response = await world.fetch(`/v1/usage?${query}`)
      const { error, message } = (await response.json()) as { error: string; message: string }
      assert.equal(`${response.status} ${error}`, '400 bad_request', query)
      assert.match(message, /^The query parameter "(from|to|group_by)" must /)
    }
  })

  test('are only of the account', async () => {
    const { client } = await world.newAccount()
    const { totals, inboxes, unreadThreads } = await client.stats.get({ range: '30d' })
    assert.deepEqual(totals, { received: 0, sent: 0, failed: 0 })
    assert.deepEqual([inboxes, unreadThreads], [0, 0])
    const usage = await client.usage.get({ group_by: 'inbox' })
    assert.deepEqual([usage.data, usage.totals.received], [[], 0])
    assert.equal(await outcomeOf(fetch(`${world.baseUrl}/v1/stats`)), '401 unauthorized')
    assert.equal(await outcomeOf(world.fetch('/v1/stats?range=1h')), '400 bad_request')
  })
})
