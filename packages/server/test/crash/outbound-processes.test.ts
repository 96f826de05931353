// Two processes of the service on one PostgreSQL share the queue: each message goes out once, also where an attempt takes
// longer than its lease, and where the process that leased it was killed.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  assertAllSent,
  assertSentOnce,
  makeInboxes,
  type Promised,
  sendMany,
  untilArrived,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'

const MESSAGES = sizeOf('TEST_MAILROOM_OUTBOUND_MESSAGES', { usual: 100, long: 1_000 })
const SETTLED_MS_MAX = 120_000
const SLOW_SENDS = 5
/** More than the time between two renewals of a lease, less than a slow send takes. */
const LEASE_LEFT_MS = 21_500
const SLOW_MS = 25_000
/** Deliveries that the killed process leased. */
const UNDER_WAY = 10
/** The test shortens their leases of a minute to this. */
const LEFT_AFTER_KILL_MS = 1_000

suite('two processes that send from one database', () => {
  test(`send ${MESSAGES} queued messages once each, and those that take longer than their leases`, async (t) => {
    const sink = await Sink.open({
      rcptMs: () => 20,
      onFinalDot: ({ recipients: [recipient = ''] }) => ({
        delayMs: recipient.startsWith('slow') ? SLOW_MS : 20,
        next: '250 2.0.0 Ok: queued',
      }),
    })
    t.after(() => sink.close())
    const start = await starter(t, sink)
    const pair = [await start('first'), await start('second')] as const
    const [first, second] = pair
    // Under way while the others are sent.
    const promised = await beginSlowSends(first, sink)
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
    await untilSettled(first, SETTLED_MS_MAX)
    await second.stopWell()
    await assertSentOnce(first, sink, promised)
  })

  test('take over deliveries that a killed process leased, when the leases end', async (t) => {
    const answered = Promise.withResolvers<void>()
    const sink = await Sink.open({ finalDot: () => answered.promise })
    t.after(() => sink.close())
    const start = await starter(t, sink)
    const first = await start('first')
    const inboxes = await makeInboxes(first, 2)
    const promised = await sendMany(first, sink, { inboxes, count: UNDER_WAY })
    await sink.until(() => sink.copies.length >= UNDER_WAY, SETTLED_MS_MAX)
    await first.kill()
    answered.resolve()
    const second = await start('second')
    const copies = sink.copies.length
    await runSql(
      second,
      `update deliveries set lease_until = lease_until - 60000 + ${LEFT_AFTER_KILL_MS}
        where queue_state = 'leased'`,
    )
    await untilSettled(second, SETTLED_MS_MAX)
    t.diagnostic(`${copies} copies before, ${sink.copies.length} after`)
    await second.stopWell()
    // Each was under way when its process died, and is sent once more, byte for byte.
    const repeats = await assertAllSent(second, sink, promised)
    assert.ok(repeats.length <= copies, `${repeats.length} of ${copies}`)
  })
})

/** Starts processes that send to the sink, on one empty database. */
async function starter(t: TestContext, sink: Sink): Promise<(name: string) => Promise<Service>> {
  const databaseUrl = await createTestDatabase()
  return async (name) => {
    const env = { ...sink.environment, MAILROOM_SMTP_HOSTNAME: `${name}.example` }
    const service = await Service.start({ databaseUrl, env })
    t.after(() => service.close())
    return service
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
