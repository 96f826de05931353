import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { countMessages } from '#test/scenarios/deliver.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, openWorld, type World } from '#test/world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PER_DAY = { sqlite: 200, postgres: 40 }

onEachEngine('the limits of an inbox', (engine) => {
  let world: World
  before(async () => {
    // The figure of the documents once is enough.
    const perDay = String(PER_DAY[engine])
    world = await openWorld(engine, {
      env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: '', MAILROOM_LIMIT_SENDS_PER_DAY: perDay },
    })
  })
  after(() => world.close())

  /** Seconds that the refusal asks to wait; null when the message was taken. */
  async function wait(inbox: Inbox): Promise<number | null> {
    const sending = send(world, inbox)
    try {
      await sending
      return null
    } catch {
      const refused = await refusalOf(sending)
      assert.deepEqual([refused.status, refused.code], [429, 'rate_limit_exceeded'])
      assert.ok(refused.retryAfterSeconds !== null)
      return refused.retryAfterSeconds
    }
  }

  test('are ten messages in any minute, and the refusal says when there is room', async () => {
    const inbox = await world.inbox()
    const earliestMs = world.clock.now()
    assert.equal(await wait(inbox), null)
    const latestMs = world.clock.now()
    for (let sent = 1; sent < 10; sent++) {
      world.clock.advance(4_000)
      assert.equal(await wait(inbox), null)
    }
    const askedMs = world.clock.now()
    const seconds = (await wait(inbox)) ?? 0
    const least = (earliestMs + MINUTE_MS - world.clock.now()) / 1_000
    const most = Math.ceil((latestMs + MINUTE_MS - askedMs) / 1_000)
    assert.ok(seconds >= least && seconds <= most, `${seconds} of ${least} to ${most}`)
    // Twenty seconds are left to a busy machine.
    world.clock.advance((seconds - 20) * 1_000)
    const early = await wait(inbox)
    assert.ok(early !== null && early >= 1 && early <= 20, `${early}`)
    world.clock.advance(early * 1_000)
    assert.equal(await wait(inbox), null)
    assert.ok(((await wait(inbox)) ?? 0) <= 20)
    assert.equal(await countMessages(world, inbox), 11)
  })

  test('hold for any minute: whoever waits as long as told is served, and no one before', async () => {
    const inbox = await world.inbox()
    const takenMs: number[] = []
    for (let step = 0; step < 30; step++) {
      world.clock.advance(((step * 7_919) % 13) * 1_000)
      const seconds = await wait(inbox)
      if (seconds !== null) {
        assert.ok(seconds >= 1 && seconds <= 60)
        if (step % 3 !== 0) continue
        world.clock.advance(seconds * 1_000)
        assert.equal(await wait(inbox), null)
      }
    }
    const { data } = await world.client.messages.list(inbox.id, { limit: 100 }).page()
    takenMs.push(...data.map(({ createdAt }) => Date.parse(createdAt)).reverse())
    assert.ok(takenMs.length > 20)
    for (const [index, timeMs] of takenMs.entries()) {
      const tenth = takenMs[index - 10]
      assert.ok(
        tenth === undefined || timeMs - tenth >= MINUTE_MS,
        `${index}: ${timeMs - (tenth ?? 0)}`,
      )
    }
  })

  test('let exactly ten through of fifty at once, and do not touch another inbox', async () => {
    const inbox = await world.inbox()
    const other = await world.inbox()
    const requests = Array.from({ length: 50 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(requests), { done: 10, '429 rate_limit_exceeded': 40 })
    assert.equal(await countMessages(world, inbox), 10)
    assert.equal(await wait(other), null)
  })

  test('do not refuse a repeat of what took the last place, also at the same time', async () => {
    const inbox = await world.inbox()
    for (let sent = 0; sent < 9; sent++) assert.equal(await wait(inbox), null)
    const key = `the tenth of ${inbox.id}`
    const repeats = Array.from({ length: 20 }, () => send(world, inbox, {}, key))
    const ids = (await Promise.all(repeats)).map(({ messageId }) => messageId)
    assert.equal(new Set(ids).size, 1)
    assert.ok((await wait(inbox)) !== null)
    assert.equal((await send(world, inbox, {}, key)).messageId, ids[0])
  })

  test('are not used up by what is refused or repeated', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'never@friend.example' })
    const refused = [
      { body: '' },
      { to: 'nobody' },
      { threadId: 'thr_nothing' },
      { to: 'never@friend.example' },
    ]
    for (let round = 0; round < 2; round++) {
      await Promise.all(refused.map((fields) => refusal(send(world, inbox, fields))))
    }
    for (let repeat = 0; repeat < 3; repeat++) await send(world, inbox, {}, `one ${inbox.id}`)
    for (let sent = 1; sent < 10; sent++) assert.equal(await wait(inbox), null)
    for (let more = 0; more < 5; more++) assert.ok(((await wait(inbox)) ?? 0) > 20)
    world.clock.advance(MINUTE_MS)
    for (let sent = 0; sent < 10; sent++) assert.equal(await wait(inbox), null)
    assert.ok((await wait(inbox)) !== null)
  })

  test(`are ${PER_DAY[engine]} messages in any day, however slowly they are sent`, async () => {
    const inbox = await world.inbox()
    const startMs = world.clock.now()
    const minutes = PER_DAY[engine] / 10
    for (let minute = 0; minute < minutes; minute++) {
      const requests = Array.from({ length: 10 }, () => send(world, inbox))
      assert.deepEqual(await countOutcomes(requests), { done: 10 })
      world.clock.advance(MINUTE_MS)
    }
    const requests = Array.from({ length: 12 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(requests), { '429 rate_limit_exceeded': 12 })
    const seconds = (await wait(inbox)) ?? 0
    const expected = (startMs + DAY_MS - world.clock.now()) / 1_000
    assert.ok(seconds >= expected - 1 && seconds <= expected + 60, `${seconds} and ${expected}`)
    world.clock.advance(DAY_MS - (minutes + 1) * MINUTE_MS)
    assert.ok((await wait(inbox)) !== null)
    world.clock.advance(MINUTE_MS)
    const next = Array.from({ length: 12 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(next), { done: 10, '429 rate_limit_exceeded': 2 })
    assert.equal(await countMessages(world, inbox), PER_DAY[engine] + 10)
  })

  test('survive a wall clock that is set back, without a lasting lock', async () => {
    const inbox = await world.inbox()
    for (let sent = 0; sent < 10; sent++) assert.equal(await wait(inbox), null)
    world.clock.step(-3 * DAY_MS)
    const { done = 0 } = await countOutcomes(Array.from({ length: 15 }, () => send(world, inbox)))
    assert.ok(done <= 10)
    world.clock.step(3 * DAY_MS)
    world.clock.advance(2 * MINUTE_MS)
    assert.equal(await wait(inbox), null)
  })
})
