import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { ReceiveInput } from '#inbound/receive-message-rows.ts'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { SAME_ID_LOOKED_AT_MAX } from '#inbound/receive-plan-rows.ts'
import { removeInbox } from '#inboxes/change-inbox-rows.ts'
import { findInboxByAddress } from '#inboxes/inbox-rows.ts'
import { systemClock } from '#platform/clock.ts'
import { paceWrites } from '#platform/db/paced-db.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { Db } from '#schema/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
} from '#test/conformance/open-database.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { type Grouping, openGrouping, receiveTogether, waiting } from './grouping-database.ts'
import { openDice } from './receiving-batches.ts'

const GUARD = { timeout: 120_000 }

suite('mail received in groups', () => {
  let url: string
  let observed: Grouping
  let db: Db
  let owner: Owner
  before(async () => {
    url = await createPreparedDatabase()
    observed = await openGrouping(url)
    db = observed.db
    owner = await addAccount(db)
  })
  after(() => db.close())

  const countersOf = (inboxId: string) =>
    db.read
      .selectFrom('inbox_counters')
      .selectAll()
      .where('inbox_id', '=', inboxId)
      .executeTakeFirstOrThrow()
  const positionsOf = async (inboxId: string) => {
    const rows = await db.read
      .selectFrom('messages')
      .select('position')
      .where('inbox_id', '=', inboxId)
      .orderBy('position')
      .execute()
    return rows.map(({ position }) => position)
  }
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

  test('of a group one fails alone, and the others are stored', async () => {
    const inboxId = await addInbox(db, owner)
    const first = arriving(owner, [inboxId])
    await db.write(storeReceived, first)
    const bad = { ...first, raw: { ...first.raw, id: makeId('raw') } }
    const inputs = [arriving(owner, [inboxId]), bad, arriving(owner, [inboxId])]
    const results = await receiveTogether(
      db,
      inputs.map((input) => waiting(input)),
    )
    assert.ok(results[1] instanceof Error && /messages_pkey|duplicate key/.test(results[1].message))
    for (const index of [0, 2]) assert.equal((results[index] as { stored: number }).stored, 1)
    assert.deepEqual(await positionsOf(inboxId), upTo(3))
    assert.equal((await countersOf(inboxId)).inbound_count, 3)
  })

  test('finds a repetition behind as many others as are looked at, and no further', async () => {
    const inboxId = await addInbox(db, owner)
    const mail = (receipt: number) => {
      const input = arriving(owner, [inboxId], { key: 'one@x.example' })
      const receipt_key = Buffer.from([receipt >> 8, receipt & 255])
      return waiting({ ...input, content: { ...input.content, receipt_key } })
    }
    const results = async (receipts: number[]) => {
      const outcomes = (await receiveTogether(db, receipts.map(mail))) as { duplicates: number }[]
      return outcomes.map(({ duplicates }) => duplicates)
    }
    const some = upTo(SAME_ID_LOOKED_AT_MAX - 10)
    assert.deepEqual(await results([0, ...some]), [0, ...some.map(() => 0)])
    assert.deepEqual(await results([201, 202, 203, 204, 205, 206, 207, 208, 209, 0]), [
      ...Array(9).fill(0),
      1,
    ])
    assert.deepEqual(await results([210, 0, 0]), [0, 0, 1])
  })

  test('writes of one inbox that come at once share transactions, in the order of their coming', async () => {
    const inboxId = await addInbox(db, owner)
    const paced = paceWrites(db, systemClock).db
    observed.groups.length = 0
    const inputs = upTo(120).map(() => arriving(owner, [inboxId]))
    await Promise.all(inputs.map((input) => paced.write(storeReceived, input)))
    assert.ok(observed.groups.length < 10, String(observed.groups))
    const rows = await db.read
      .selectFrom('messages')
      .select('id')
      .where('inbox_id', '=', inboxId)
      .orderBy('position')
      .execute()
    assert.deepEqual(
      rows.map(({ id }) => id),
      inputs.map(({ receipts }) => receipts[0]?.messageId),
    )
  })

  test('what comes while another transaction has the inbox joins the group that waits for it', async () => {
    const inboxId = await addInbox(db, owner)
    const paced = paceWrites(db, systemClock).db
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    await client.query('select * from inbox_counters where inbox_id = $1 for update', [inboxId])
    observed.groups.length = 0
    const receive = () => paced.write(storeReceived, arriving(owner, [inboxId]))
    const first = receive()
    const isWaiting = async () => {
      const { rows } = await client.query('select 1 from pg_locks where not granted')
      return rows.length > 0
    }
    while (!(await isWaiting())) await pause(5)
    const others = upTo(10).map(receive)
    await client.query('rollback')
    await client.end()
    await Promise.all([first, ...others])
    assert.deepEqual(observed.groups, [11])
    assert.deepEqual(await positionsOf(inboxId), upTo(11))
  })

  test('addresses looked up at once are each found, and one that cannot be spoils no other', async () => {
    const inboxIds = await Promise.all(upTo(20).map(() => addInbox(db, owner)))
    const addresses = inboxIds.map((id) => `${id}@mailroom.localhost`)
    const asked = [
      ...addresses,
      'nobody@mailroom.localhost',
      'a\0b@mailroom.localhost',
      ...addresses,
    ]
    const found = await Promise.allSettled(asked.map((address) => findInboxByAddress(db, address)))
    const ids = found.map((one) =>
      one.status === 'fulfilled' ? (one.value?.id ?? null) : 'failed',
    )
    assert.deepEqual(ids, [...inboxIds, null, 'failed', ...inboxIds])
  })

  test('each message has the trace that it is part of', async () => {
    const inboxId = await addInbox(db, owner)
    const traces = ['00-a-b-01', undefined, '00-c-d-01']
    const writes = traces.map((trace) => waiting(arriving(owner, [inboxId]), trace))
    await receiveTogether(db, writes)
    const events = await db.read
      .selectFrom('events')
      .select('trace_parent')
      .where('inbox_id', '=', inboxId)
      .orderBy('sequence')
      .execute()
    assert.deepEqual(
      events.map((event) => event.trace_parent),
      traces.map((trace) => trace ?? null),
    )
  })

  test('an inbox that is deleted while mail for it waits has no messages of its own after', async () => {
    const [going, staying] = [await addInbox(db, owner), await addInbox(db, owner)]
    const paced = paceWrites(db, systemClock).db
    const receive = () => paced.write(storeReceived, arriving(owner, [going, staying]))
    const begun = upTo(60).map(receive)
    const input = { ...owner, inboxId: going, jobId: makeId('job'), nowMs: 1 }
    const deleted = paced.write(removeInbox, input)
    const outcomes = await Promise.all([...begun, ...upTo(20).map(receive)])
    assert.equal(await deleted, 'deleted')
    const stored = (await positionsOf(going)).length
    assert.equal(stored, outcomes.filter((outcome) => outcome.stored === 2).length)
    assert.ok(outcomes.every((outcome) => outcome.stored + outcome.gone === 2))
    assert.deepEqual(await positionsOf(staying), upTo(80))
    assert.equal((await receive()).gone, 1)
  })

  test('groups of two processes over the same inboxes keep positions dense', GUARD, async () => {
    const inboxIds = await Promise.all(upTo(4).map(() => addInbox(db, owner)))
    const second = await openGrouping(url)
    try {
      const processes = [paceWrites(db, systemClock).db, paceWrites(second.db, systemClock).db]
      const roll = openDice(7)
      const writes = upTo(400).map((number) => {
        const to = inboxIds.filter(() => roll(2) === 0)
        const input = arriving(owner, to.length === 0 ? inboxIds : to)
        return processes[number % 2]?.write(storeReceived, input)
      })
      await Promise.all(writes)
      for (const inboxId of inboxIds) {
        const counters = await countersOf(inboxId)
        assert.deepEqual(await positionsOf(inboxId), upTo(counters.inbound_count))
        assert.equal(counters.thread_count, counters.inbound_count)
        assert.equal(counters.unread_thread_count, counters.inbound_count)
      }
      assert.ok(second.groups.some((size) => size > 1))
    } finally {
      await second.db.close()
    }
  })

  test('connections that are lost in the middle leave nothing half written', GUARD, async () => {
    const inboxIds = await Promise.all(upTo(2).map(() => addInbox(db, owner)))
    const paced = paceWrites(db, systemClock).db
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    let isOver = false
    const killing = (async () => {
      // Less and less often, so that a slow machine gets some done.
      for (let pauseMs = 20; !isOver; pauseMs *= 1.1) {
        await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'mailroom' and datname = current_database() and state <> 'idle'`)
        await pause(pauseMs)
      }
    })()
    const inputs: ReceiveInput[] = []
    const results: PromiseSettledResult<unknown>[] = []
    // Until some were kept and some were lost.
    while (new Set(results.map(({ status }) => status)).size < 2) {
      const some = upTo(100).map(() => arriving(owner, inboxIds))
      const writes = some.map((input) => paced.write(storeReceived, input))
      inputs.push(...some)
      results.push(...(await Promise.allSettled(writes)))
    }
    isOver = true
    await killing
    await client.end()
    const rows = await db.read
      .selectFrom('messages')
      .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
      .innerJoin('events', 'events.message_id', 'messages.id')
      .innerJoin('threads', 'threads.id', 'messages.thread_id')
      .select(['messages.raw_id', 'messages.inbox_id'])
      .where('messages.inbox_id', 'in', inboxIds)
      .execute()
    const byRaw = Map.groupBy(rows, (row) => row.raw_id)
    for (const [index, result] of results.entries()) {
      const count = byRaw.get(inputs[index]?.raw.id ?? '')?.length ?? 0
      // One that was lost at its commit may be there.
      if (result.status === 'fulfilled') assert.equal(count, 2)
      else assert.ok(result.reason instanceof StorageError && [0, 2].includes(count), `${count}`)
    }
    for (const inboxId of inboxIds) assert.deepEqual(await positionsOf(inboxId), upTo(byRaw.size))
  })
})
