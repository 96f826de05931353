import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LOG_POLL_MS } from '#events/follow-log.ts'
import { onConnection } from '#platform/db/postgres.ts'
import { waitForMessage } from '#streams/wait-for-message.ts'
import { watchListeners } from '#test/scenarios/event-listeners.ts'
import { openReader, receive, untilReadable } from '#test/scenarios/event-world.ts'
import { send, settled } from '#test/scenarios/sending-world.ts'
import { opened, openSecond, openWorld } from '#test/world.ts'

suite('readers of events at two services on one database', () => {
  const world = opened(() => openWorld('postgres'))
  const second = opened(() => openSecond(world))

  function wait(inboxId: string, direction: 'inbound' | 'outbound' = 'inbound') {
    const signal = new AbortController().signal
    const any = { after: null, from: null, subject: null, threadId: null, timeoutMs: 20_000 }
    const asked = { accountId: world.accountId, inboxId, direction, signal, ...any }
    return waitForMessage(world.app.deps, asked)
  }

  test('get each other’s events without polling', async () => {
    const inbox = await world.inbox()
    const reader = openReader(world)
    await reader.subscribe({})
    const other = { ...world, app: second }
    const tookMs: number[] = []
    const leastMs = () => Math.min(...tookMs.slice(1))
    // Without a signal all but the first begin just after a poll, and take as long as until the next.
    for (let count = 1; count <= 20 && leastMs() >= LOG_POLL_MS / 2; count++) {
      const startMs = performance.now()
      await receive(other, inbox)
      await reader.until(count)
      tookMs.push(performance.now() - startMs)
    }
    assert.ok(leastMs() < LOG_POLL_MS / 2, `it took ${tookMs.join(', ')} ms`)
    reader.stream.close()
  })

  test('do not deliver as new an earlier event that was not readable when they subscribed', async () => {
    const inbox = await world.inbox()
    const listeners = watchListeners(world)
    const url = world.settings.databaseUrl ?? ''
    await onConnection(url, async (run) => {
      await untilReadable(world)
      await run('begin')
      await run('select pg_current_xact_id()')
      await receive(world, inbox)
      await settled(world, await send(world, inbox, { to: 'bob@friend.example' }))
      const waits = [wait(inbox.id), wait(inbox.id, 'outbound')]
      await listeners.reach(2)
      await run('commit')
      await untilReadable(world)
      await new Promise((resolve) => setTimeout(resolve, 50))
      const { messageId } = await receive(world, inbox)
      const sent = await send(world, inbox, { to: 'bob@friend.example' })
      const [received, outbound] = await Promise.all(waits)
      assert.equal(received?.id, messageId)
      assert.equal(outbound?.id, sent.messageId)
    })
  })

  test('have a page of the log wait for events that another transaction holds up, though not for long', async () => {
    const inbox = await world.inbox()
    const listed = async () => {
      const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
      return data.map(({ event_id: id }) => id)
    }
    await untilReadable(world)
    await onConnection(world.settings.databaseUrl ?? '', async (run) => {
      await run('begin')
      await run('select pg_current_xact_id()')
      const { eventId } = await receive(world, inbox)
      const startMs = performance.now()
      assert.deepEqual(await listed(), [])
      assert.ok(performance.now() - startMs >= 300, 'it waited')
      const waiting = listed()
      await new Promise((resolve) => setTimeout(resolve, 50))
      await run('commit')
      // Other transactions of the server may hold it up too.
      const early = await waiting
      await untilReadable(world)
      assert.deepEqual(early.length === 0 ? await listed() : early, [eventId])
    })
  })

  test('miss no event before a cursor that was not readable yet', async () => {
    const inbox = await world.inbox()
    const reader = openReader(world)
    await untilReadable(world)
    await reader.subscribe({ inboxIds: [inbox.id] })
    // It takes one event and falls behind.
    reader.room = 1
    const early = [await receive(world, inbox), await receive(world, inbox)]
    await reader.until(1)
    await untilReadable(world)
    await onConnection(world.settings.databaseUrl ?? '', async (run) => {
      await run('begin')
      await run('select pg_current_xact_id()')
      const held = await receive(world, inbox)
      const cursor = await receive(world, inbox)
      await reader.subscribe({}, cursor.eventId)
      reader.room = Number.POSITIVE_INFINITY
      reader.stream.resume()
      await reader.until(2)
      await run('commit')
      const { eventId } = await receive(world, inbox)
      await reader.until(5)
      const written = [...early, held, cursor].map((one) => one.eventId)
      assert.deepEqual(reader.told, [...written, eventId])
    })
    reader.stream.close()
  })
})
