// Many messages that become due at the same moment, and a message that is sent at once beside them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { arrived, openSendingTenant, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine } from '#test/world.ts'

const DUE = sizeOf('TEST_MAILROOM_DUE_AT_ONCE', { usual: 200, long: 1_000 })
const INBOXES = 5
/** Of one account, created a few at once. */
const [DUE_OF_ONE, DUE_TOGETHER] = [112, 8]
const HOUR_MS = 3_600_000
/** A send takes some 50 ms on an idle machine. */
const BESIDE_MS_MAX = 15_000
const RELEASED_MS_MAX = 300_000

onEachEngine('messages that are due at the same moment', (engine) => {
  test('all leave, each once, and do not hold up others', LONG_LIMIT, async (t) => {
    const world = await openSendingTenant(engine)
    t.after(() => world.close())
    const inboxes = await Promise.all(Array.from({ length: INBOXES }, () => world.inbox()))
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const waiting: { providerMessageId: string }[] = []
    while (waiting.length < DUE) {
      const some = inboxes.map((inbox, index) =>
        send(world, inbox, { sendAt, to: `to-${waiting.length + index}@friend.example` }),
      )
      waiting.push(...(await Promise.all(some)))
    }
    const other = await world.newAccount()
    const own = await other.client.inboxes.create()
    const startMs = performance.now()
    world.clock.advance(HOUR_MS + 1_000)
    const isBegun = async () => world.mta.received.length > 0
    await until(isBegun, RELEASED_MS_MAX)
    const besideMs: number[] = []
    let hasLeft = false
    while (!hasLeft) {
      const sentMs = performance.now()
      await arrived(world, await send(other, own))
      besideMs.push(performance.now() - sentMs)
      const [left] = await runSql(world, 'select count(*) as count from waiting_sends')
      hasLeft = Number(left?.count) === 0
    }
    const releasedMs = performance.now() - startMs
    const isQueued = async () =>
      (await runSql(world, 'select id from deliveries where queue_state is not null')).length > 0
    await until(async () => !(await isQueued()), RELEASED_MS_MAX)
    const deliveredMs = performance.now() - startMs
    const known = new Set(waiting.map(({ providerMessageId }) => providerMessageId))
    const copies = world.mta.received
      .map(({ raw }) => /^message-id: (.*)\r$/im.exec(raw.toString())?.[1] ?? '')
      .filter((id) => known.has(id))
    const [deliveries] = await runSql(
      world,
      `select count(*) as count from deliveries where inbox_id <> '${own.id}'`,
    )
    const longest = Math.round(Math.max(...besideMs))
    const usual = Math.round(besideMs.sort((one, next) => one - next)[besideMs.length >> 1] ?? 0)
    t.diagnostic(
      `${DUE} released in ${Math.round(releasedMs)} ms, delivered in ${Math.round(deliveredMs)} ms; ${besideMs.length} sends beside them took ${usual} ms, at most ${longest} ms`,
    )
    assert.equal(new Set(copies).size, DUE)
    assert.equal(copies.length, DUE)
    assert.equal(Number(deliveries?.count), DUE)
    assert.ok(longest < BESIDE_MS_MAX, `${longest} ms`)
  })
  test('of one account let those of another leave in between', LONG_LIMIT, async (t) => {
    const world = await openSendingTenant(engine)
    t.after(() => world.close())
    const [inbox, other] = [await world.inbox(), await world.newAccount()]
    const own = await other.client.inboxes.create()
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const later = new Date(world.clock.now() + HOUR_MS + 500).toISOString()
    for (let count = 0; count < DUE_OF_ONE; count += DUE_TOGETHER) {
      const some = Array.from({ length: DUE_TOGETHER }, (_, index) =>
        send(world, inbox, { sendAt, to: `to-${count + index}@friend.example` }),
      )
      await Promise.all(some)
    }
    await send(other, own, { sendAt: later, to: 'quick@friend.example' })
    const waiting = async (inboxId: string) => {
      const query = `select count(*) as count from waiting_sends where inbox_id = '${inboxId}'`
      return Number((await runSql(world, query))[0]?.count)
    }
    world.clock.advance(HOUR_MS + 1_000)
    await until(async () => (await waiting(own.id)) === 0, RELEASED_MS_MAX)
    const left = await waiting(inbox.id)
    assert.ok(left >= DUE_OF_ONE / 2, `${left} of ${DUE_OF_ONE} left`)
    await until(async () => (await waiting(inbox.id)) === 0, RELEASED_MS_MAX)
  })
})
