// Mail comes in on four connections while the service is killed again and again, also while it is
// starting. What was acknowledged must be there once, byte for byte, and every total must be true.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { findLosses, Intake, seededRandom } from './intake.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'

const KILLS = sizeOf('TEST_MAILROOM_INTAKE_KILLS', { usual: 3, long: 20 })
const LARGE_KILLS = sizeOf('TEST_MAILROOM_LARGE_INTAKE_KILLS', { usual: 2, long: 20 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const CLIENTS = 4
/** A kill strikes after up to so many messages of a life, or milliseconds, and a moment more. */
const MESSAGES_MAX = 16
const LIFE_MS_MAX = 10_000
const MOMENT_MS_MAX = 15
/** Kills that strike before it is ready. */
const EARLY_SHARE = 0.15

const LIMIT = { timeout: LONG_LIMIT.timeout + 15_000 * Math.max(KILLS, LARGE_KILLS) }

// Starting takes most of the time, and each start one processor: hence side by side.
suite('mail that was acknowledged survives kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} times`, LIMIT, (t) => killAgainAndAgain(t, { kills: KILLS }))
  test(`on SQLite, ${LARGE_KILLS} times more, much of the mail being large`, LIMIT, (t) =>
    killAgainAndAgain(t, { kills: LARGE_KILLS, largeShare: 0.3 }),
  )
  test(`on PostgreSQL, ${POSTGRES_KILLS} times`, LIMIT, async (t) =>
    killAgainAndAgain(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

type Plan = { kills: number; largeShare?: number; databaseUrl?: string }

async function killAgainAndAgain(t: TestContext, plan: Plan): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const service = await Service.start(plan.databaseUrl ? { databaseUrl: plan.databaseUrl } : {})
  t.after(() => service.close())
  const targets = await Promise.all(
    ['one', 'two', 'three'].map((mailboxName) => service.client.inboxes.create({ mailboxName })),
  )
  const largeShare = plan.largeShare ?? 0.05
  const intake = new Intake({ service, targets, clients: CLIENTS, random, largeShare })
  t.after(() => intake.abandon())

  for (let kill = 0; kill < plan.kills; kill++) {
    await intake.untilAcknowledged(Math.floor(random() * MESSAGES_MAX), LIFE_MS_MAX)
    await sleep(random() * MOMENT_MS_MAX)
    await service.kill()
    if (random() < EARLY_SHARE) {
      await service.start({ waits: false })
      await sleep(random() * 1_000)
      await service.kill()
    }
    await service.start()
  }
  await intake.stop()

  for (const { id } of targets) {
    const [threads, messages] = await Promise.all([
      service.client.threads.list(id, { limit: 1 }).page(),
      service.client.messages.list(id, { limit: 1 }).page(),
    ])
    let listed = 0
    let counted = 0
    for await (const { messageCount } of service.client.threads.list(id, { limit: 100 })) {
      listed += 1
      counted += messageCount
    }
    assert.equal(listed, threads.total)
    assert.equal(counted, messages.total)
  }
  assert.equal((await service.stop()).code, 0)
  const stored = await readStored(service)
  const losses = findLosses(intake.acknowledged, stored)
  const { length: acknowledged } = intake.acknowledged
  t.diagnostic(
    `seed ${seed}: ${plan.kills} kills, ${acknowledged} acknowledged, ${intake.unanswered} unanswered, ${stored.length} stored, ${JSON.stringify(losses)}`,
  )
  assert.deepEqual(losses, { lost: 0, truncated: 0, doubled: 0 })
  assert.ok(acknowledged > plan.kills, 'mail came in between the kills')
  assert.ok(intake.unanswered > 0, 'kills struck while mail was on its way')
}
