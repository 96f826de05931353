import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { Mailroom, type WholeWebhookDelivery } from '@mailroom/sdk'
import { openApp } from '#app/app.ts'
import { silentLog } from '#platform/log.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { findFreePorts } from '#test/peers/free-port.ts'
import { openReceiver, type Received, type Receiver } from '#test/peers/receiver.ts'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { errorOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail, testKey } from '#test/world.ts'
import { WEBHOOK_TESTS_MAX } from '#webhooks/test-webhook.ts'

const LIMIT = { timeout: 120_000 }
const HOUR_MS = 60 * MINUTE_MS
/** Waits between attempts, from the contract. */
const WAITS_MS = [
  MINUTE_MS / 2,
  MINUTE_MS,
  2 * MINUTE_MS,
  4 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]

type Made = { id: string; secret: string }
type Told = {
  event: string
  event_id: string
  attempt: number
  message?: { subject: string }
  webhook?: object
}
type Shown = {
  id: string
  eventId: string
  eventType: string
  status: string
  attempts: number
  lastAttemptAt: string | null
  nextAttemptAt: string | null
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

type Failing = {
  consecutiveFailures: number
  lastFailureAt: string | null
  failingSince: string | null
  lastError: string | null
  lastResponseStatus: number | null
  nextAttemptAt: string | null
}

const failureOf = ({ failingSince, lastError, lastResponseStatus, nextAttemptAt }: Failing) => [
  failingSince,
  lastError,
  lastResponseStatus,
  nextAttemptAt,
]

const bodyOf = (request: Received): Told => JSON.parse(request.body.toString())

onEachEngine('webhooks', (engine) => {
  const world = opened(() => openTenant(engine, { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }))
  afterEach(async () => {
    const { data } = await call<{ data: Made[] }>('GET', '/v1/webhooks')
    for (const { id } of data) await call('DELETE', `/v1/webhooks/${id}`)
  })

  const call = async <Value>(method: string, path: string, body?: object): Promise<Value> => {
    const response = await world.fetch(path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    assert.ok(response.ok, `${method} ${path}: ${response.status}`)
    return (response.status === 204 ? null : await response.json()) as Value
  }
  const make = (receiver: Receiver, fields: object = {}) =>
    call<Made>('POST', '/v1/webhooks', { url: `${receiver.origin}/hook`, ...fields })
  const deliveriesOf = async ({ id }: Made) =>
    (await call<{ data: Shown[] }>('GET', `/v1/webhooks/${id}/deliveries`)).data
  /** Polls the list until its newest delivery has this state. */
  const until = async (webhook: Made, isMet: (newest: Shown) => boolean): Promise<Shown> => {
    for (;;) {
      const [newest] = await deliveriesOf(webhook)
      if (newest !== undefined && isMet(newest)) return newest
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  /** Waits until this many attempts are over, with another to come. */
  const untilPutOff = (webhook: Made, attempts: number) =>
    until(
      webhook,
      (newest) =>
        newest.attempts === attempts &&
        Date.parse(newest.nextAttemptAt ?? '') > world.clock.now() + 10_000,
    )
  /** Of this delivery, with what the receiver got and answered, and without a signature. */
  const showsEachAttempt = async (webhook: Made, { id }: Shown, { requests }: Receiver) => {
    const path = `/v1/webhooks/${webhook.id}/deliveries/${id}`
    const { history, requestBody, ...shown } = await call<WholeWebhookDelivery>('GET', path)
    const [listed] = await deliveriesOf(webhook)
    assert.deepEqual(shown, listed)
    assert.deepEqual(
      history.map(({ number, responseStatus, responseBody, error }) => [
        number,
        responseStatus,
        responseBody,
        error,
      ]),
      requests
        .map((_, index) =>
          index === requests.length - 1
            ? [index + 1, 200, '', null]
            : [index + 1, 503, 'not now', 'status'],
        )
        .toReversed(),
    )
    const [last] = history
    const sent = requests.at(-1)
    assert.deepEqual(JSON.parse(requestBody ?? ''), {
      ...JSON.parse(String(sent?.body)),
      delivered_at: JSON.parse(requestBody ?? '').delivered_at,
    })
    assert.equal(new URL(last?.requestUrl ?? '').pathname, sent?.path)
    const fields = Object.entries(last?.requestHeaders ?? {})
    assert.ok(fields.length >= 6)
    for (const [name, value] of fields) assert.equal(sent?.headers[name.toLowerCase()], value, name)
    const text = JSON.stringify(await runSql(world, 'select * from webhook_attempts'))
    const signature = String(sent?.headers['x-signature'])
    const isSecret = [signature, webhook.secret, 'v1,'].some((one) => text.includes(one))
    assert.ok(signature.length === 64 && !isSecret)
  }
  const withReceiver = async (run: (receiver: Receiver) => Promise<void>) => {
    await using receiver = await openReceiver()
    await run(receiver)
  }

  test('an event is posted once, signed, and its outcome is shown', LIMIT, async () => {
    await withReceiver(async (receiver) => {
      const inbox = await world.inbox()
      const webhook = await make(receiver)
      receiver.answer = { status: 202, body: 'thank you' }
      await deliver(world, inbox, plainMail({ subject: 'to be told' }))
      const request = await receiver.waitFor(() => true)
      const { event, event_id, attempt, message } = bodyOf(request)
      assert.deepEqual([event, attempt, message?.subject], ['message.received', 1, 'to be told'])
      const { headers } = request
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers['user-agent'], 'Mailroom-Webhooks/1')
      assert.equal(headers['x-event-id'], event_id)
      const timestamp = String(headers['x-timestamp'])
      assert.ok(Math.abs(Number(timestamp) - world.clock.now() / 1000) < 60)
      const signed = createHmac('sha256', webhook.secret).update(`${timestamp}.${request.body}`)
      assert.equal(headers['x-signature'], signed.digest('hex'))
      const shown = await until(webhook, ({ status }) => status !== 'pending')
      assert.deepEqual(
        [shown.eventId, shown.eventType, shown.status, shown.attempts, shown.nextAttemptAt],
        [event_id, 'message.received', 'succeeded', 1, null],
      )
      assert.deepEqual(
        [shown.responseStatus, shown.responseBody, shown.error],
        [202, 'thank you', null],
      )
      assert.equal(receiver.requests.length, 1)
    })
  })

  test('header fields of its own are sent, and their values never shown', LIMIT, async () => {
    await withReceiver(async (receiver) => {
      const secret = 'Bearer only-the-receiver-knows'
      const headers = { Authorization: secret, 'X-Team': 'billing' }
      receiver.answer = { status: 200, body: `You sent ${secret}.` }
      const webhook = await make(receiver, { headers })
      const path = `/v1/webhooks/${webhook.id}`
      await call('POST', `${path}/test`)
      const [sent] = receiver.requests
      assert.equal(sent?.headers.authorization, secret)
      assert.equal(sent?.headers['x-team'], 'billing')
      const [delivery] = await deliveriesOf(webhook)
      const shown = await call<WholeWebhookDelivery>('GET', `${path}/deliveries/${delivery?.id}`)
      assert.equal(shown.history[0]?.requestHeaders?.authorization, '***')
      assert.equal(shown.history[0]?.responseBody, 'You sent ***.')
      const read = await call<{ headerNames: string[] }>('GET', path)
      assert.deepEqual(read.headerNames, ['Authorization', 'X-Team'])
      const everything = JSON.stringify([
        [webhook, read, shown, await call('GET', '/v1/webhooks')],
        await runSql(world, 'select * from webhooks'),
        await runSql(world, 'select * from webhook_attempts'),
      ])
      assert.ok(!everything.includes('only-the-receiver-knows'))

      // Another host does not get what was meant for the former one.
      await using other = await openReceiver()
      await call('PATCH', path, { url: `${receiver.origin}/elsewhere` })
      assert.equal((await call<typeof read>('GET', path)).headerNames.length, 2)
      await call('PATCH', path, { url: `${other.origin}/hook` })
      await call('POST', `${path}/test`)
      assert.equal(other.requests[0]?.headers.authorization, undefined)
      await call('PATCH', path, { headers: { 'X-Only': 'one' } })
      assert.deepEqual((await call<typeof read>('GET', path)).headerNames, ['X-Only'])
      await call('PATCH', path, { headers: null })
      assert.deepEqual((await call<typeof read>('GET', path)).headerNames, [])
    })
  })

  test('a header field of HTTP or of the service, or a malformed one, is refused', async () => {
    const url = 'https://hooks.nowhere.example/mail'
    const refused = [
      { Host: 'a' },
      { 'content-length': '1' },
      { 'Webhook-Signature': 'a' },
      { 'X-Signature': 'a' },
      { 'x y': 'a' },
      { '': 'a' },
      { X: 'a\r\nY: b' },
      { X: '' },
      { X: ' a' },
      { X: 'é' },
      { X: 'a'.repeat(1_001) },
      { X: 'a', x: 'b' },
      Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`X-${index}`, 'a'])),
    ]
    for (const headers of refused) {
      const made = world.client.webhooks.create({ url, headers } as never)
      assert.equal(await refusal(made), '400 bad_request', JSON.stringify(headers))
    }
  })

  test(
    'a failed delivery is retried on schedule, then by hand, with one event id',
    LIMIT,
    async () => {
      await withReceiver(async (receiver) => {
        const inbox = await world.inbox()
        receiver.answer = { status: 503, body: 'not now' }
        const webhook = await make(receiver)
        await deliver(world, inbox, plainMail({}))
        await receiver.waitForCount(1)
        for (const [index, waitMs] of WAITS_MS.entries()) {
          const attempts = index + 1
          const shown = await untilPutOff(webhook, attempts)
          assert.deepEqual(
            [shown.status, shown.error, shown.responseStatus],
            ['pending', 'status', 503],
          )
          world.clock.advance(waitMs - 1_500)
          world.app.deps.wakeWebhooks()
          assert.equal(receiver.requests.length, attempts)
          world.clock.advance(1_500)
          await receiver.waitForCount(attempts + 1)
        }
        const failed = await until(webhook, ({ status }) => status === 'failed')
        assert.deepEqual([failed.attempts, failed.nextAttemptAt], [10, null])
        receiver.answer = { status: 200 }
        await call('POST', `/v1/webhooks/${webhook.id}/deliveries/${failed.id}/retry`)
        const again = await until(webhook, ({ status }) => status === 'succeeded')
        assert.equal(again.attempts, 11)
        const told = receiver.requests.map(bodyOf)
        assert.deepEqual(
          told.map(({ attempt }) => attempt),
          Array.from({ length: 11 }, (_, index) => index + 1),
        )
        assert.equal(new Set(told.map(({ event_id }) => event_id)).size, 1)
        await showsEachAttempt(webhook, again, receiver)
      })
    },
  )

  test('a failing webhook says so, until it succeeds', LIMIT, async () => {
    await withReceiver(async (receiver) => {
      const inbox = await world.inbox()
      receiver.answer = { status: 503, body: 'not now' }
      const webhook = await make(receiver)
      const healthy = await call<Failing>('GET', `/v1/webhooks/${webhook.id}`)
      assert.deepEqual(failureOf(healthy), [null, null, null, null])
      assert.deepEqual([healthy.consecutiveFailures, healthy.lastFailureAt], [0, null])
      await deliver(world, inbox, plainMail({}))
      const first = await untilPutOff(webhook, 1)
      const { failingSince } = await call<Failing>('GET', `/v1/webhooks/${webhook.id}`)
      world.clock.advance(MINUTE_MS / 2)
      world.app.deps.wakeWebhooks()
      const second = await untilPutOff(webhook, 2)
      await refusalOf(world.client.webhooks.test(webhook.id))
      const { data } = await call<{ data: (Failing & { id: string })[] }>('GET', '/v1/webhooks')
      const failing = data.find(({ id }) => id === webhook.id)
      assert.ok(failing !== undefined)
      const [since, ...rest] = failureOf(failing)
      assert.deepEqual(rest, ['status', 503, second.nextAttemptAt])
      assert.equal(failing.consecutiveFailures, 2)
      assert.ok(Date.parse(failing.lastFailureAt ?? '') > Date.parse(first.lastAttemptAt ?? ''))
      assert.equal(since, failingSince, 'the first failure since a success')
      assert.ok(Math.abs(Date.parse(String(since)) - world.clock.now()) < HOUR_MS)
      const off = await call<Failing>('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: false })
      assert.deepEqual(failureOf(off), [since, 'status', 503, null])
      await call('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true })
      await deliver(world, inbox, plainMail({}))
      await untilPutOff(webhook, 1)
      const counted = await call<Failing>('GET', `/v1/webhooks/${webhook.id}`)
      assert.equal(counted.consecutiveFailures, 1)
      receiver.answer = { status: 200 }
      world.clock.advance(MINUTE_MS)
      world.app.deps.wakeWebhooks()
      await until(webhook, ({ status }) => status === 'succeeded')
      const again = await call<Failing>('GET', `/v1/webhooks/${webhook.id}`)
      assert.deepEqual(failureOf(again), [null, null, null, null])
      assert.deepEqual([again.consecutiveFailures, again.lastFailureAt], [0, null])
    })
  })

  test(
    'five days of only failures disable a webhook, and the other webhooks are notified',
    LIMIT,
    async () => {
      await withReceiver(async (receiver) => {
        await withReceiver(async (good) => {
          const inbox = await world.inbox()
          receiver.answer = { status: 302, headers: { location: good.origin } }
          const webhook = await make(receiver, { inboxIds: [inbox.id] })
          await make(good, { eventTypes: ['webhook.disabled'] })
          await deliver(world, inbox, plainMail({}))
          const first = await untilPutOff(webhook, 1)
          assert.equal(first.error, 'redirect')
          world.clock.advance(5 * DAY_MS - MINUTE_MS)
          await untilPutOff(webhook, 2)
          world.clock.advance(MINUTE_MS)
          await untilPutOff(webhook, 3)
          const { event, webhook: about } = bodyOf(await good.waitFor(() => true))
          assert.equal(event, 'webhook.disabled')
          const url = `${receiver.origin}/hook`
          assert.deepEqual(about, { id: webhook.id, url, reason: 'failing' })
          const shown = await call<{ enabled: boolean; disabledReason: string }>(
            'GET',
            `/v1/webhooks/${webhook.id}`,
          )
          assert.deepEqual([shown.enabled, shown.disabledReason], [false, 'failing'])
          world.clock.advance(10 * MINUTE_MS)
          const last = await until(webhook, ({ status }) => status === 'failed')
          assert.deepEqual([last.error, last.attempts], ['webhook_disabled', 3])
          assert.equal(receiver.requests.length, 3)
          assert.equal(good.requests.length, 1)
        })
      })
    },
  )

  test('endpoints that hang delay no others', LIMIT, async (t) => {
    await withReceiver(async (hanging) => {
      await withReceiver(async (good) => {
        const inbox = await world.inbox()
        await make(good)
        const measure = async () => {
          const [startMs, count] = [performance.now(), good.requests.length]
          await deliver(world, inbox, plainMail({}))
          const { atMs } = await good.waitFor((_, index) => index === count)
          return atMs - startMs
        }
        await measure()
        const aloneMs = await measure()
        hanging.answer = 'hang'
        await make(hanging)
        for (let index = 0; index < 20; index++) await measure()
        await hanging.waitForCount(1)
        const besideMs = await measure()
        t.diagnostic(`${Math.round(aloneMs)} ms alone, then ${Math.round(besideMs)} ms`)
        // They time out after fifteen seconds.
        assert.ok(besideMs - aloneMs < 12_000, `${aloneMs} ms, then ${besideMs} ms`)
      })
    })
  })
})

const ENV = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }

onEachEngine('limits of webhooks', (engine) => {
  const world = opened(() => openWorld(engine, { env: ENV }))
  // It restarts on its port, which the system must not give to a connection meanwhile.
  const receiver = opened(async () => {
    const [port = 0] = await findFreePorts(1)
    return openReceiver({ port })
  })

  const make = (name: string) => world.client.webhooks.create({ url: `${receiver.origin}/${name}` })
  const testRaw = (id: string) => world.fetch(`/v1/webhooks/${id}/test`, { method: 'POST' })
  const requestsTo = (name: string) =>
    receiver.requests.filter(({ path }) => path === `/${name}`).length

  test('a retry on a disabled webhook is refused and does not change its delivery', async () => {
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

  test('a webhook has one test at a time, and others are tested meanwhile', async () => {
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

  test('an interrupted response is shown as far as it arrived', async () => {
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

  test('the advice for an unknown pod mentions webhooks', async () => {
    const request = world.client.webhooks.create({ url: receiver.origin, podIds: ['pod_x'] })
    const { code, fix } = await refusalOf(request)
    assert.equal(code, 'invalid_pod')
    assert.match(fix ?? '', /a webhook .* all pods/)
  })
})

onEachEngine('a service that ends during a test of a webhook', (engine) => {
  test('reports it to the client, and does not post the test again after its next start', async () => {
    await using world = await openWorld(engine, { env: ENV })
    await using receiver = await openReceiver()
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
      // A new delivery would come after any that still waited.
      assert.equal((await client.webhooks.test(id)).ok, true)
      clock.advance(24 * 60 * 60_000)
      next.deps.wakeWebhooks()
      assert.equal((await client.webhooks.deliveries(id).page()).total, 2)
      assert.equal(receiver.requests.length, 2)
    } finally {
      await next.close(0)
    }
  })
})
