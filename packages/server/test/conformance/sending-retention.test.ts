import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { IDEMPOTENCY_MS } from '#outbound/send/store/idempotency-keys.ts'
import { DAY_MS } from '#platform/units.ts'
import { leaseJobs, settleJob } from '#queue/jobs.ts'
import { CAPTURED_MS, purgeExpiredStep, purgeInboxStep } from '#removal/store/purge.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import { deliverDeps, leaseGroup, stillClock } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { queueAll, readAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine } from '#test/world.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 12)
const NEVER = AbortSignal.any([])
const EXPIRING = [
  'idempotency_keys',
  'cold_recipients',
  'captured_messages',
  'released_addresses',
  'inbox_creations',
  'events',
]

onEachEngine('rows that sending leaves', (engine) => {
  const withDatabase = async (run: (database: TestDatabase) => Promise<void>) => {
    await using database = await openDatabase(engine)
    await run(database)
  }

  test('a deleted inbox leaves no row that names it or its mail, except rows that expire', async () => {
    await withDatabase(async (database) => {
      const { db } = database
      const owner = await addAccount(db)
      const [inboxId, kept] = [await addInbox(db, owner), await addInbox(db, owner)]
      const clock = stillClock(NOW_MS)
      const queue = openDeliveryQueue(deliverDeps(db, clock, null), 'worker')
      const names = ['bob@far.example', 'defer-451@far.example', 'late@other.example']
      const ids = await queueAll(
        db,
        [inboxId, inboxId, kept].map((inbox) =>
          sending(owner, inbox, { recipients: names, nowMs: NOW_MS }),
        ),
      )
      const long = 'x'.repeat(200_000)
      const arrived = arriving(owner, [inboxId])
      arrived.content = { ...arrived.content, body_text: long, body_length: long.length }
      await db.write(storeReceived, { ...arrived, senderKey: 'ann@sender.example' })
      const held = await queue.lease([
        { account: owner.accountId, lane: 'far.example', limit: 100 },
      ])
      for (const group of queue.group(held)) await queue.deliver(group, NEVER)
      const before = await readAll(db)
      const rawIds = await runSql(
        database,
        `select raw_id from messages where inbox_id = '${inboxId}'`,
      )
      const traces = [inboxId, ...ids.slice(0, 2), ...arrived.receipts.map((one) => one.messageId)]
      traces.push(...rawIds.map((row) => (row as { raw_id: string }).raw_id))
      assert.equal(traces.length, 7)
      const tracedIn = (tables: Record<string, string[]>) =>
        Object.keys(tables)
          .filter((name) => tables[name]?.some((row) => traces.some((id) => row.includes(id))))
          .sort()
      const touched = tracedIn(before)
      for (const table of [
        'captured_messages',
        'cold_recipients',
        'correspondents',
        'deliveries',
        'events',
        'inbox_sends',
        'messages',
        'raw_messages',
        'threads',
      ]) {
        assert.ok(touched.includes(table), table)
      }
      const deletion = { ...owner, inboxId, nowMs: NOW_MS }
      assert.equal(
        await db.write(removeInbox, { ...deletion, actor: { kind: 'operator' } }),
        'deleted',
      )
      while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId })).isDone);
      const job = { kind: 'purge', key: inboxId, worker: 'w', nowMs: NOW_MS }
      await db.write(leaseJobs, { ...job, leaseMs: 1, limit: 1, afterAccount: '' })
      await db.write(settleJob, { ...job, outcome: 'done', faultsMax: 1 })
      // The first is kept for a day of repeats, the second for a day of counting.
      assert.deepEqual(tracedIn(await readAll(db)), [
        'idempotency_keys',
        'inbox_creations',
        'released_addresses',
      ])
      const left = await readAll(db)
      assert.equal(left.deliveries?.length, 3)
      assert.equal(left.captured_messages?.length, 1)
      assert.match(left.account_counters?.join() ?? '', /"captured_count":1/)
      const inMonths = Date.now() + 100 * DAY_MS
      while (!(await db.write(purgeExpiredStep, { nowMs: inMonths })).isDone);
      assert.deepEqual(tracedIn(await readAll(db)), [])
    })
  })

  test('keys, days of strangers and captures are removed when they expire and not before', async () => {
    await withDatabase(async (database) => {
      const { db } = database
      const owner = await addAccount(db)
      const inboxId = await addInbox(db, owner)
      await queueAll(db, [sending(owner, inboxId, { nowMs: NOW_MS })])
      const queue = openDeliveryQueue(deliverDeps(db, stillClock(NOW_MS), null), 'worker')
      const group = await leaseGroup(queue, owner.accountId, 'far.example')
      await queue.deliver(group, NEVER)
      const left = async (nowMs: number) => {
        await db.write(purgeExpiredStep, { nowMs })
        const tables = await readAll(db)
        const names = [
          'idempotency_keys',
          'cold_recipients',
          'account_cold_days',
          'captured_messages',
        ]
        return names.filter((name) => (tables[name]?.length ?? 0) > 0)
      }
      const strangers = ['cold_recipients', 'account_cold_days']
      const today = Math.floor(NOW_MS / DAY_MS) * DAY_MS
      assert.equal((await left(NOW_MS + IDEMPOTENCY_MS - 1)).length, 4)
      assert.deepEqual(await left(NOW_MS + IDEMPOTENCY_MS), [...strangers, 'captured_messages'])
      assert.deepEqual(await left(today + 2 * DAY_MS - 1), [...strangers, 'captured_messages'])
      assert.deepEqual(await left(today + 2 * DAY_MS), ['captured_messages'])
      assert.deepEqual(await left(NOW_MS + CAPTURED_MS - 1), ['captured_messages'])
      assert.deepEqual(await left(NOW_MS + CAPTURED_MS), [])
      assert.match((await readAll(db)).account_counters?.join() ?? '', /"captured_count":0/)
    })
  })

  test('expired rows are removed in bounded steps, and together the steps remove all', async () => {
    await withDatabase(async (database) => {
      const count = 2 * PURGE_STEP_ROWS + 100
      const hash = engine === 'sqlite' ? "x'00'" : "'\\x00'"
      const into = (columns: string, values: string) =>
        runSql(
          database,
          `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
           insert into ${columns} select ${values} from n`,
        )
      await into(
        'idempotency_keys (account_id, idempotency_key, request_hash, answer, created_at)',
        engine === 'sqlite'
          ? `'a', 'k' || i, ${hash}, '', i`
          : `'a', 'k' || i, ${hash}::bytea, '', i`,
      )
      await into('cold_recipients (inbox_id, utc_day, address_key)', `'inb' || i, 1, 'r'`)
      await into(
        'captured_messages (id, account_id, message_id, recipients, created_at)',
        `'cap' || i, 'acc' || (i % 3), 'm', '[]', i`,
      )
      await into('released_addresses (address, account_id, released_at)', "'a' || i, 'acc', i")
      await into('inbox_creations (account_id, created_at, inbox_id)', "'acc', i, 'inb' || i")
      await into('events (id, kind, account_id, occurred_at)', "'evt' || i, 'k', 'acc', i")
      const step = () => database.db.write(purgeExpiredStep, { nowMs: NOW_MS })
      for (const left of [PURGE_STEP_ROWS + 100, 100, 0]) {
        assert.equal((await step()).isDone, left === 0)
        const tables = await readAll(database.db)
        for (const name of EXPIRING) assert.equal(tables[name]?.length, left, name)
      }
    })
  })
})
