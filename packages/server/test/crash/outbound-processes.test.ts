// Two processes of the service on one PostgreSQL: they share the queue, the limits and the idempotency
// keys, and between them nothing happens twice.

import assert from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError } from '@mailroom/sdk'
import { DAY_MS } from '#platform/units.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  assertSentOnce,
  composeNumber,
  makeInboxes,
  type Promised,
  promisedOf,
  sendMany,
  untilArrived,
  untilSettled,
  untilTaken,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'

const MESSAGES = sizeOf('TEST_MAILROOM_OUTBOUND_MESSAGES', { usual: 100, long: 1_000 })
/** Each used by a hundred requests at once. */
const KEYS = sizeOf('TEST_MAILROOM_OUTBOUND_KEYS', { usual: 1, long: 100 })
const AT_ONCE = 100
const SETTLED_MS_MAX = 120_000
const SLOW_SENDS = 5
/** More than the time between two renewals of a lease, less than a slow send takes. */
const LEASE_LEFT_MS = 21_500
const SLOW_MS = 25_000

type Pair = readonly [Service, Service]

suite('two processes that send from one database', () => {
  let sink: Sink
  let pair: Pair
  const promised: Promised[] = []
  before(async () => {
    sink = await Sink.open({
      rcptMs: () => 20,
      onFinalDot: ({ recipients: [recipient = ''] }) =>
        recipient.startsWith('slow')
          ? { delayMs: SLOW_MS, next: '250 2.0.0 Ok: queued' }
          : { delayMs: 20, next: '250 2.0.0 Ok: queued' },
    })
    pair = await startPair(sink.environment)
    // Under way while the other tests run.
    promised.push(...(await beginSlowSends(pair[0], sink)))
  })
  after(async () => {
    await Promise.all(pair.map((service) => service.close()))
    await sink.close()
  })

  test(`${MESSAGES} queued messages go out once each, by both of them`, async (t) => {
    const [first, second] = pair
    const inboxes = await makeInboxes(first, 5)
    sink.hold()
    const begun = sink.begunAtMs.length
    const halves = await Promise.all([
      sendMany(first, sink, { inboxes, count: MESSAGES / 2 }),
      sendMany(second, sink, { inboxes, from: MESSAGES / 2, count: MESSAGES / 2 }),
    ])
    promised.push(...halves.flat())
    // Each has some in hand, however the machine divides itself between them.
    await sink.until(() => sink.namesFrom(begun).size === pair.length, SETTLED_MS_MAX)
    const startMs = performance.now()
    sink.release()
    await untilArrived(sink, promised, SETTLED_MS_MAX)
    const tookMs = Math.round(performance.now() - startMs)
    const counts = sink.countBySender()
    t.diagnostic(`${sink.copies.length} copies in ${tookMs} ms: ${JSON.stringify(counts)}`)
    const { 'first.example': byFirst = 0, 'second.example': bySecond = 0 } = counts
    assert.ok(byFirst > SLOW_SENDS && bySecond > 0)
  })

  test('a hundred equal requests at once to both are one message and a hundred equal answers', async (t) => {
    const [inbox] = await makeInboxes(pair[0], 1)
    const startMs = performance.now()
    for (let key = 0; key < KEYS; key++) {
      const message = composeNumber(sink, 10_000 + key)
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => {
          const { client } = index % 2 === 0 ? pair[0] : pair[1]
          const options = { idempotencyKey: `race-${key}` }
          return untilTaken(() => client.inboxes.send(inbox?.id ?? '', message, options))
        }),
      )
      const [answer] = answers
      assert.ok(answer !== undefined)
      for (const one of answers) assert.deepEqual(one, answer)
      promised.push(promisedOf(answer, message))
    }
    const tookMs = Math.round(performance.now() - startMs)
    t.diagnostic(`${KEYS} keys, ${KEYS * AT_ONCE} requests in ${tookMs} ms`)
  })

  test('and in the end each message came once, also those that took longer than their leases', async () => {
    await untilSettled(pair[0], SETTLED_MS_MAX)
    await pair[1].stopWell()
    await assertSentOnce(pair[0], sink, promised)
  })
})

const SENDS = sizeOf('TEST_MAILROOM_OUTBOUND_AT_ONCE', { usual: 80, long: 200 })
const SENDS_PER_MINUTE = 10
const STRANGERS_PER_DAY = 25

suite('two processes that share limits', () => {
  test(`of ${SENDS} sends at once to both exactly as many are taken as the limits allow`, async (t) => {
    const sink = await Sink.open()
    t.after(() => sink.close())
    const pair = await startPair({
      ...sink.environment,
      MAILROOM_LIMIT_SENDS_PER_MINUTE: String(SENDS_PER_MINUTE),
      MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: String(STRANGERS_PER_DAY),
    })
    t.after(() => Promise.all(pair.map((service) => service.close())))
    await untilFarFromMidnight(t)
    const inboxes = await makeInboxes(pair[0], 11)
    const [first, ...others] = inboxes.map(({ id }) => id)
    assert.ok(first !== undefined)

    const rate = await sendAtOnce(pair, sink, { inboxIds: [first], from: 0 })
    t.diagnostic(`one inbox: ${JSON.stringify(rate.answers)}`)
    assert.deepEqual(rate.answers, {
      taken: SENDS_PER_MINUTE,
      rate_limit_exceeded: SENDS - SENDS_PER_MINUTE,
    })
    assert.ok(rate.waits.every((seconds) => seconds !== null && seconds >= 20 && seconds <= 60))

    const cold = await sendAtOnce(pair, sink, { inboxIds: others, from: SENDS })
    t.diagnostic(`ten inboxes to strangers: ${JSON.stringify(cold.answers)}`)
    assert.equal(cold.answers.taken, STRANGERS_PER_DAY - SENDS_PER_MINUTE)

    await untilSettled(pair[0], SETTLED_MS_MAX)
    await pair[1].stopWell()
    await assertSentOnce(pair[0], sink, [...rate.promised, ...cold.promised])
  })
})

async function startPair(env: Record<string, string>): Promise<Pair> {
  const databaseUrl = await createTestDatabase()
  const start = (name: string) =>
    Service.start({ databaseUrl, env: { ...env, MAILROOM_SMTP_HOSTNAME: `${name}.example` } })
  const first = await start('first')
  try {
    return [first, await start('second')]
  } catch (error) {
    await first.close()
    throw error
  }
}

/** Sends that servers take their time to answer, with little left of their leases. */
async function beginSlowSends(service: Service, sink: Sink): Promise<Promised[]> {
  const inboxes = await makeInboxes(service, 1)
  const compose = (_: Sink, number: number) => ({
    to: `slow-${number}@four.example`,
    subject: `Message ${number}`,
    body: 'Slow.',
  })
  const promised = await sendMany(service, sink, { inboxes, count: SLOW_SENDS, compose })
  await untilArrived(sink, promised, SETTLED_MS_MAX)
  await runSql(
    service,
    `update deliveries set lease_until = ${Date.now() + LEASE_LEFT_MS}
      where queue_state = 'leased' and recipient like 'slow-%'`,
  )
  return promised
}

type Answers = { taken: number } & Record<string, number>

/** SENDS messages of one recipient each, all at once, to both in turn. */
async function sendAtOnce(
  pair: Pair,
  sink: Sink,
  { inboxIds, from }: { inboxIds: readonly string[]; from: number },
) {
  const answers: Answers = { taken: 0 }
  const waits: (number | null)[] = []
  const promised: Promised[] = []
  const send = async (number: number): Promise<void> => {
    const { client } = number % 2 === 0 ? pair[0] : pair[1]
    const message = { ...composeNumber(sink, number), cc: [] }
    const inboxId = inboxIds[number % inboxIds.length] ?? ''
    try {
      promised.push(promisedOf(await client.inboxes.send(inboxId, message), message))
      answers.taken += 1
    } catch (error) {
      assert.ok(error instanceof MailroomError, String(error))
      // Nothing was changed: a machine that does other work lets requests wait for too long.
      if (error.status === 503) return send(number)
      assert.equal(error.status, 429, String(error))
      answers[error.code] = (answers[error.code] ?? 0) + 1
      waits.push(error.retryAfterSeconds)
    }
  }
  await Promise.all(Array.from({ length: SENDS }, (_, index) => send(from + index)))
  return { answers, waits, promised }
}

/** Strangers are counted by the UTC day. */
async function untilFarFromMidnight(t: TestContext): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs > 20_000) return
  t.diagnostic(`waiting ${leftMs} ms for midnight`)
  await sleep(leftMs)
}
