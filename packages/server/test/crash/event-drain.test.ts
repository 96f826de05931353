// The service is told to end while readers of events are connected, requests wait and webhook deliveries are under way:
// each of them ends as promised, and afterwards no event is missing.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import type { Inbox } from '@mailroom/sdk'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { closeSocket, openSocket, type SocketClient } from '#test/http/socket-client.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { openReceiver, type Receiver } from '#test/peers/receiver.ts'
import type { Sender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { plainMail } from '#test/world.ts'
import { SERVICE_KEY, Service } from './service.ts'

/** The aim is ten seconds, after which the service cuts what is left. */
const EXIT_MS_MAX = 20_000
/** Two within a second would be one, as npm passes it on. */
const BETWEEN_SIGNALS_MS = 1_300
const ANSWER_MS = 2_000
/** Longer than it takes until the second signal. */
const LATE_ANSWER_MS = 14_000
/** Endpoints of each kind, each with an attempt under way. */
const ENDPOINTS = 5
const SOCKETS = 10
const WAITS = 5
const TRANSACTIONS = 5

suite('an orderly end of event delivery', { concurrency: true }, () => {
  test('SIGTERM ends readers, waits and webhooks in ten seconds and loses nothing, on SQLite', (t) =>
    drain(t))
  // The order of the end is the same on both engines; other tests return a lease on both.
  if (isLongRun()) {
    test('SIGTERM ends readers, waits and webhooks in ten seconds and loses nothing, on PostgreSQL', async (t) =>
      drain(t, await createTestDatabase()))
  }

  test('a second SIGTERM ends it at once, and the next start repeats deliveries without an outcome', async (t) => {
    const { service, late, hanging } = await openUnderWay(t, { answerMs: LATE_ANSWER_MS })
    service.signal('SIGTERM')
    await until(async () => /shutting down/.test(service.log))
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_SIGNALS_MS))
    const exit = await service.stop('SIGTERM')
    assert.notEqual(exit.code, 0)
    assert.ok(exit.durationMs < 5_000, `${exit.durationMs} ms`)
    late.answer = {}
    hanging.answer = {}
    await service.start()
    for (const receiver of [late, hanging]) {
      await until(async () => receiver.requests.length >= 2 * ENDPOINTS)
      assert.deepEqual([...countPosts(receiver).values()], Array(ENDPOINTS).fill(2))
    }
  })
})

async function drain(t: TestContext, databaseUrl?: string): Promise<void> {
  const { service, inbox, late, hanging } = await openUnderWay(t, { databaseUrl })
  const sockets = await Promise.all(
    Array.from({ length: SOCKETS }, () => openSocket(service.baseUrl, { token: SERVICE_KEY })),
  )
  for (const socket of sockets) await socket.ask({ type: 'subscribe' })
  const headers = { authorization: `Bearer ${SERVICE_KEY}` }
  const feed = await openFeedClient(`${service.baseUrl}/v1/events/stream`, headers)
  const waiting = Array.from({ length: WAITS }, () =>
    fetch(`${service.baseUrl}/v1/inboxes/${inbox.id}/wait?timeout=60&subject=never`, { headers }),
  )
  await send(service, inbox, 'seen by all')
  const seen = await Promise.all(sockets.map((socket) => socket.next()))
  const finishing = await openTransactions(service, inbox)
  const hangingUp = await openTransactions(service, inbox)

  const stopping = service.stop('SIGTERM')
  await until(async () => /shutting down/.test(service.log))
  // Mail acknowledged during the end counts as well.
  for (const { sender, rest } of finishing) {
    sender.write(rest)
    assert.equal((await sender.reply()).code, 250)
  }
  const closed = await Promise.all(sockets.map((socket) => socket.closed))
  const answers = await Promise.all(waiting)
  const told = await feed.next()
  const exit = await stopping
  for (const { sender } of hangingUp) sender.socket.destroy()
  const left = await statesOf(service)
  t.diagnostic(`exit ${exit.code} after ${Math.round(exit.durationMs)} ms, ${JSON.stringify(left)}`)
  assert.equal(exit.code, 0)
  assert.ok(exit.durationMs < EXIT_MS_MAX, `${exit.durationMs} ms`)
  assert.deepEqual([...new Set(closed.map(({ code }) => code))], [1001])
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [503])
  assert.equal(told?.id, seen[0]?.event_id)
  assert.doesNotMatch(service.log, /"level":50/)
  // Answered in time: noted. Cut: as if it had not been tried.
  assert.ok((left['/late succeeded, over, 1 attempts'] ?? 0) >= ENDPOINTS)
  assert.equal(left['/hanging pending, ready, 0 attempts'], 2 * ENDPOINTS)
  assert.ok(!Object.keys(left).some((state) => state.includes('leased')))

  hanging.answer = {}
  late.answer = {}
  await service.start()
  const ids = (await service.listEvents()).map(({ event_id }) => event_id)
  assert.equal(ids.length, 2 + TRANSACTIONS)
  for (const receiver of [late, hanging]) {
    const wanted = ENDPOINTS * ids.length
    await until(async () => countPosts(receiver).size === wanted)
    for (const [, eventId = ''] of splitKeys(receiver)) assert.ok(ids.includes(eventId))
  }
  const twice = [...countPosts(late).values()].filter((count) => count > 1)
  assert.deepEqual(twice, [], 'what was answered in time is not told again')
  await assertGoesOn(service, sockets, seen[0]?.event_id, ids)
}

type UnderWay = { service: Service; inbox: Inbox; late: Receiver; hanging: Receiver }

/** A service in the middle of an attempt to each endpoint, of which some are slow and others hang. */
async function openUnderWay(
  t: TestContext,
  { databaseUrl, answerMs = ANSWER_MS }: { databaseUrl?: string | undefined; answerMs?: number },
): Promise<UnderWay> {
  const [late, hanging] = await Promise.all([openReceiver(), openReceiver()])
  t.after(() => Promise.all([late.close(), hanging.close()]))
  hanging.answer = 'hang'
  const service = await Service.start({
    env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' },
    databaseUrl,
  })
  t.after(() => service.close())
  const inbox = await service.client.inboxes.create({})
  for (let number = 0; number < ENDPOINTS; number++) {
    await service.client.webhooks.create({ url: `${late.origin}/late?${number}` })
    await service.client.webhooks.create({ url: `${hanging.origin}/hanging?${number}` })
  }
  late.answer = { delayMs: answerMs }
  await send(service, inbox, 'under way')
  await Promise.all([late.waitForCount(ENDPOINTS), hanging.waitForCount(ENDPOINTS)])
  return { service, inbox, late, hanging }
}

async function send(service: Service, { address }: Inbox, subject: string): Promise<void> {
  const sender = await service.sender()
  const raw = plainMail({ to: address, subject })
  assert.equal((await sender.send({ to: address, raw })).code, 250)
  await sender.quit()
}

/** Clients in the middle of a message, with what is left of it. */
function openTransactions(
  service: Service,
  { address }: Inbox,
): Promise<{ sender: Sender; rest: string }[]> {
  const open = async () => {
    const sender = await service.sender()
    sender.socket.on('error', () => {})
    for (const line of ['MAIL FROM:<a@sender.example>', `RCPT TO:<${address}>`, 'DATA']) {
      assert.ok((await sender.command(line)).code < 400)
    }
    const raw = plainMail({ to: address, subject: 'Late' })
    sender.write(raw.slice(0, 50))
    return { sender, rest: `${raw.slice(50)}.\r\n` }
  }
  return Promise.all(Array.from({ length: TRANSACTIONS }, open))
}

/** How often each event was posted to each endpoint. */
function countPosts(receiver: Receiver): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { path, headers } of receiver.requests) {
    const key = `${path} ${headers['x-event-id']}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

function splitKeys(receiver: Receiver): string[][] {
  return [...countPosts(receiver).keys()].map((key) => key.split(' '))
}

/** How many deliveries of each kind of endpoint are in which state, of a service that has stopped. */
async function statesOf(service: Service): Promise<Record<string, number>> {
  const rows = await runSql(
    service,
    `select url, status, queue_state, attempts, count(*) as count
      from webhook_deliveries join webhooks on webhooks.id = webhook_deliveries.lane
      group by url, status, queue_state, attempts`,
  )
  const states: Record<string, number> = {}
  for (const { url, status, queue_state, attempts, count } of rows) {
    const { pathname } = new URL(String(url))
    const state = `${pathname} ${status}, ${queue_state ?? 'over'}, ${attempts} attempts`
    states[state] = (states[state] ?? 0) + Number(count)
  }
  return states
}

/** A reader that saw `seen`, and what came until its socket was closed, is told the rest. */
async function assertGoesOn(
  service: Service,
  [socket]: readonly SocketClient[],
  seen: unknown,
  ids: readonly string[],
): Promise<void> {
  const before = [seen, ...(socket?.rest ?? []).map((frame) => frame.event_id)]
  const again = await openSocket(service.baseUrl, { token: SERVICE_KEY })
  await again.ask({ type: 'subscribe', last_event_id: before.at(-1) })
  const all = [...before]
  while (all.length < ids.length - 1) all.push((await again.next()).event_id)
  assert.deepEqual(all, ids.slice(1))
  await closeSocket(again)
}
