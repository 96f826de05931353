import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/messages.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { openSqliteConnection, queriesOn } from '#platform/db/sqlite-connection.ts'
import type { Tables, Tx } from '#store/tables.ts'
import { stillClock } from '#test/conformance/delivering.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { addWebhook, webhookDeps } from '#test/conformance/webhooking.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines } from '#test/world.ts'
import { openWebhookQueue } from '#webhooks/deliver-webhooks.ts'
import { listWebhookDeliveries } from '#webhooks/store/deliveries.ts'
import * as store from '#webhooks/store/queue.ts'

onBothEngines('the queue of webhooks', (engine) => {
  test('a lease estimates the size of its events, rather too high, up to the limit of an event', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const webhookId = await addWebhook(db, owner)
    const sizes = [10, 2 * ROW_BLOB_BYTES_MAX, 100 * ROW_BLOB_BYTES_MAX]
    for (const [index, size] of sizes.entries()) {
      const input = arriving(owner, [inboxId], { content: Buffer.alloc(10) })
      await db.write(storeReceived, { ...input, raw: { ...input.raw, size_bytes: size } })
      const [receipt] = input.receipts
      await runSql(
        database,
        `insert into webhook_deliveries (id, account_id, lane, event_id, event_kind, queue_state,
           status, attempts, next_attempt_at, created_at)
         values ('dlv_${index}', '${owner.accountId}', '${webhookId}', '${receipt?.eventId}',
           'message.received', 'ready', 'pending', 0, ${index}, 0)`,
      )
    }
    const queue = openWebhookQueue(webhookDeps(db, stillClock(0)), 'a worker')
    const held = await queue.lease([{ account: owner.accountId, lane: webhookId, limit: 10 }])
    assert.deepEqual(
      held.map(({ size_bytes }) => size_bytes),
      [4 * 1024 + 60, 6 * SHOWN_BODY_BYTES_MAX, 6 * SHOWN_BODY_BYTES_MAX],
    )
  })
})

test('a list skips deliveries by their index alone', async () => {
  const database = await openDatabase('sqlite')
  const connection = openSqliteConnection({ path: database.place, mode: 'write' })
  const prepare = connection.raw.prepare.bind(connection.raw)
  const plans: string[] = []
  connection.raw.prepare = (text) => {
    const rows = prepare(`explain query plan ${text}`).all()
    plans.push(rows.map(({ detail }) => detail).join('; '))
    return prepare(text)
  }
  const queries = queriesOn<Tables>(connection)
  try {
    const db = { read: queries.query, reading: { engine: 'sqlite', ...queries } } as const
    const owner = await addAccount(database.db)
    const webhookId = await addWebhook(database.db, owner)
    await runSql(
      database,
      `insert into webhook_deliveries (id, account_id, lane, event_id, event_kind, status, attempts,
         created_at)
       values ('dlv_1', '${owner.accountId}', '${webhookId}', 'evt_1', 'message.sent', 'failed', 1, 0)`,
    )
    const { accountId } = owner
    await listWebhookDeliveries(db, { accountId, webhookId, limit: 1, offset: 0 })
    const passing = plans.filter((plan) => plan.includes('webhook_deliveries_by_webhook'))
    assert.equal(passing.length, 2, 'what is counted and what is shown')
    for (const plan of passing) {
      assert.match(plan, /COVERING INDEX webhook_deliveries_by_webhook/)
      assert.doesNotMatch(plan, /SCAN webhook_deliveries/)
    }
  } finally {
    connection.close()
    await database.close()
  }
})

test('every scan of the queue uses the index of its state', async () => {
  const database = await openDatabase('sqlite')
  const connection = openSqliteConnection({ path: database.place, mode: 'write' })
  const prepare = connection.raw.prepare.bind(connection.raw)
  const texts = new Set<string>()
  connection.raw.prepare = (text) => {
    texts.add(text)
    return prepare(text)
  }
  const queries = queriesOn<Tables>(connection)
  const tx: Tx = { engine: 'sqlite', ...queries }
  const reading = { read: queries.query, reading: tx }
  const due = { queueMs: 1, backoffMaxMs: 1, leaseMs: 1 }
  try {
    await store.webhookQueue.listHeads(reading, { account: '', lane: '', lanesEach: 1, limit: 1 })
    const heads = [{ account: 'none', lane: 'none', limit: 1 }]
    await store.webhookQueue.lease.run(tx, { worker: 'a worker', heads, leaseUntilMs: 1 })
    await store.webhookQueue.hasDue(reading, due)
    await store.webhookQueue.readyDue.run(tx, due)
    await store.webhookQueue.release.run(tx, { instance: null })
    const states: string[] = []
    for (const text of texts) {
      const [, state] = /queue_state"? (?:=|>=) '(\w+)'/.exec(text) ?? []
      if (state === undefined) continue
      states.push(state)
      const rows = prepare(`explain query plan ${text}`).all()
      const plan = rows.map(({ detail }) => detail).join('; ')
      assert.match(plan, new RegExp(`INDEX webhook_deliveries_${state}`), text)
    }
    assert.deepEqual(new Set(states), new Set(['ready', 'waiting', 'leased']))
  } finally {
    connection.close()
    await database.close()
  }
})
