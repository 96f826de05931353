// Two processes on one PostgreSQL, which goes away and comes back; and one of them is killed with leased deliveries.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { assertNothingLost, Intake, seededRandom } from './intake.ts'
import { startKillablePostgres } from './killable-postgres.ts'
import { assertAllSent, makeInboxes, sendMany, untilSettled } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'

const AWAY_MS = sizeOf('TEST_MAILROOM_AWAY_MS', { usual: 1_000, long: 5_000 })
/** Taken by each before it goes away, and after it came back. */
const TAKEN = sizeOf('TEST_MAILROOM_TAKEN', { usual: 15, long: 100 })
const GUARD_MS = 120_000
const UNDER_WAY = 10
/** The test shortens leases of a minute to this. */
const LEASE_LEFT_MS = 1_000

// Side by side: both tests mostly wait.
suite('two processes on one PostgreSQL', { concurrency: true }, () => {
  test('when it is killed during intake, both put mail off and no acknowledged message is lost', async (t) => {
    const postgres = await startKillablePostgres()
    t.after(() => postgres.stop())
    const databaseUrl = await createTestDatabase(postgres.url)
    const start = async () => {
      const service = await Service.start({ databaseUrl })
      t.after(() => service.close())
      return service
    }
    const pair = await Promise.all([start(), start()])
    const targets = await makeInboxes(pair[0], 2)
    const intakes = pair.map(
      (service, index) =>
        new Intake({
          service,
          targets: targets.slice(index, index + 1),
          clients: 2,
          random: seededRandom(index + 1),
        }),
    )
    t.after(() => intakes.map((intake) => intake.abandon()))
    const untilTaken = (count: number) =>
      Promise.all(intakes.map((intake) => intake.untilAcknowledged(count, GUARD_MS)))
    await untilTaken(TAKEN)
    await postgres.kill()
    await sleep(AWAY_MS)
    await postgres.restart()
    await untilTaken(TAKEN)
    for (const intake of intakes) {
      await intake.stop()
      t.diagnostic(`${intake.acknowledged.length} taken, put off ${[...intake.refusals]}`)
      assert.deepEqual([...intake.refusals.keys()], ['451 4.3.0'])
    }
    await pair[1].stopWell()
    const acknowledged = intakes.flatMap((intake) => intake.acknowledged)
    await assertNothingLost(pair[0], acknowledged)
  })

  test('deliveries that a killed process leased are sent by the other one when the leases end', async (t) => {
    const answered = Promise.withResolvers<void>()
    const sink = await Sink.open({ finalDot: () => answered.promise })
    t.after(() => sink.close())
    const databaseUrl = await createTestDatabase()
    const first = await Service.start({ env: sink.environment, databaseUrl })
    t.after(() => first.close())
    const inboxes = await makeInboxes(first, 2)
    const promised = await sendMany(first, sink, { inboxes, count: UNDER_WAY })
    await sink.until(() => sink.copies.length >= UNDER_WAY, GUARD_MS)
    await first.kill()
    answered.resolve()
    const second = await Service.start({ env: sink.environment, databaseUrl })
    t.after(() => second.close())
    const copies = sink.copies.length
    await runSql(
      second,
      `update deliveries set lease_until = lease_until - 60000 + ${LEASE_LEFT_MS}
        where queue_state = 'leased'`,
    )
    await untilSettled(second, GUARD_MS)
    t.diagnostic(`${copies} copies before, ${sink.copies.length} after`)
    await second.stopWell()
    // Each was under way when its process died, and is sent once more, byte for byte.
    const repeats = await assertAllSent(second, sink, promised)
    assert.ok(repeats.length <= copies, `${repeats.length} of ${copies}`)
  })
})
