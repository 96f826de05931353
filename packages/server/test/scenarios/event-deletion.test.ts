import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEvent } from '#events/event-rows.ts'
import { removeInbox } from '#inboxes/change-inbox-rows.ts'
import { purgeInboxStep } from '#removal/retention-rows.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  accountIdOf,
  openReader,
  receive,
  receiveMany,
  untilReadable,
} from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

onEachEngine('events of an inbox that is deleted', (engine) => {
  const world = opened(() => openWorld(engine))

  type Listed = { data: { event_id: string }[]; total: number }
  async function list(query: string): Promise<Listed> {
    const response = await world.fetch(`/v1/events?${query}`)
    assert.equal(response.status, 200, query)
    return (await response.json()) as Listed
  }
  const idsIn = ({ data }: Listed) => data.map(({ event_id: id }) => id)

  test('are told no more, and readers still go on behind them', async () => {
    const [gone, kept] = [await world.inbox(), await world.inbox()]
    const start = await receive(world, kept)
    const erased = await receiveMany(world, gone, 3)
    const [last = ''] = erased.slice(-1)
    const rest = await receiveMany(world, kept, 2)
    await untilReadable(world)
    const { db } = world.app.deps
    await world.client.inboxes.delete(gone.id)
    await until(async () => (await runSql(world, 'select id from jobs')).length === 0)
    for (const after of [...erased, start.eventId]) {
      assert.deepEqual(idsIn(await list(`after=${after}`)), rest)
      const isKept = (await findEvent(db, accountIdOf(world), after)) !== null
      assert.equal(isKept, after === start.eventId)
    }
    const told: string[] = []
    for await (const event of world.client.events.list({ after: last })) told.push(event.event_id)
    assert.deepEqual(told, rest)
    const reader = openReader(world)
    assert.equal(await reader.subscribe({}, last), 'subscribed')
    await reader.until(2)
    assert.deepEqual(reader.told, rest)
    reader.stream.close()
    const { message } = (await (
      await world.fetch(`/v1/inboxes/${kept.id}/wait?after=${last}&timeout=1`)
    ).json()) as { message: { id: string } | null }
    assert.ok(message !== null)
    const rows = await runSql(world, `select * from events where kind = 'erased'`)
    const left = rows.map(({ id, pod_id, inbox_id, thread_id, message_id, details }) => [
      id,
      [pod_id, inbox_id, thread_id, message_id, details].every((value) => value === null),
    ])
    assert.deepEqual(left.sort(), erased.map((id) => [id, true]).sort())
  })

  test('leave no hole in a page while they go', async () => {
    const [gone, kept] = [await world.inbox(), await world.inbox()]
    const start = await receive(world, kept)
    const first = await receiveMany(world, gone, 30)
    const rest = await receiveMany(world, kept, 15)
    await untilReadable(world)
    // As if its mail had gone and its events had not.
    await runSql(world, `delete from messages where inbox_id = '${gone.id}'`)
    for (const filter of ['', `&event_types=message.received`]) {
      const page = await list(`after=${start.eventId}&limit=10${filter}`)
      assert.deepEqual(idsIn(page), rest.slice(0, 10))
      assert.equal(page.total, first.length + rest.length)
      const end = await list(`after=${rest[9]}&limit=10${filter}`)
      assert.deepEqual([idsIn(end), end.total], [rest.slice(10), 5])
      const none = await list(`after=${rest.at(-1)}&limit=10${filter}`)
      assert.deepEqual(none, { data: [], total: 0 })
    }
  })

  test('are erased before their mail goes', async () => {
    const inbox = await world.inbox()
    await receiveMany(world, inbox, 3)
    const { db } = world.app.deps
    await db.write(removeInbox, {
      accountId: accountIdOf(world),
      inboxId: inbox.id,
      jobId: makeId('job'),
      nowMs: Date.now(),
    })
    const count = async (table: string) =>
      (await runSql(world, `select id from ${table} where inbox_id = '${inbox.id}'`)).length
    assert.deepEqual(await db.write(purgeInboxStep, { inboxId: inbox.id }), {
      isDone: false,
      blobIds: [],
    })
    assert.deepEqual([await count('events'), await count('messages')], [0, 3])
    while (!(await db.write(purgeInboxStep, { inboxId: inbox.id })).isDone);
    assert.equal(await count('messages'), 0)
  })
})
