// Mail comes in and the service is killed again and again: the hourly figures are those of the log, each
// event counted once.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { Intake, seededRandom } from './intake.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'

const KILLS = sizeOf('TEST_MAILROOM_STATS_KILLS', { usual: 2, long: 5 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const GAP_MS = 25
const LIFE_MS_MAX = 60_000
const MESSAGES_MAX = 60
/** A look at the log comes every two seconds: a life has to last so long for one to be killed. */
const MOMENT_MS_MAX = 2_500

suite('figures survive kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} kills`, LONG_LIMIT, (t) => killAgainAndAgain(t, { kills: KILLS }))
  test(`on PostgreSQL, ${POSTGRES_KILLS} kills`, LONG_LIMIT, async (t) =>
    killAgainAndAgain(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

type Plan = { kills: number; databaseUrl?: string }

async function killAgainAndAgain(t: TestContext, { kills, ...options }: Plan): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const random = seededRandom(seed)
  const service = await Service.start(options)
  t.after(() => service.close())
  const targets = [await service.client.inboxes.create({ mailboxName: 'one' })]
  const intake = new Intake({ service, targets, clients: 3, random, largeShare: 0, gapMs: GAP_MS })
  t.after(() => intake.abandon())
  for (let kill = 0; kill < kills; kill += 1) {
    await intake.untilAcknowledged(Math.floor(random() * MESSAGES_MAX), LIFE_MS_MAX)
    await sleep(random() * MOMENT_MS_MAX)
    await service.kill()
    await service.start()
  }
  await intake.stop()
  const [inbox] = targets
  const { total } = await service.client.messages.list(inbox?.id ?? '').page()
  await until(async () => {
    const { totals } = await service.client.stats.get({ range: '7d' })
    assert.ok(totals.received <= total, `${totals.received} of ${total} counted`)
    return totals.received === total
  }, 30_000)
  // Once more than the reader looks by itself: what is counted stays so.
  await sleep(3_000)
  const { totals } = await service.client.stats.get({ range: '7d' })
  assert.equal(totals.received, total)
  assert.equal((await service.stop()).code, 0)
  assert.equal((await readStored(service)).length, total)
}
