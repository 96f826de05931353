// Mail comes in and the service is killed again and again: the hourly figures agree with the log and count each event
// once.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { Intake } from './intake.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import { readStored } from './stored.ts'

const KILLS = sizeOf('TEST_MAILROOM_STATS_KILLS', { usual: 2, long: 5 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const GAP_MS = 25
const LIFE_MS_MAX = 60_000
const MESSAGES_MAX = 60
/** The statistics read the log every two seconds: only a longer life can be killed while they do. */
const MOMENT_MS_MAX = 2_500

suite('figures survive kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, killAgainAndAgain)
  killTest('postgres', { kills: POSTGRES_KILLS }, killAgainAndAgain)
})

async function killAgainAndAgain({ t, kills, random, start }: KillTest): Promise<void> {
  const service = await start()
  const inbox = await service.client.inboxes.create({ mailboxName: 'one' })
  const targets = [inbox]
  const intake = new Intake({ service, targets, clients: 3, random, largeShare: 0, gapMs: GAP_MS })
  t.after(() => intake.abandon())
  for (let kill = 0; kill < kills; kill += 1) {
    await intake.untilAcknowledged(Math.floor(random() * MESSAGES_MAX), LIFE_MS_MAX)
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
  }
  await intake.stop()
  const { total } = await service.client.messages.list(inbox.id).page()
  await until(async () => {
    const { totals } = await service.client.stats.get({ range: '7d' })
    assert.ok(totals.received <= total, `${totals.received} of ${total} counted`)
    return totals.received === total
  }, 30_000)
  // The statistics read the log once more meanwhile, and must count nothing again.
  await sleep(3_000)
  const { totals } = await service.client.stats.get({ range: '7d' })
  assert.equal(totals.received, total)
  await service.stopWell()
  assert.equal((await readStored(service)).received.length, total)
}
