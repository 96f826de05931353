import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import type { Inbox } from '@mailroom/sdk'
import { LOG_WINDOW_EVENTS } from '#events/store/events.ts'
import type { EventText } from '#streams/envelope.ts'
import { openEventHub } from '#streams/event-hub.ts'
import { EXCLUDED_INBOXES_MAX, openEventStream, SUBSCRIPTIONS_MAX } from '#streams/event-stream.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  EVERYTHING,
  openReader,
  receive,
  receiveMany,
  untilReadable,
} from '#test/scenarios/event-world.ts'
import { changePart, onEachEngine, opened, openTenant, prepared } from '#test/world.ts'

onEachEngine('a connection of a reader of events', (engine) => {
  const world = opened(() => openTenant(engine))
  const one = prepared(() => world.inbox())
  const two = prepared(() => world.inbox())

  /** Each test starts with a log that has been read. */
  beforeEach(() => untilReadable(world))

  /** The last event: once it is delivered, no other is pending. */
  async function last(inbox: Inbox): Promise<string> {
    const { eventId } = await receive(world, inbox)
    await untilReadable(world)
    return eventId
  }

  test('replays after an event and continues live, without a gap or a repeat, during writes', async () => {
    const [first = '', ...rest] = await receiveMany(world, one, 40)
    const reader = openReader(world)
    const writing = receiveMany(world, two, 60)
    await reader.subscribe({}, first)
    const more = await writing
    const end = await last(one)
    await reader.until(rest.length + more.length + 1)
    assert.deepEqual(reader.told, [...rest, ...more, end])
    reader.stream.close()
  })

  test('does not get events from the hub again that it read from the log first', async () => {
    const start = await last(one)
    const { deps } = world.app
    // No signal wakes this one.
    const hub = openEventHub(deps)
    const told: string[] = []
    const caughtUp = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const write = ({ event }: EventText) => {
      told.push(event.id)
      if (told.length === 5) caughtUp.resolve()
      if (told.length === 6) ended.resolve()
      return true
    }
    const accountId = world.accountId
    const stream = openEventStream({ ...deps, events: hub }, { accountId, sink: { write } })
    const written = [await last(one)]
    await hub.listen(accountId, { wants: () => false, notify: () => {} })
    written.push(...(await receiveMany(world, one, 4)))
    await untilReadable(world)
    await stream.subscribe({ filter: EVERYTHING, afterId: start, onAccepted: () => {} })
    await caughtUp.promise
    const end = await last(one)
    hub.wake()
    await ended.promise
    assert.deepEqual(told, [...written, end])
    stream.close()
    await hub.close()
  })

  test('that pauses gets the rest from the log when it resumes, any number of times', async () => {
    const reader = openReader(world)
    reader.room = 3
    await reader.subscribe({})
    const written = await receiveMany(world, one, 50)
    await reader.until(3)
    assert.deepEqual(reader.told, written.slice(0, 3))
    while (reader.told.length < 50) {
      const goal = Math.min(50, reader.told.length + 7)
      reader.room = 7
      reader.stream.resume()
      await reader.until(goal)
      // An event beyond the pause would arrive now.
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(reader.told, written)
    reader.room = Number.POSITIVE_INFINITY
    reader.stream.resume()
    const end = await last(two)
    await reader.until(51)
    assert.deepEqual(reader.told, [...written, end])
    reader.stream.close()
  })

  test('replays for a later subscription only events that it has not delivered', async () => {
    const start = await last(one)
    const before = await receiveMany(world, two, 12)
    const reader = openReader(world)
    await reader.subscribe({ inboxIds: [one.id] }, start)
    const mine = await receiveMany(world, one, 12)
    await reader.until(12)
    await reader.subscribe({}, start)
    const end = await last(one)
    await reader.until(25)
    assert.deepEqual(reader.told, [...mine, ...before, end])
    reader.stream.close()
  })

  test('that subscribes again gets the events that it missed, without repeats', async () => {
    const reader = openReader(world)
    const start = await last(one)
    await reader.subscribe({})
    const told = await receiveMany(world, one, 3)
    await reader.until(3)
    reader.stream.unsubscribe(null)
    const missed = await receiveMany(world, one, 3)
    await reader.subscribe({}, start)
    await reader.until(6)
    reader.stream.unsubscribe([one.id])
    const missedToo = await receiveMany(world, one, 2)
    const others = await receiveMany(world, two, 1)
    await reader.until(7)
    await reader.subscribe({ inboxIds: [one.id] }, start)
    const end = await last(two)
    await reader.until(10)
    assert.deepEqual(reader.told.slice(0, 7), [...told, ...missed, ...others])
    assert.deepEqual(reader.told.slice(7).sort(), [...missedToo, end].sort())
    reader.stream.close()
  })

  test('gets no more events of an inbox that it left, whichever subscription covered it', async () => {
    const byName = openReader(world)
    await byName.subscribe({ inboxIds: [one.id] })
    const byPod = openReader(world)
    await byPod.subscribe({ podIds: [one.podId] })
    const all = openReader(world)
    await all.subscribe({})
    for (const { stream } of [byName, byPod, all]) stream.unsubscribe([one.id])
    await receiveMany(world, one, 3)
    const rest = await receiveMany(world, two, 3)
    await Promise.all([byPod.until(3), all.until(3)])
    assert.deepEqual([byName.told, byPod.told, all.told], [[], rest, rest])
    for (const { stream } of [byName, byPod, all]) stream.close()
  })

  test('continues from now after a later id and after an invalid id', async () => {
    const inbox = await world.inbox()
    const filter = { inboxIds: [inbox.id] }
    const ahead = openReader(world)
    await ahead.subscribe(filter)
    const { eventId: past, messageId } = await receive(world, inbox)
    await ahead.until(1)
    // Once this event is delivered, a live subscription no longer gets the one before it.
    await receive(world, inbox)
    await ahead.until(2)
    for (const afterId of ['evt_7zzzzzzzzzzzzzzzzzzzzzzzzz', messageId, 'evt', '\0', '']) {
      const reader = openReader(world)
      await reader.subscribe(filter, afterId)
      const next = await last(inbox)
      while (!reader.told.includes(next)) await reader.until(reader.told.length + 1)
      assert.equal(reader.told.includes(past), false)
      reader.stream.close()
    }
    ahead.stream.close()
  })

  test('continues from the time of another account’s event, among its own events', async () => {
    const stranger = await world.newAccount()
    const inbox = await stranger.client.inboxes.create({})
    await last(one)
    const foreign = await receive(world, inbox, { accountId: stranger.id })
    const later = await last(one)
    const reader = openReader(world)
    await reader.subscribe({}, foreign.eventId)
    await reader.until(1)
    assert.deepEqual(reader.told, [later])
    reader.stream.close()
  })

  test('may have a limited number of subscriptions, and ended ones free their places', async () => {
    const reader = openReader(world)
    for (let count = 0; count < SUBSCRIPTIONS_MAX; count++) {
      assert.equal(await reader.subscribe({ inboxIds: [one.id] }), 'subscribed')
    }
    assert.equal(await reader.subscribe({}), 'too_many')
    reader.stream.unsubscribe([one.id])
    assert.equal(await reader.subscribe({}), 'subscribed')
    reader.stream.close()
  })

  test('leaves the same inboxes repeatedly, but no more than a limited number', async () => {
    const reader = openReader(world)
    await reader.subscribe({})
    await reader.subscribe({ kinds: ['message.received'] })
    const ids = Array.from({ length: EXCLUDED_INBOXES_MAX / 4 }, (_, index) => `inb_${index}`)
    for (let count = 0; count < 6; count++) {
      assert.equal(reader.stream.unsubscribe([...ids, ...ids]), 'unsubscribed')
    }
    const others = ids.map((id) => `other_${id}`)
    assert.equal(reader.stream.unsubscribe(others), 'unsubscribed')
    assert.equal(reader.stream.unsubscribe(['one more']), 'too_many')
    assert.equal(reader.stream.unsubscribe(others), 'unsubscribed')
    reader.stream.close()
  })

  test('catches up in steps, so that another account waits for at most one of them', async (t) => {
    const start = await last(one)
    const { deps } = world.app
    const rows = 5 * LOG_WINDOW_EVENTS
    await runSql(
      world,
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
       insert into events (id, kind, account_id, inbox_id, occurred_at)
       select '${makeId('evt')}' || i, 'webhook.test', '${world.accountId}', '${one.id}', 1 from n`,
    )
    await untilReadable(world)
    const readers = Array.from({ length: 3 }, () => openReader(world))
    await Promise.all(readers.map((reader) => reader.subscribe({ kinds: ['message.sent'] }, start)))
    let looks = 0
    const catchUp = deps.events.catchUp.bind(deps.events)
    const restore = changePart(deps.events, () => ({
      catchUp(accountId, read) {
        if (accountId === world.accountId) looks += 1
        return catchUp(accountId, read)
      },
    }))
    t.after(restore)
    await deps.events.catchUp('acc_other', async () => {})
    assert.ok(looks <= 4, `another account waited for ${looks} looks`)
    const end = await last(one)
    const final = openReader(world)
    await final.subscribe({ kinds: ['message.received'] }, start)
    await final.until(1)
    assert.deepEqual(final.told, [end])
    for (const { stream } of [...readers, final]) stream.close()
  })

  test('gets no event of a deleted inbox, and continues after it', async () => {
    const made = await world.inbox()
    const start = await last(one)
    await receiveMany(world, made, 3)
    await world.client.inboxes.delete(made.id)
    const end = await last(one)
    const reader = openReader(world)
    await reader.subscribe({}, start)
    await reader.until(1)
    assert.deepEqual(reader.told, [end])
    reader.stream.close()
  })

  test('delivers each event once through any order of subscribing, leaving and pausing', async () => {
    const inboxes = [one, two, await world.inbox()]
    const dice = seededDice(engine === 'sqlite' ? 7 : 11)
    const pick = () => inboxes[dice(inboxes.length)] ?? one
    const start = await last(one)
    const reader = openReader(world)
    const written: string[] = []
    for (let step = 0; step < 120; step++) {
      const past = written[dice(written.length)] ?? start
      const turn = dice(10)
      if (turn < 4) written.push((await receive(world, pick())).eventId)
      else if (turn === 4) void reader.subscribe({ inboxIds: [pick().id] }, past)
      else if (turn === 5) await reader.subscribe({ inboxIds: [pick().id, pick().id] })
      else if (turn === 6) reader.stream.unsubscribe([pick().id])
      else if (turn === 7) reader.room = dice(4)
      else if (turn === 8) reader.stream.resume()
      else reader.stream.unsubscribe(null)
    }
    reader.room = Number.POSITIVE_INFINITY
    reader.stream.resume()
    await reader.subscribe({}, start)
    const end = await last(one)
    await reader.until(written.length + 1)
    assert.equal(new Set(reader.told).size, reader.told.length, 'none is told twice')
    assert.deepEqual([...reader.told].sort(), [...written, end].sort())
    reader.stream.close()
  })
})
