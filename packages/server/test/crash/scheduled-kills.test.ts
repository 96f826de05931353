// Messages become due while the service is down, and while it is killed again and again. Each leaves, and is released
// once.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { type KillTest, killTest } from './kills.ts'
import {
  assertAllSent,
  composeNumber,
  makeInboxes,
  type Promised,
  sendMany,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_SCHEDULED_KILLS', { usual: 3, long: 20 })
const PER_KILL = 80
const HOUR_MS = 3_600_000
/** From the commit that makes them due to the time of the first, and from then to that of the last. */
const FIRST_MS = 500
const SPREAD_MS = 1_500
const SETTLED_MS_MAX = 120_000

const limit = { timeout: LONG_LIMIT.timeout + 15_000 * KILLS }

suite('a scheduled message is sent after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS, limit }, killWhileDue)
  killTest('postgres', { kills: Math.ceil(KILLS / 2), limit }, killWhileDue)
})

async function killWhileDue({ t, kills, random, start }: KillTest): Promise<void> {
  const sink = await Sink.open({ rcptMs: () => random() * 20 })
  t.after(() => sink.close())
  const service = await start(sink.environment)
  const inboxes = await makeInboxes(service, 3)
  const promised: Promised[] = []
  const schedule = async () => {
    const some = { inboxes, from: promised.length, count: PER_KILL, compose: composeScheduled }
    promised.push(...(await sendMany(service, sink, some)))
  }

  await schedule()
  assert.equal(sink.copies.length, 0)
  await service.stopWell()
  await makeDue(service, Date.now() - SPREAD_MS)
  assert.equal(await countWaiting(service), PER_KILL)
  await service.start()
  await untilReleased(service)

  let [inFlight, struck] = [0, 0]
  for (let kill = 0; kill < kills || struck === 0; kill += 1) {
    await schedule()
    await makeDue(service, Date.now() + FIRST_MS)
    await sleep(FIRST_MS + random() * SPREAD_MS)
    inFlight += sink.open
    await service.kill()
    const left = await countWaiting(service)
    if (left > 0 && left < PER_KILL) struck += 1
    await service.start()
    await untilReleased(service)
  }
  await untilSettled(service, SETTLED_MS_MAX)
  await service.stopWell()
  // The store has each delivery once; a copy may be repeated whose answer a kill took away.
  const repeats = await assertAllSent(service, sink, promised)
  t.diagnostic(
    `${promised.length} messages, ${struck} kills between releases, ${inFlight} connections open at kills, ${repeats.length} copies too many`,
  )
  assert.ok(repeats.length <= inFlight, `${repeats.length} repeats, ${inFlight} open`)
}

function composeScheduled(sink: Sink, number: number): MessageToSend {
  return { ...composeNumber(sink, number), sendAt: new Date(Date.now() + HOUR_MS).toISOString() }
}

/** Spreads the times of all that waits over SPREAD_MS. */
async function makeDue(service: Service, firstMs: number): Promise<void> {
  await runSql(
    service,
    `update waiting_sends set release_at = ${firstMs} + release_at % ${SPREAD_MS}`,
  )
}

async function countWaiting(service: Service): Promise<number> {
  const [row] = await runSql(service, 'select count(*) as count from waiting_sends')
  return Number(row?.count)
}

async function untilReleased(service: Service): Promise<void> {
  const endMs = performance.now() + SETTLED_MS_MAX
  while ((await countWaiting(service)) > 0) {
    assert.ok(performance.now() < endMs, 'all that is due is released')
    await sleep(50)
  }
}
