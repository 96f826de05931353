import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { type Log, silentLog } from '#platform/log.ts'
import { type CollectedSpan, type Collector, openCollector } from '#test/peers/collector.ts'
import { openReceiver } from '#test/peers/receiver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { opened, openSecond, openWorld, plainMail, type World } from '#test/world.ts'

const LIMIT = { timeout: 60_000 }
const PRIVATE = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

const parentOf = (traceId: string, spanId: string) => `00-${traceId}-${spanId}-01`

async function addWebhook(world: World, url: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const made = await world.fetch('/v1/webhooks', {
    method: 'POST',
    body: JSON.stringify({ url }),
    headers,
  })
  assert.equal(made.status, 201)
}

/** The spans of a trace by name, once there is one of this name for which `holds` is true. */
function traceWith(
  collector: Collector,
  name: string,
  holds: (span: CollectedSpan) => boolean = () => true,
): Promise<Map<string, CollectedSpan>> {
  return collector.until((spans) => {
    const found = spans.find((span) => span.name === name && holds(span))
    if (found === undefined) return undefined
    const same = spans.filter(({ traceId }) => traceId === found.traceId)
    return new Map(same.map((span) => [span.name, span]))
  })
}

/** Asserts that each continues where the previous one ended. */
function assertChain(spans: Map<string, CollectedSpan>, names: string[]): void {
  for (const [index, name] of names.entries()) {
    const span = spans.get(name)
    assert.ok(span, `${name} in ${[...spans.keys()].join(', ')}`)
    const before = index === 0 ? undefined : spans.get(names[index - 1] ?? '')
    if (before !== undefined) assert.equal(span.parentSpanId, before.spanId, name)
    assert.ok(span.endMs >= span.startMs, name)
  }
}

suite('traces of two processes on one database', () => {
  const collector = opened(() => openCollector())
  const receiver = opened(() => openReceiver())
  const world = opened(() => {
    const roles = { MAILROOM_ROLES: 'http,smtp', MAILROOM_OTLP_ENDPOINT: collector.endpoint }
    return openWorld('postgres', { env: { ...PRIVATE, ...roles } })
  })
  const roles = new Set(['delivery', 'webhooks'] as const)
  const second = opened(() => openSecond(world, { roles, metricsPort: 0 }))
  before(() => addWebhook(world, receiver.origin))

  test('a message is followed from its receipt to the webhook', LIMIT, async () => {
    const inbox = await world.inbox('traced')
    const raw = plainMail({
      to: inbox.address,
      subject: 'A secret matter',
      body: 'Of nobody else.',
    })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const request = await receiver.waitFor(({ body }) => body.includes('A secret matter'))
    const spans = await traceWith(collector, 'POST webhook', ({ spanId }) =>
      String(request.headers.traceparent).includes(spanId),
    )
    await traceWith(collector, 'commit settleWebhookDelivery')
    const parts = ['SMTP transaction', 'receive', 'commit receiveMessage', 'event']
    assertChain(spans, [...parts, 'webhook attempt', 'POST webhook'])
    assertChain(spans, ['receive', 'parse'])
    assertChain(spans, ['receive', 'authenticate'])
    assert.equal(spans.get('SMTP transaction')?.parentSpanId, '')
    const rolesOf = (name: string) => spans.get(name)?.resource['mailroom.roles']
    assert.equal(rolesOf('commit receiveMessage'), 'http,smtp')
    assert.equal(rolesOf('POST webhook'), 'delivery,webhooks')
    assert.equal(spans.get('POST webhook')?.attributes['http.response.status_code'], 200)
    assert.equal(spans.get('event')?.attributes['mailroom.event.kind'], 'message.received')
    for (const told of [
      inbox.address,
      'traced@',
      'secret matter',
      'nobody else',
      receiver.origin,
    ]) {
      assert.ok(!collector.text.includes(told), told)
    }
  })

  test(
    'a request continues the trace of its caller, up to the attempts to deliver',
    LIMIT,
    async () => {
      const [from, to] = [await world.inbox(), await world.inbox()]
      const answer = await world.fetch(`/v1/inboxes/${from.id}/send`, {
        method: 'POST',
        body: JSON.stringify({ to: to.address, subject: 'On', body: 'And on.' }),
        headers: {
          'content-type': 'application/json',
          'idempotency-key': 'traced-send',
          traceparent: parentOf(TRACE, CALLER),
        },
      })
      assert.equal(answer.status, 200, await answer.text())
      const isOurs = ({ traceId }: CollectedSpan) => traceId === TRACE
      await traceWith(collector, 'webhook attempt', isOurs)
      const spans = await traceWith(collector, 'delivery attempt', isOurs)
      const request = 'POST /v1/inboxes/{id}/send'
      assert.equal(spans.get(request)?.parentSpanId, CALLER)
      assert.equal(spans.get(request)?.attributes['http.response.status_code'], 200)
      assertChain(spans, [
        request,
        'commit sendMessage',
        'delivery attempt',
        'commit receiveMessage',
      ])
      assert.equal(spans.get('delivery attempt')?.attributes['mailroom.outcome'], 'reached')
      assert.ok(!collector.text.includes(world.key))
    },
  )

  test('an invalid traceparent begins a new trace', LIMIT, async () => {
    const zero = '0'.repeat(32)
    for (const traceparent of ['nonsense', `00-${zero}-${CALLER}-01`, `ff-${TRACE}-${CALLER}-01`]) {
      const path = `/v1/pods?limit=${traceparent.length}`
      assert.equal((await world.fetch(path, { headers: { traceparent } })).status, 200)
    }
    const found = await collector.until((spans) => {
      const lists = spans.filter(({ name }) => name === 'GET /v1/pods')
      return lists.length < 3 ? undefined : lists
    })
    for (const span of found) {
      assert.equal(span.parentSpanId, '')
      assert.ok(span.traceId !== TRACE && span.traceId !== zero)
    }
  })

  test('a process without the API reports its health and figures on a port of its own', async () => {
    const at = `http://127.0.0.1:${second.service?.port}`
    assert.deepEqual(await (await fetch(`${at}/health`)).json(), { status: 'ok' })
    assert.deepEqual(await (await fetch(`${at}/ready`)).json(), { status: 'ready' })
    assert.equal((await fetch(`${at}/metrics`)).status, 401)
    const authorization = `Bearer ${world.settings.adminToken}`
    assert.equal((await fetch(`${at}/metrics`, { headers: { authorization } })).status, 200)
    assert.equal((await fetch(`${at}/v1/pods`, { headers: { authorization } })).status, 404)
    assert.equal((await fetch(`${at}/health`, { method: 'POST' })).status, 405)
  })
})

test('traces that are not sampled send nothing, and tell the receiver so', LIMIT, async () => {
  await using collector = await openCollector()
  await using receiver = await openReceiver()
  const env = {
    ...PRIVATE,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    MAILROOM_TRACE_SHARE: '0',
  }
  await using world = await openWorld('sqlite', { env })
  await addWebhook(world, receiver.origin)
  const inbox = await world.inbox()
  await world.send({ to: inbox.address, raw: plainMail({}) })
  const { headers } = await receiver.waitFor(({ headers }) => headers.traceparent !== undefined)
  assert.match(String(headers.traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  await world.app.close(1_000)
  assert.equal(collector.requests, 0)
})

test('a collector that hangs or refuses loses no mail', LIMIT, async () => {
  await using collector = await openCollector()
  const warnings: string[] = []
  const log: Log = { ...silentLog, warn: (_, text) => void warnings.push(text) }
  const env = { MAILROOM_OTLP_ENDPOINT: `${collector.endpoint}/` }
  await using world = await openWorld('sqlite', { env, log })
  collector.habit = 'refuse'
  const inbox = await world.inbox()
  assert.equal((await world.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
  await until(async () => warnings.some((text) => text.startsWith('traces were dropped')))
  collector.habit = 'hang'
  for (let count = 0; count < 5; count++) {
    const messageId = `<m${count}@sender.example>`
    const mail = { to: inbox.address, raw: plainMail({ messageId }) }
    assert.equal((await world.send(mail)).code, 250)
  }
  await until(async () => collector.requests > 1)
  await world.app.close(1_000)
})

test('without a collector no trace is passed on, and rows have none', LIMIT, async () => {
  await using receiver = await openReceiver()
  await using world = await openWorld('sqlite', { env: PRIVATE })
  await addWebhook(world, receiver.origin)
  const inbox = await world.inbox()
  await world.send({ to: inbox.address, raw: plainMail({}) })
  const { headers } = await receiver.waitFor(({ body }) => body.includes('message.received'))
  assert.equal(headers.traceparent, undefined)
  const rows = await world.app.deps.db.read.selectFrom('events').select('trace_parent').execute()
  assert.ok(rows.every((row) => row.trace_parent === null))
})
