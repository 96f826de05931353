// The database of the service goes away and comes back: mail and requests are put off, never lost and never answered
// wrongly, without a restart of the service.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError } from '@mailroom/sdk'
import { databasePath } from '#app/open-store.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { plainMail } from '#test/world.ts'
import { lockDatabase } from './database-lock.ts'
import { assertNothingLost, Intake, seededRandom } from './intake.ts'
import { startKillablePostgres } from './killable-postgres.ts'
import { Service } from './service.ts'

const POSTGRES_AWAY_MS = 3_000
const LOCKED_MS = 6_000
/** The aim is 5 s. */
const RECOVERY_MS_MAX = 30_000
/** Taken before it goes away, and half as many after it came back. */
const TAKEN = sizeOf('TEST_MAILROOM_TAKEN_BEFORE', { usual: 60, long: 200 })
const INTAKE_MS_MAX = 60_000
/** The service gives up a connection after two seconds, and a lock too. */
const REFUSAL_MS_MAX = 20_000

suite('a database that goes away', { concurrency: true }, () => {
  test('PostgreSQL killed during intake: mail is put off and no acknowledged message is lost', async (t) => {
    const postgres = await startKillablePostgres()
    t.after(() => postgres.stop())
    const service = await Service.start({
      databaseUrl: await createTestDatabase(postgres.url),
      // The bytes of a message and its rows in two places: more that could come apart.
      env: { MAILROOM_BLOB_URL: 'disk' },
    })
    t.after(() => service.close())
    const { pid } = service
    const targets = [
      await service.client.inboxes.create({}),
      await service.client.inboxes.create({}),
    ]
    const intake = new Intake({
      service,
      targets,
      clients: 4,
      random: seededRandom(7),
      largeShare: 0.2,
    })
    t.after(() => intake.abandon())

    await intake.untilAcknowledged(TAKEN, INTAKE_MS_MAX)
    await postgres.kill()
    const goneMs = performance.now()
    await assertUnavailable(() => service.client.inboxes.create({}))
    await assertUnavailable(() => service.client.inboxes.list().page())
    const ready = await fetch(`${service.baseUrl}/ready`)
    assert.equal(ready.status, 503)
    assert.ok(ready.headers.has('retry-after'))
    assert.equal((await fetch(`${service.baseUrl}/health`)).status, 200)
    await sleep(Math.max(0, POSTGRES_AWAY_MS - (performance.now() - goneMs)))
    await postgres.restart()
    const backMs = await untilWritable(service)

    await intake.untilAcknowledged(TAKEN / 2, INTAKE_MS_MAX)
    await intake.stop()
    report(t, intake, backMs)
    assert.ok(intake.refusals.has('451 4.3.0'), 'mail was put off')
    assert.equal(intake.refusals.size, 1, 'and answered nothing else')
    assert.ok(backMs < RECOVERY_MS_MAX)
    assert.equal(service.pid, pid)
    await assertNothingLost(service, intake.acknowledged)
  })

  test('SQLite locked by another process: writes are put off, reads go on', async (t) => {
    const service = await Service.start()
    t.after(() => service.close())
    const inbox = await service.client.inboxes.create({})
    const intake = new Intake({ service, targets: [inbox], clients: 4, random: seededRandom(8) })
    t.after(() => intake.abandon())
    await intake.untilAcknowledged(50, INTAKE_MS_MAX)
    const lock = await lockDatabase(t, databasePath(service.settings))
    const lockedMs = performance.now()
    await assertUnavailable(() => service.client.inboxes.create({}))
    assert.ok((await service.client.messages.list(inbox.id).page()).total >= 50)
    const sender = await service.sender()
    assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 451)
    await sender.quit()
    await sleep(Math.max(0, LOCKED_MS - (performance.now() - lockedMs)))
    await lock.release()
    const backMs = await untilWritable(service)
    await intake.untilAcknowledged(50, INTAKE_MS_MAX)
    await intake.stop()
    report(t, intake, backMs)
    assert.deepEqual([...intake.refusals.keys()], ['451 4.3.0'])
    assert.ok(backMs < RECOVERY_MS_MAX)
    await assertNothingLost(service, intake.acknowledged)
  })
})

async function assertUnavailable(request: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now()
  await assert.rejects(request, (error) => {
    assert.ok(error instanceof MailroomError, String(error))
    assert.equal(error.status, 503)
    assert.equal(error.code, 'service_unavailable')
    assert.ok(error.retryAfterSeconds !== null, 'the answer says when to try again')
    return true
  })
  const tookMs = Math.round(performance.now() - startMs)
  assert.ok(tookMs < REFUSAL_MS_MAX, `refused after ${tookMs} ms`)
}

/** Milliseconds until a write succeeds. */
async function untilWritable(service: Service): Promise<number> {
  const startMs = performance.now()
  for (;;) {
    const isDone = await service.client.inboxes.create({}).then(
      () => true,
      (error) => {
        assert.ok(error instanceof MailroomError && error.status === 503, String(error))
        return false
      },
    )
    const passedMs = performance.now() - startMs
    if (isDone || passedMs > 2 * RECOVERY_MS_MAX) return Math.round(passedMs)
    await sleep(50)
  }
}

function report(t: TestContext, intake: Intake, backMs: number): void {
  t.diagnostic(
    `${intake.acknowledged.length} acknowledged, refusals ${JSON.stringify(Object.fromEntries(intake.refusals))}, ${intake.unanswered} unanswered, back after ${backMs} ms`,
  )
}
