// Two processes on one PostgreSQL receive and send mail, and one or the other is killed again and again: no acknowledged
// message is lost, only a message on its way at a kill is sent twice, and periodic work goes on.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { compareReceived, Intake, type Random, seededRandom } from './intake.ts'
import { assertAllSent, countRecipients, Sending, untilSettled } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { INTERNAL_ERRORS, Service } from './service.ts'
import { readStored } from './stored.ts'

const KILLS = sizeOf('TEST_MAILROOM_PAIR_KILLS', { usual: 2, long: 30 })
const ANSWER_MS_MAX = 300
/** Pause of a client between an acknowledgement and its next message. */
const GAP_MS = 40
/** Between two kills so many copies go out at most, or so much time passes. */
const COPIES_MAX = 40
const LIFE_MS_MAX = 15_000
const MOMENT_MS_MAX = 60
const SETTLED_MS_MAX = 180_000
const LIMIT = { timeout: LONG_LIMIT.timeout + 15_000 * KILLS }

type Pair = readonly [Service, Service]

suite('two processes of which either is killed', () => {
  test(`${KILLS} times at random under load`, LIMIT, killEither)
})

async function killEither(t: TestContext): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const sink = await Sink.open({ rcptMs: () => random() * ANSWER_MS_MAX })
  t.after(() => sink.close())
  const pair = await startPair(t, sink.environment)
  const make = () => pair[0].client.inboxes.create({})
  const [one, two, three, four, gone] = await Promise.all([make(), make(), make(), make(), make()])
  const into = (service: Service, ...targets: { id: string; address: string }[]) =>
    new Intake({ service, targets, clients: 2, random, largeShare: 0.02, gapMs: GAP_MS })
  const intakes = [into(pair[0], one), into(pair[1], two)]
  const sending = new Sending({
    services: pair,
    sink,
    inboxes: [three, four],
    clients: 3,
    random,
    gapMs: GAP_MS,
  })
  t.after(() => {
    for (const load of [...intakes, sending]) load.abandon()
  })
  const emptied = fillAndDelete(pair[0], gone)
  const { kills, inFlight } = await killAtRandom(pair, sink, random)
  await Promise.all([...intakes.map((intake) => intake.stop()), sending.stop(), emptied])
  await untilSettled(pair[0], SETTLED_MS_MAX)

  // The deletion is a job of its own.
  await until(
    async () => (await runSql(pair[0], "select 1 from jobs where kind = 'purge'")).length === 0,
  )
  const { promised, unanswered, putOff } = sending
  const repeats = await assertAllSent(pair[0], sink, promised)
  const { received } = await readStored(pair[0])
  const acknowledged = intakes.flatMap((intake) => intake.acknowledged)
  t.diagnostic(
    `seed ${seed}: ${kills} kills, ${acknowledged.length} received, ${promised.length} sent to ${countRecipients(promised)} recipients, ${unanswered} unanswered, ${putOff} put off, ${inFlight} in flight at kills, ${repeats.length} repeats`,
  )
  compareReceived(acknowledged, received)
  assert.ok(repeats.length <= inFlight, `${repeats.length} repeats, ${inFlight} in flight`)
  assert.ok(inFlight > 0 && unanswered + putOff > 0, `${kills} kills struck`)
  await assertWorkGoesOn(pair, { received: received.length, sent: promised.length })
  await assertOutdatedEnd(pair)
}

async function startPair(t: TestContext, env: Record<string, string>): Promise<Pair> {
  const databaseUrl = await createTestDatabase()
  const start = async (name: string) => {
    const service = await Service.start({
      databaseUrl,
      env: { ...env, MAILROOM_SMTP_HOSTNAME: `${name}.example` },
    })
    t.after(() => service.close())
    return service
  }
  return [await start('first'), await start('second')]
}

/** Leaves a job to the process that lives. */
async function fillAndDelete(service: Service, inbox: { id: string; address: string }) {
  const raw = Buffer.from('Subject: gone\r\n\r\nGone.\r\n')
  const sender = await service.sender().catch(() => null)
  await sender?.send({ to: [inbox.address], raw }).catch(() => {})
  sender?.socket.destroy()
  const remove = () => service.client.inboxes.delete(inbox.id).then(() => true)
  await until(() => remove().catch((error) => error.status === 404))
}

/** Kills one at a time, also while the other starts; in the end both run. */
async function killAtRandom(pair: Pair, sink: Sink, random: Random) {
  let kills = 0
  let inFlight = 0
  const starting = new Map<Service, Promise<unknown>>()
  const startAgain = async (service: Service) => {
    await sleep(random() * 500)
    await service.start()
  }
  // On a busy machine all kills may strike while nothing is on its way.
  while (kills < KILLS || inFlight === 0) {
    const service = random() < 0.5 ? pair[0] : pair[1]
    await starting.get(service)
    const wanted = sink.copies.length + 1 + random() * COPIES_MAX
    await sink.until(() => sink.copies.length >= wanted, LIFE_MS_MAX).catch(() => {})
    await sleep(random() * MOMENT_MS_MAX)
    inFlight += sink.open
    await service.kill()
    kills += 1
    starting.set(service, startAgain(service))
  }
  await Promise.all(starting.values())
  return { kills, inFlight }
}

/** The figures are counted, and each periodic task is led by a process that lives. */
async function assertWorkGoesOn(
  [service]: Pair,
  counted: { received: number; sent: number },
): Promise<void> {
  await until(async () => {
    const { totals } = await service.client.stats.get({ range: '7d' })
    return totals.received >= counted.received && totals.sent >= counted.sent
  })
  await until(async () => {
    const leases = await runSql(service, "select due_at from jobs where kind = 'task'")
    const nowMs = Date.now()
    return leases.length > 0 && leases.every((row) => Number(row.due_at) > nowMs)
  })
}

/** A newer program has changed the database: both notice, drain and ask to be started again. */
async function assertOutdatedEnd(pair: Pair): Promise<void> {
  for (const service of pair) {
    assert.doesNotMatch(service.log, INTERNAL_ERRORS)
  }
  await runSql(
    pair[0],
    `insert into schema_migrations (version, name, checksum, compatible_from)
     values (999, '0999_later', 'x', 999)`,
  )
  for (const service of pair) {
    assert.equal((await service.ended).code, 1)
    assert.match(service.log, /0999_later, which needs programs of schema 999/)
  }
}
