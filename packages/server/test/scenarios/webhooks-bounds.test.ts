import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { openApp } from '#app.ts'
import { silentLog } from '#platform/log.ts'
import { openReceiver, type Receiver } from '#test/peers/receiver.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { errorOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openWorld, plainMail, testKey, type World } from '#test/world.ts'
import { WEBHOOK_TESTS_MAX } from '#webhooks/test-webhook.ts'

const ENV = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }

onEachEngine('bounds of webhooks', (engine) => {
  let world: World
  let receiver: Receiver
  before(async () => {
    world = await openWorld(engine, { env: ENV })
    receiver = await openReceiver()
  })
  after(async () => {
    await receiver.close()
    await world.close()
  })

  const make = (name: string) => world.client.webhooks.create({ url: `${receiver.origin}/${name}` })
  const testRaw = (id: string) => world.fetch(`/v1/webhooks/${id}/test`, { method: 'POST' })
  const requestsTo = (name: string) =>
    receiver.requests.filter(({ path }) => path === `/${name}`).length

  test('a retry to a disabled webhook is refused and leaves its delivery as it was', async () => {
    const { client } = world
    const inbox = await world.inbox()
    receiver.answer = { status: 200, body: 'taken' }
    const webhook = await make('retried')
    await deliver(world, inbox, plainMail({}))
    const newest = async () => (await client.webhooks.deliveries(webhook.id).page()).data[0]
    await until(async () => (await newest())?.status === 'succeeded')
    const delivery = await newest()
    assert.equal(delivery?.responseBody, 'taken')
    await client.webhooks.update(webhook.id, { enabled: false })
    const retry = () => client.webhooks.retryDelivery(webhook.id, delivery?.id ?? '')
    const { status, code, fix } = await refusalOf(retry())
    assert.deepEqual([status, code], [409, 'webhook_is_disabled'])
    assert.match(fix ?? '', /Enable the webhook/)
    assert.deepEqual(await newest(), delivery)
    await client.webhooks.update(webhook.id, { enabled: true })
    assert.equal((await retry()).status, 'pending')
    await until(async () => requestsTo('retried') === 2)
    await client.webhooks.delete(webhook.id)
  })

  test('a webhook is tested once at a time, and others meanwhile', async () => {
    const [one, other] = [await make('one'), await make('other')]
    receiver.answer = ({ path }) => (path === '/one' ? 'hang' : {})
    const first = testRaw(one.id)
    await until(async () => requestsTo('one') === 1)
    const second = await testRaw(one.id)
    assert.equal(second.status, 429)
    assert.ok(Number(second.headers.get('retry-after')) >= 1)
    assert.equal((await errorOf(second)).error, 'rate_limit_exceeded')
    assert.equal((await testRaw(other.id)).status, 200)
    const stranger = await world.newAccount()
    assert.equal(await refusal(stranger.client.webhooks.test(one.id)), '404 not_found')
    await receiver.stop()
    assert.equal((await first).status, 502)
    await receiver.start()
    receiver.answer = {}
    assert.equal((await testRaw(one.id)).status, 200)
    assert.equal((await world.client.webhooks.deliveries(one.id).page()).total, 2)
    for (const { id } of [one, other]) await world.client.webhooks.delete(id)
  })

  test(`${WEBHOOK_TESTS_MAX} webhooks are tested at once, and one more is not`, async () => {
    receiver.answer = 'hang'
    const names = Array.from({ length: WEBHOOK_TESTS_MAX + 1 }, (_, index) => `many-${index}`)
    const webhooks = []
    for (const name of names) webhooks.push(await make(name))
    const tests = webhooks.slice(1).map(({ id }) => testRaw(id))
    await until(async () => names.slice(1).every((name) => requestsTo(name) === 1))
    const [left] = webhooks
    const refused = await testRaw(left?.id ?? '')
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal((await errorOf(refused)).error, 'service_unavailable')
    await receiver.stop()
    const statuses = (await Promise.all(tests)).map(({ status }) => status)
    assert.deepEqual([...new Set(statuses)], [502])
    await receiver.start()
    receiver.answer = {}
    assert.equal((await testRaw(left?.id ?? '')).status, 200)
    for (const { id } of webhooks) await world.client.webhooks.delete(id)
  })

  test('an answer that breaks off is shown as far as it came', async () => {
    const webhook = await make('broken')
    receiver.answer = 'reset-in-body'
    assert.equal(await refusal(world.client.webhooks.test(webhook.id)), '502 webhook_failed')
    const [delivery] = (await world.client.webhooks.deliveries(webhook.id).page()).data
    assert.deepEqual(
      [delivery?.error, delivery?.responseStatus, delivery?.responseBody],
      ['connection_failed', 200, 'x'],
    )
    await world.client.webhooks.delete(webhook.id)
  })

  test('what to do about a pod that is none is true of webhooks too', async () => {
    const request = world.client.webhooks.create({ url: receiver.origin, podIds: ['pod_x'] })
    const { code, fix } = await refusalOf(request)
    assert.equal(code, 'invalid_pod')
    assert.match(fix ?? '', /a webhook .* all pods/)
  })
})

onEachEngine('a service that ends during a test of a webhook', (engine) => {
  test('says so to who waits for it, and its next life does not post it again', async () => {
    const world = await openWorld(engine, { env: ENV })
    const receiver = await openReceiver()
    try {
      receiver.answer = 'hang'
      const { id } = await world.client.webhooks.create({ url: receiver.origin })
      const waiting = refusal(world.client.webhooks.test(id))
      await receiver.waitForCount(1)
      await world.app.close(2_000)
      assert.equal(await waiting, '503 service_unavailable')
      receiver.answer = {}
      const { clock, settings } = world
      const next = await openApp(settings, { log: silentLog, clock, makeKey: testKey })
      try {
        const client = new Mailroom({
          baseUrl: next.http?.address ?? '',
          apiKey: world.key,
          maxRetries: 0,
        })
        const [delivery] = (await client.webhooks.deliveries(id).page()).data
        assert.deepEqual(
          [delivery?.status, delivery?.error, delivery?.nextAttemptAt],
          ['failed', 'internal_error', null],
        )
        // What is told now has had its turn after whatever waited.
        assert.equal((await client.webhooks.test(id)).ok, true)
        clock.advance(24 * 60 * 60_000)
        next.deps.wakeWebhooks()
        assert.equal((await client.webhooks.deliveries(id).page()).total, 2)
        assert.equal(receiver.requests.length, 2)
      } finally {
        await next.close(0)
      }
    } finally {
      await receiver.close()
      await world.close()
    }
  })
})
