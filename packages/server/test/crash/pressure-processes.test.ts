// Two processes on one PostgreSQL: it goes away under both and comes back, and one of them is killed with
// deliveries in its hands.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { sizeOf } from '#test/size-of.ts'
import { findLosses, Intake, seededRandom } from './intake.ts'
import { startKillablePostgres } from './killable-postgres.ts'
import { assertAllSent, compareOutbound, makeInboxes, reportOf, sendMany } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { untilSettled } from './outbound-stored.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'

const AWAY_MS = sizeOf('TEST_MAILROOM_AWAY_MS', { usual: 1_000, long: 5_000 })
/** Taken by each before it goes away, and after it came back. */
const TAKEN = sizeOf('TEST_MAILROOM_TAKEN', { usual: 15, long: 100 })
const GUARD_MS = 120_000
const UNDER_WAY = 10
/** Of a lease of a minute: the rest of it nobody needs to wait for. */
const LEASE_LEFT_MS = 1_000

// They wait more than they work.
suite('two processes on one PostgreSQL', { concurrency: true }, () => {
  test('it is killed during intake by both: mail is put off by both and nothing acknowledged is lost', async (t) => {
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
    for (const service of pair) {
      assert.doesNotMatch(service.log, /"status":500|because of an internal error|"level":50/)
      assert.equal((await service.stop()).code, 0)
    }
    const acknowledged = intakes.flatMap((intake) => intake.acknowledged)
    const stored = await readStored(pair[0])
    assert.deepEqual(findLosses(acknowledged, stored), { lost: 0, truncated: 0, doubled: 0 })
  })

  test('what a killed process had in its hands the other one sends when its leases end', async (t) => {
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
    assert.equal((await second.stop()).code, 0)
    const compared = await compareOutbound(second, sink, promised)
    const { lost, doubled, altered, unknown } = reportOf(compared)
    // Each was under way when its process died, and is sent once more, byte for byte.
    assert.deepEqual({ lost, altered, unknown }, { lost: 0, altered: 0, unknown: 0 })
    assert.ok(doubled <= copies, `${doubled} of ${copies}`)
    assertAllSent(compared, promised)
  })
})
