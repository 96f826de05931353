// The clock of the machine is set back and ahead while messages wait for their time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import {
  openSendingTenant,
  type SendingWorld,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, openSecond } from '#test/world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const EACH = 20

type Sent = { messageId: string; providerMessageId: string }

onEachEngine('messages that wait for their time', (engine) => {
  test('leave once, at their time by the clock as it is then, however it is set', async (t) => {
    const world = await openSendingTenant(engine)
    t.after(() => world.close())
    // Two processes share PostgreSQL; each of them may release what is due.
    const second = engine === 'postgres' ? await openSecond(world) : null
    t.after(() => second?.close())
    const inbox = await world.inbox()
    const [inAnHour, inADay] = [
      await schedule(world, inbox, HOUR_MS),
      await schedule(world, inbox, DAY_MS + HOUR_MS),
    ]
    world.clock.step(-HOUR_MS)
    await untilLookedAt(world, inbox)
    assert.equal(copiesOf(world, [...inAnHour, ...inADay]), 0)
    world.clock.step(HOUR_MS)
    await untilLookedAt(world, inbox)
    assert.equal(copiesOf(world, inAnHour), 0)

    world.clock.step(HOUR_MS + MINUTE_MS)
    await untilSent(world, inAnHour)
    assert.equal(copiesOf(world, inADay), 0)
    world.clock.step(DAY_MS)
    await untilSent(world, inADay)
    // Two days back: what was sent too early is not sent again, and new times count by the clock as it is now.
    world.clock.step(-2 * DAY_MS)
    const corrected = await schedule(world, inbox, HOUR_MS)
    await untilLookedAt(world, inbox)
    assert.equal(copiesOf(world, corrected), 0)
    world.clock.step(HOUR_MS + MINUTE_MS)
    await untilSent(world, corrected)
    await untilLookedAt(world, inbox)
    assert.equal(copiesOf(world, [...inAnHour, ...inADay, ...corrected]), 3 * EACH)
  })
})

function schedule(world: SendingWorld, inbox: Inbox, aheadMs: number): Promise<Sent[]> {
  const sendAt = new Date(world.clock.now() + aheadMs).toISOString()
  return Promise.all(Array.from({ length: EACH }, () => send(world, inbox, { sendAt })))
}

async function untilSent(world: SendingWorld, sent: Sent[]): Promise<void> {
  for (const one of sent) {
    const { status, failureReason } = await settled(world, one)
    assert.deepEqual([status, failureReason], ['sent', null])
  }
  assert.equal(copiesOf(world, sent), sent.length)
}

/** Until everything that is due has been released, because the longest due is released first. */
async function untilLookedAt(world: SendingWorld, inbox: Inbox): Promise<void> {
  const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
  const { messageId } = await send(world, inbox, { sendAt })
  const dueMs = world.clock.now()
  await runSql(
    world,
    `update waiting_sends set release_at = ${dueMs} where message_id = '${messageId}'`,
  )
  assert.equal((await settled(world, { messageId })).status, 'sent')
}

function copiesOf({ mta }: SendingWorld, sent: Sent[]): number {
  const ids = new Set(sent.map(({ providerMessageId }) => providerMessageId))
  const idOf = (raw: Buffer) => /^message-id: (.*)\r$/im.exec(raw.toString())?.[1] ?? ''
  return mta.received.filter(({ raw }) => ids.has(idOf(raw))).length
}
