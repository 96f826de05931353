import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_STEP_EVENTS, LOG_UNKEPT_EVENTS_MAX } from '#events/follow-log.ts'
import { readLogHead } from '#events/store/log.ts'
import { findReaderOffset } from '#events/store/readers.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { changeInbox } from '#inboxes/store/change-inboxes.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'
import { type StillClock, stillClock } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { addWebhook, webhookDeliveriesOf, webhookDeps } from '#test/conformance/webhooking.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'
import { openFanOut } from '#webhooks/open-webhooks.ts'
import { addWebhookTest } from '#webhooks/store/queue.ts'
import { changeWebhook } from '#webhooks/store/webhooks.ts'

const START_MS = Date.UTC(2026, 10, 20, 12)
const HOUR_MS = 60 * MINUTE_MS

onEachEngine('events for webhooks', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  let inboxId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  beforeEach(async () => {
    for (const table of ['webhook_deliveries', 'webhooks', 'events']) {
      await runSql(database, `delete from ${table}`)
    }
    owner = await addAccount(db)
    inboxId = await addInbox(db, owner)
    clock = stillClock(START_MS)
    await settle(openFanOut(webhookDeps(db, clock), () => {}))
  })

  const settle = async (fanOut: ReturnType<typeof openFanOut>) => {
    for (;;) {
      while (await fanOut.step());
      if (!(await fanOut.isBehind())) return
    }
  }
  const fanOut = (on = db, onAdded = () => {}) => openFanOut(webhookDeps(on, clock), onAdded)
  /** A message arrives; returns the id of its event. */
  const arrive = async (inboxes = [inboxId], atMs = clock.now(), of = owner) => {
    const input = { ...arriving(of, inboxes), nowMs: atMs }
    await db.write(storeReceived, input)
    return input.receipts.map(({ eventId }) => eventId)
  }
  const arriveReadably = async (atMs = clock.now()) => {
    await arrive([inboxId], atMs)
    await untilReadable(db)
  }
  const toldTo = async (webhookId: string) =>
    (await webhookDeliveriesOf(db, [webhookId])).map((row) => row.event_id)

  test('an event becomes one delivery for each webhook that wants it, ready at once', async () => {
    const all = await addWebhook(db, owner)
    const mine = await addWebhook(db, owner, { filter: { inboxIds: [inboxId] } })
    const pod = await addWebhook(db, owner, { filter: { podIds: [owner.podId] } })
    const sent = await addWebhook(db, owner, { filter: { kinds: ['message.sent'] } })
    const disabled = await addWebhook(db, owner, { isEnabled: false })
    const foreign = await addWebhook(db, await addAccount(db))
    const other = await addInbox(db, owner)
    const [first = '', second = ''] = [...(await arrive()), ...(await arrive([other]))]
    let added = 0
    await settle(fanOut(db, () => added++))
    assert.ok(added > 0)
    assert.deepEqual(await toldTo(all), [first, second])
    assert.deepEqual(await toldTo(mine), [first])
    assert.deepEqual(await toldTo(pod), [first, second])
    for (const none of [sent, disabled, foreign]) assert.deepEqual(await toldTo(none), [])
    const [row] = await webhookDeliveriesOf(db, [all])
    assert.deepEqual(
      { ...row, id: '' },
      {
        id: '',
        account_id: owner.accountId,
        lane: all,
        event_id: first,
        event_kind: 'message.received',
        queue_state: 'ready',
        status: 'pending',
        attempts: 0,
        last_attempt_at: null,
        next_attempt_at: START_MS,
        leased_by: null,
        lease_until: null,
        response_status: null,
        response_body: null,
        latency_ms: null,
        error: null,
        trace_parent: null,
        created_at: START_MS,
      },
    )
  })

  test('events from before a webhook was enabled are not delivered to it, nor are tests', async () => {
    await arriveReadably()
    const webhookId = await addWebhook(db, owner)
    const [at = ''] = await arrive()
    await db.write(addWebhookTest, {
      accountId: owner.accountId,
      webhookId,
      eventId: makeId('evt'),
      deliveryId: makeId('dlv'),
      worker: 'test',
      nowMs: START_MS,
      queueMs: START_MS,
      leaseUntilMs: START_MS,
    })
    await settle(fanOut())
    const rows = await webhookDeliveriesOf(db, [webhookId])
    assert.deepEqual(
      rows.filter((row) => row.event_kind !== 'webhook.test').map((row) => row.event_id),
      [at],
    )
    assert.equal(rows.length, 2)
  })

  test('a wall clock that is set back, or differs, loses no event', async () => {
    const webhookId = await addWebhook(db, owner, { nowMs: START_MS })
    const eventIds = await arrive([inboxId], START_MS - HOUR_MS)
    await settle(fanOut())
    assert.deepEqual(await toldTo(webhookId), eventIds)
  })

  test('a webhook that is enabled again gets later events, by any clock', async () => {
    const webhookId = await addWebhook(db, owner)
    const { accountId } = owner
    const change = (isEnabled: boolean, nowMs: number) =>
      db.write(changeWebhook, { accountId, webhookId, change: { isEnabled }, nowMs })
    await change(false, START_MS)
    // By a clock that is ahead of the one that enables it.
    await arriveReadably(START_MS + HOUR_MS)
    await change(true, START_MS)
    const eventIds = await arrive([inboxId], START_MS - HOUR_MS)
    await change(true, START_MS + HOUR_MS)
    await settle(fanOut())
    assert.deepEqual(await toldTo(webhookId), eventIds)
  })

  test('the webhook of an inbox gets later events, by any clock', async () => {
    await arriveReadably(START_MS + HOUR_MS)
    const webhook = { id: makeId('whk'), url: 'https://one.example/', sealedSecrets: Buffer.of(1) }
    const change = { webhook, nowMs: START_MS }
    await db.write(changeInbox, { accountId: owner.accountId, inboxId, ...change })
    const eventIds = await arrive([inboxId], START_MS - HOUR_MS)
    await settle(fanOut())
    assert.deepEqual(await toldTo(webhook.id), eventIds)
  })

  test('concurrent readers add each delivery once and leave none out', async () => {
    const webhookIds = [await addWebhook(db, owner), await addWebhook(db, owner)]
    const eventIds: string[] = []
    let isOver = false
    const readers = [db, others, db, others].map(async (on) => {
      const reader = fanOut(on)
      while (!isOver) if (!(await reader.step())) await nextTurn()
      await settle(reader)
    })
    try {
      for (let round = 0; round < 15; round++) {
        const arrived = await Promise.all(Array.from({ length: 5 }, () => arrive()))
        eventIds.push(...arrived.flat())
      }
    } finally {
      isOver = true
      await Promise.all(readers)
    }
    for (const webhookId of webhookIds) {
      assert.deepEqual((await toldTo(webhookId)).toSorted(), eventIds.toSorted())
    }
  })

  test('a log without subscribers is read without a write, and its offset stored now and then', async () => {
    const writes: string[] = []
    const counting: Db = {
      ...db,
      read: db.read,
      write: (transaction, input) => {
        writes.push(transaction.name)
        return db.write(transaction, input)
      },
    }
    const reader = fanOut(counting)
    const before = await findReaderOffset(db, 'webhooks')
    for (let index = 0; index < 10; index++) await arrive()
    await settle(reader)
    assert.deepEqual(writes, [])
    assert.deepEqual(await findReaderOffset(db, 'webhooks'), before)
    for (let count = 0; count < LOG_UNKEPT_EVENTS_MAX; count += 50) {
      await arrive(Array.from({ length: 50 }, () => inboxId))
    }
    await settle(reader)
    assert.deepEqual(writes, ['addWebhookDeliveries'])
    clock.advance(60_000)
    await settle(reader)
    assert.equal(writes.length, 1, 'nothing new')
    const [eventId] = await arrive()
    await settle(reader)
    assert.equal(writes.length, 2)
    assert.deepEqual(await findReaderOffset(db, 'webhooks'), await readLogHead(db))
    assert.ok(eventId)
  })

  test('a webhook created while the log is read gets later events', async () => {
    const reader = fanOut()
    await arrive()
    await settle(reader)
    const webhookId = await addWebhook(db, owner)
    const eventIds = await arrive()
    await settle(reader)
    assert.deepEqual(await toldTo(webhookId), eventIds)
  })

  test('one step of many webhooks writes a bounded number of rows', async () => {
    for (let index = 0; index < 60; index++) await addWebhook(db, owner)
    await arrive(Array.from({ length: LOG_STEP_EVENTS }, () => inboxId))
    const sizes: number[] = []
    const counting: Db = {
      ...db,
      read: db.read,
      write: (transaction, input) => {
        const { deliveries } = input as { deliveries?: unknown[] }
        if (deliveries !== undefined) sizes.push(deliveries.length)
        return db.write(transaction, input)
      },
    }
    await settle(fanOut(counting))
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      60 * LOG_STEP_EVENTS,
    )
    assert.ok(Math.max(...sizes) <= 1_100, sizes.join(' '))
  })
})
