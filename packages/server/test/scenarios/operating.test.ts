import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { type App, openApp } from '#app/app.ts'
import { readSettings } from '#config/read-settings.ts'
import { silentLog } from '#platform/log.ts'
import { exchange, readAnswer } from '#test/http/wire.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { openSender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { figureOf } from '#test/scenarios/figures.ts'
import { errorOf, outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { OPERATOR_TOKEN, onEachEngine, opened, openWorld, plainMail, testKey } from '#test/world.ts'

const OPERATOR = { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } }

onEachEngine('operating', (engine) => {
  const world = opened(() => openWorld(engine))

  test('health and readiness are public', async () => {
    for (const [path, body] of [
      ['/health', { status: 'ok' }],
      ['/ready', { status: 'ready' }],
    ] as const) {
      const response = await fetch(`${world.baseUrl}${path}`)
      assert.equal(response.status, 200)
      assert.deepEqual(await response.json(), body)
    }
  })

  test('every answer carries a request id, which an error repeats in its body', async () => {
    const inbox = await world.inbox()
    const requests: [string, RequestInit?][] = [
      ['/health'],
      ['/ready'],
      ['/openapi.json'],
      ['/docs'],
      ['/metrics', OPERATOR],
      ['/v1/pods'],
      [`/v1/inboxes/${inbox.id}`, { method: 'DELETE' }],
      ['/v1/pods', { headers: { authorization: 'Bearer wrong' } }],
      ['/v1/pods/unknown'],
      ['/v1/pods?limit=x'],
      ['/v1/pods', { method: 'PUT' }],
      ['/v1/pods', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
      ['/v1/pods', { method: 'POST', body: '{}', headers: { 'content-type': 'text/csv' } }],
      ['/v1/attachments/msg_x/a.txt?signature=x&expires=1'],
      ['/nowhere'],
    ]
    const ids = new Set<string>()
    for (const [path, init] of requests) {
      const response = await world.fetch(path, {
        ...init,
        headers: { 'x-request-id': 'mine', ...init?.headers },
      })
      const id = response.headers.get('x-request-id') ?? ''
      assert.match(id, /^req_[0-9a-z]{20}$/, path)
      if (!response.ok) assert.equal((await errorOf(response)).requestId, id)
      else await response.arrayBuffer()
      ids.add(id)
    }
    const { port } = new URL(world.baseUrl)
    const malformed = await exchange(Number(port), 'GET /v1/pods HTTP/1.1\r\nbad header\r\n\r\n')
    assert.equal(malformed.status, 400)
    assert.match(malformed.headers.get('x-request-id') ?? '', /^req_/)
    assert.equal(ids.size, requests.length)
  })

  test('the description names the actual address of the service', async () => {
    const response = await fetch(`${world.baseUrl}/openapi.json`)
    const { servers } = (await response.json()) as { servers: unknown }
    assert.deepEqual(servers, [{ url: world.baseUrl }])
    const page = await (await fetch(`${world.baseUrl}/docs/api/pods`)).text()
    assert.ok(page.includes(`${world.baseUrl}/v1/pods`))
    assert.doesNotMatch(page, /:0\/v1/)
  })

  test('a method that a path does not support is 405 with the supported ones', async () => {
    const paths = new Map<string, Set<string>>()
    for (const id of operationIds) {
      const { path, method } = operationOf(id)
      const methods = paths.get(path) ?? new Set<string>()
      methods.add(method)
      if (method === 'GET') methods.add('HEAD')
      paths.set(path, methods)
    }
    // /v1/reviews/approve is also a /v1/reviews/{id}.
    const isAlso = (path: string, template: string) =>
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/{]+')}$`).test(path)
    for (const [path, own] of paths) {
      const also = [...paths].flatMap(([template, those]) =>
        isAlso(path, template) ? [...those] : [],
      )
      const methods = new Set([...own, ...also])
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE']) {
        if (methods.has(method)) continue
        const response = await world.fetch(path.replaceAll(/\{\w+\}/g, 'x'), {
          method,
          ...OPERATOR,
        })
        assert.equal(
          response.headers.get('allow'),
          [...methods].sort().join(', '),
          `${method} ${path}`,
        )
        assert.equal(await outcomeOf(response), '405 method_not_allowed')
      }
    }
  })

  test('the metrics count requests by route, mail by outcome, and commits', async () => {
    const inbox = await world.inbox('measured')
    await world.client.inboxes.get(inbox.id)
    await world.client.inboxes.get('inb_unknown').catch(() => {})
    await world.fetch('/no/such/route/measured')
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    const html = plainMail({ headers: ['Content-Type: text/html'], body: '<p>Hi' })
    await world.send({ to: inbox.address, raw: html })
    await world.send({ to: 'nobody-measured@mailroom.localhost', raw: plainMail({}) })
    // An inbox deleted earlier is removed at any time.
    await until(
      async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
    )
    const response = await world.fetch('/metrics', OPERATOR)
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain/)
    const text = await response.text()
    const figure = (line: string) =>
      Number(new RegExp(`^${line} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
    const requests = (labels: string) => figure(`mailroom_http_requests_total\\{${labels}\\}`)
    assert.ok(requests('method="GET",route="/v1/inboxes/\\{id\\}",status="200"') >= 1)
    assert.ok(requests('method="GET",route="/v1/inboxes/\\{id\\}",status="404"') >= 1)
    assert.ok(requests('method="POST",route="/v1/inboxes",status="201"') >= 1)
    assert.ok(requests('method="GET",route="unknown",status="404"') >= 1)
    const outcomes = (labels: string) => figure(`mailroom_smtp_outcomes_total\\{${labels}\\}`)
    assert.equal(outcomes('outcome="message-accepted",code="250"'), 2)
    assert.equal(outcomes('outcome="recipient-refused",code="550"'), 1)
    assert.ok(figure('mailroom_commit_group_size_count') >= 3)
    assert.ok(figure('mailroom_commit_duration_seconds_count') >= 3)
    assert.match(text, /^mailroom_jobs_waiting 0$/m)
    assert.match(text, /^mailroom_parse_queue_length 0$/m)
    assert.equal(figure('mailroom_parse_duration_seconds_count\\{thread="main"\\}'), 1)
    assert.equal(figure('mailroom_parse_duration_seconds_count\\{thread="worker"\\}'), 1)
    assert.match(text, /^mailroom_write_queue_length \d+$/m)
    for (const told of ['measured', inbox.id, world.key]) assert.ok(!text.includes(told), told)
  })

  test('the figures of open connections and waiting jobs rise and fall', async () => {
    const connections = () => figureOf(world, 'mailroom_smtp_connections')
    const senders = [await openSender(world.smtpPort), await openSender(world.smtpPort)]
    await until(async () => (await connections()) === 2)
    for (const sender of senders) await sender.quit()
    await until(async () => (await connections()) === 0)
  })

  test('the figures of readers of events rise and fall', async () => {
    const figure = (name: string) => figureOf(world, `mailroom_event_${name}`)
    const inbox = await world.inbox()
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${world.key}` }
    const { signal } = gone
    const stream = await world.fetch('/v1/events/stream', { headers, signal })
    const wait = world.fetch(`/v1/inboxes/${inbox.id}/wait?timeout=60`, { headers, signal })
    const ended = assert.rejects(wait)
    const socket = new WebSocket(`${world.baseUrl.replace('http', 'ws')}/v1/ws?token=${world.key}`)
    const names = ['sockets', 'streams', 'waits']
    const figures = async () => (await Promise.all(names.map(figure))).join()
    await until(async () => (await figures()) === '1,1,1')
    // On PostgreSQL older transactions delay the log for a moment.
    await until(async () => (await figure('log_lag_seconds')) === 0)
    await until(async () => (await figure('catch_ups_waiting')) === 0)
    gone.abort()
    socket.close()
    await ended
    await stream.text().catch(() => {})
    await until(async () => (await figures()) === '0,0,0')
  })
})

onEachEngine('a service during its shutdown', (engine) => {
  test('is not ready, accepts nothing new, and finishes its work', async () => {
    const world = await openWorld(engine)
    const inbox = await world.inbox()
    const { port } = new URL(world.baseUrl)
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@sender.example>')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    assert.equal((await sender.command('DATA')).code, 354)
    const late = connect({ port: Number(port), host: '127.0.0.1' })
    await once(late, 'connect')
    late.write('GET /ready HTTP/1.1\r\nHost: localhost\r\n')
    await (await fetch(`${world.baseUrl}/health`)).arrayBuffer()

    const closing = world.app.close(5_000)
    const answered = readAnswer(late)
    late.write('\r\n')
    const answer = await answered
    assert.equal(answer.status, 503)
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal(answer.headers.get('connection'), 'close')
    assert.equal(JSON.parse(answer.body).error, 'service_unavailable')
    await assert.rejects(fetch(`${world.baseUrl}/health`))
    await assert.rejects(openSender(world.smtpPort))
    assert.equal((await sender.command('Subject: in hand\r\n\r\nbody\r\n.')).code, 250)
    await sender.quit()
    await closing
    await world.close()
  })
})

suite('figures of a service without delivery', () => {
  const world = opened(() => openWorld('postgres', { env: { MAILROOM_ROLES: 'http,smtp' } }))

  const figure = (name: string) => figureOf(world, name)

  test('due deliveries are counted, and their age grows until they are claimed', async () => {
    assert.equal(await figure('mailroom_deliveries_ready'), 0)
    assert.equal(await figure('mailroom_deliveries_oldest_due_seconds'), 0)
    const inbox = await world.inbox()
    const subject = 'Nobody takes it'
    await world.client.inboxes.send(inbox.id, { to: 'bob@friend.example', subject, body: 'Yet.' })
    world.clock.advance(70_000)
    assert.equal(await figure('mailroom_deliveries_ready'), 1)
    assert.ok((await figure('mailroom_deliveries_oldest_due_seconds')) >= 70)
    assert.equal(await figure('mailroom_webhook_deliveries_ready'), 0)
  })

  test('events waiting for webhook processing are counted, with the time that they have waited', async () => {
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    world.clock.advance(30_000)
    // On PostgreSQL older transactions delay the log for a moment.
    await until(async () => (await figure('mailroom_event_fan_out_waiting')) === 1)
    assert.ok((await figure('mailroom_event_fan_out_lag_seconds')) >= 30)
  })

  test('the times of mail, transactions, connections and periodic tasks are measured', async () => {
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    assert.ok((await figure('mailroom_smtp_message_duration_seconds_count')) >= 1)
    assert.ok((await figure('mailroom_write_duration_seconds_count')) >= 3)
    const waiting = 'mailroom_database_connections{state="waiting"}'
    await until(async () => (await figure(waiting)) === 0)
    assert.ok((await figure('mailroom_database_connections{state="busy"}')) >= 0)
    await until(async () => (await figure('mailroom_duties_held{duty="retention"}')) === 1)
    await until(async () => (await figure('mailroom_search_inboxes_waiting')) === 0)
    assert.equal(await figure('mailroom_domain_checks_due'), 0)
  })
})

const TASKS = [
  'blob sweep',
  'connection purge',
  'daily figures',
  'expired files',
  'expired uploads',
  'expiry',
  'hourly figures',
  'key rotation',
  'retention',
  'review expiry',
  'review mail',
  'scheduled sends',
  'search index',
  'thread claims',
]

test('one process leads the common tasks, and another takes over when it ends', async (t) => {
  const databaseUrl = await createPreparedDatabase()
  const first = await open(t, databaseUrl, 'webhooks')
  await until(async () => (await holdersOf(first)).length === TASKS.length)
  const second = await open(t, databaseUrl, 'delivery')
  const before = await holdersOf(second)
  assert.deepEqual(
    before.map(({ key }) => key),
    TASKS,
  )
  const [holder, ...others] = new Set(before.map(instanceOf))
  assert.deepEqual(others, [])
  await first.close(0)
  await until(async () => {
    const now = await holdersOf(second)
    return now.length === TASKS.length && now.every((row) => instanceOf(row) !== holder)
  })
})

const instanceOf = (row: { leased_by: string | null }) => row.leased_by?.split(' ')[0]

/** Tasks that a process leads, and its name. */
async function holdersOf(app: App) {
  return app.deps.db.read
    .selectFrom('jobs')
    .select(['key', 'leased_by'])
    .where('kind', '=', 'task')
    .where('leased_by', 'is not', null)
    .orderBy('key')
    .execute()
}

async function open(t: TestContext, databaseUrl: string, roles: string): Promise<App> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const reading = readSettings({
    MAILROOM_DATA_DIR: dataDir,
    MAILROOM_DATABASE_URL: databaseUrl,
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
    MAILROOM_ROLES: roles,
    ...certificateSettings(),
  })
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  const app = await openApp(reading.settings, { log: silentLog, makeKey: testKey })
  t.after(async () => {
    await app.close(0)
    await rm(dataDir, { recursive: true, force: true })
  })
  return app
}
