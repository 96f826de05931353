// Mail comes in on four connections while the service is killed again and again, also during its start. Acknowledged
// mail must be there once, byte for byte, and every total must be true.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { assertNothingLost, Intake } from './intake.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'

const KILLS = sizeOf('TEST_MAILROOM_INTAKE_KILLS', { usual: 3, long: 20 })
const LARGE_KILLS = sizeOf('TEST_MAILROOM_LARGE_INTAKE_KILLS', { usual: 2, long: 20 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const THREAD_KILLS = Math.ceil(KILLS / 2)
const CLIENTS = 4
/** A kill strikes after up to so many messages of a life, or milliseconds, and a moment more. */
const MESSAGES_MAX = 16
const LIFE_MS_MAX = 10_000
const MOMENT_MS_MAX = 15

const limit = { timeout: LONG_LIMIT.timeout + 15_000 * Math.max(KILLS, LARGE_KILLS) }

// A start takes most of the time, and each start takes one processor: hence side by side.
suite('acknowledged mail survives kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS, limit }, killAgainAndAgain)
  killTest(
    'sqlite',
    { kills: LARGE_KILLS, limit, of: 'much of it large, received by the main thread, ' },
    (killing) => killAgainAndAgain(killing, 0.3, { MAILROOM_INTAKE_THREADS: '0' }),
  )
  killTest(
    'sqlite',
    { kills: THREAD_KILLS, limit, of: 'with two threads that receive it, ' },
    (killing) => killAgainAndAgain(killing, 0.05, { MAILROOM_INTAKE_THREADS: '2' }),
  )
  killTest('postgres', { kills: POSTGRES_KILLS, limit }, killAgainAndAgain)
})

async function killAgainAndAgain(
  killing: KillTest,
  largeShare = 0.05,
  env: Record<string, string> = {},
): Promise<void> {
  const { t, kills, random } = killing
  const service = await killing.start(env)
  const targets = await Promise.all(
    ['one', 'two', 'three'].map((mailboxName) => service.client.inboxes.create({ mailboxName })),
  )
  const intake = new Intake({ service, targets, clients: CLIENTS, random, largeShare })
  t.after(() => intake.abandon())

  // All kills may strike while nothing is on its way.
  for (let kill = 0; kill < kills || intake.unanswered === 0; kill++) {
    await intake.untilAcknowledged(Math.floor(random() * MESSAGES_MAX), LIFE_MS_MAX)
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX, strikesStarts: true })
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
  const { length: acknowledged } = intake.acknowledged
  t.diagnostic(`${acknowledged} acknowledged, ${intake.unanswered} unanswered`)
  await assertNothingLost(service, intake.acknowledged)
  assert.ok(acknowledged > kills, 'mail came in between the kills')
}
