import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { ReceiveInput } from '#inbound/receive-message-rows.ts'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { ROW_BODY_LENGTH_MAX } from '#mailbox/long-body-rows.ts'
import { systemClock } from '#platform/clock.ts'
import { paceWrites } from '#platform/db/paced-db.ts'
import { StorageError, tooManyWrites } from '#platform/db/storage-error.ts'
import {
  groupWrites,
  WRITE_GROUP_BYTES_MAX,
  WRITE_GROUPED_BYTES_MAX,
} from '#platform/db/write-groups.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { addAccount, addInbox, arriving, type Owner } from '#test/conformance/open-database.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { type Grouping, openGrouping, receiveTogether, waiting } from './grouping-database.ts'

const GUARD = { timeout: 120_000 }

type Content = Partial<ReceiveInput['content']>

suite('the bounds of groups', GUARD, () => {
  let observed: Grouping
  let db: Grouping['db']
  let owner: Owner
  let client: pg.Client
  before(async () => {
    const url = await createPreparedDatabase()
    observed = await openGrouping(url)
    db = observed.db
    owner = await addAccount(db)
    client = new pg.Client({ connectionString: url })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await db.close()
  })

  const saying = (inboxIds: string[], content: Content): ReceiveInput => {
    const input = arriving(owner, inboxIds)
    return { ...input, content: { ...input.content, ...content } }
  }
  const hold = async (...inboxIds: string[]) => {
    await client.query('begin')
    await client.query('select 1 from inbox_counters where inbox_id = any($1) for update', [
      inboxIds,
    ])
  }
  /** Of connections, once so many wait for a lock. */
  const waitForLocks = async (count: number): Promise<number[]> => {
    for (;;) {
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      )
      if (rows.length >= count) return rows.map(({ pid }) => pid)
      await pause(5)
    }
  }
  /** Sizes of the transactions of these, all of which come while the first has to wait. */
  const groupsOf = async (inboxIds: string[], inputs: ReceiveInput[]) => {
    const paced = paceWrites(db, systemClock).db
    await hold(...inboxIds)
    observed.groups.length = 0
    const writes = inputs.map((input) => paced.write(storeReceived, input))
    await waitForLocks(1)
    await client.query('rollback')
    await Promise.all(writes)
    return observed.groups.toSorted((a, b) => a - b)
  }

  const makeInboxes = () => Promise.all(Array.from({ length: 3 }, () => addInbox(db, owner)))

  test('what is larger than a group with all of its recipients has a transaction of its own', async () => {
    const inboxIds = await makeInboxes()
    const header_to = 'x'.repeat(WRITE_GROUP_BYTES_MAX / 3)
    const large = () => saying(inboxIds, { header_to })
    assert.deepEqual(await groupsOf(inboxIds, [large(), large(), large()]), [1, 1, 1])
    const fitting = () => saying(inboxIds, { header_to: 'x' })
    assert.deepEqual(await groupsOf(inboxIds, [fitting(), fitting(), fitting()]), [3])
  })

  test('what is far larger is in no group, and waits for none', async () => {
    const inboxIds = await makeInboxes()
    const paced = paceWrites(db, systemClock).db
    const header_to = 'x'.repeat(WRITE_GROUPED_BYTES_MAX / 3)
    await hold(...inboxIds)
    const inputs = [1, 2, 3].map(() => saying(inboxIds, { header_to }))
    const writes = inputs.map((input) => paced.write(storeReceived, input))
    await waitForLocks(inputs.length)
    await client.query('rollback')
    for (const { stored } of await Promise.all(writes)) assert.equal(stored, 3)
  })

  test('a group has no more octets than its bound, and long bodies count once', async () => {
    const inboxIds = await makeInboxes()
    const body_text = 'x'.repeat(WRITE_GROUP_BYTES_MAX / 4)
    assert.ok(body_text.length > ROW_BODY_LENGTH_MAX)
    const long = () => saying(inboxIds, { body_text, body_length: body_text.length })
    const inputs = Array.from({ length: 6 }, long)
    assert.deepEqual(await groupsOf(inboxIds, inputs), [3, 3])
  })

  test('a group that was lost is one failure of the store, told to each of its writes', async () => {
    const [held, other] = [await addInbox(db, owner), await addInbox(db, owner)]
    const paced = paceWrites(db, systemClock)
    const receive = (inboxId: string) => paced.db.write(storeReceived, arriving(owner, [inboxId]))
    await hold(held, other)
    const settled = Promise.allSettled([
      receive(held),
      ...Array.from({ length: 5 }, () => receive(other)),
    ])
    const [first] = await waitForLocks(1)
    await client.query('select pg_terminate_backend($1)', [first])
    let [second] = await waitForLocks(1)
    while (second === first) [second] = await waitForLocks(1)
    await client.query('select pg_terminate_backend($1)', [second])
    for (const one of await settled) {
      assert.ok(one.status === 'rejected' && one.reason instanceof StorageError)
    }
    assert.equal(paced.loadOf(owner.accountId).failures, 2)
    await client.query('rollback')
    assert.equal((await receive(other)).stored, 1)
    assert.equal(paced.loadOf(owner.accountId).failures, 0)
  })

  test('writes that get no slot are refused, and the next ones get theirs', async () => {
    const inboxId = await addInbox(db, owner)
    const { writeGroup } = db
    assert.ok(writeGroup)
    const slots = new Semaphore({ limit: 1, waitMsMax: 50, refuse: tooManyWrites })
    let answers = 0
    const writeInGroup = groupWrites({ writeGroup, slots, onSettled: () => void answers++ })
    const write = () => writeInGroup(storeReceived, waiting(arriving(owner, [inboxId])))
    const release = slots.tryAcquire()
    for (const one of await Promise.allSettled([write(), write(), write()])) {
      assert.ok(one.status === 'rejected' && one.reason instanceof StorageError)
    }
    assert.equal(answers, 0)
    release?.()
    await Promise.all([write(), write(), write()])
    assert.equal(answers, 3)
    assert.equal(slots.held(), 0, 'each slot was given back')
  })

  test('texts with anything in them are kept as if each had come alone', async () => {
    const inboxId = await addInbox(db, owner)
    const subjects = ['\ud83d end', '\\ud83d \\u0000 \\', '\u0001\u2028"\'{}\ufeff', '']
    const inputs = subjects.map((subject) => saying([inboxId], { subject }))
    const withNul = saying([inboxId], { subject: 'a\0b' })
    const results = await receiveTogether(
      db,
      [...inputs, withNul].map((input) => waiting(input)),
    )
    assert.deepEqual(
      results.map((result) => result instanceof Error),
      [false, false, false, false, true],
    )
    await receiveTogether(
      db,
      subjects.map((subject) => waiting(saying([inboxId], { subject }))),
    )
    const rows = await db.read
      .selectFrom('messages')
      .select('subject')
      .where('inbox_id', '=', inboxId)
      .orderBy('position')
      .execute()
    const kept = ['\ufffd end', ...subjects.slice(1)]
    // The first four alone, for one beside them failed.
    assert.deepEqual(
      rows.map((row) => row.subject),
      [...kept, ...kept],
    )
  })

  test('columns that another program adds and removes meanwhile keep their defaults', async () => {
    const inboxId = await addInbox(db, owner)
    const receive = async () => {
      const writes = [1, 2].map(() => waiting(arriving(owner, [inboxId])))
      observed.groups.length = 0
      const results = (await receiveTogether(db, writes)) as { stored: number }[]
      assert.deepEqual(
        results.map(({ stored }) => stored),
        [1, 1],
      )
      // None was done alone after.
      assert.deepEqual(observed.groups, [2])
    }
    const tables = ['messages', 'threads', 'events', 'raw_messages', 'thread_ranges']
    await receive()
    for (const table of tables) {
      await client.query(`alter table ${table} add column later integer not null default 7`)
    }
    await receive()
    await db.write(storeReceived, arriving(owner, [inboxId]))
    const { rows } = await client.query('select later from messages where inbox_id = $1', [inboxId])
    assert.deepEqual(
      rows.map(({ later }) => later),
      [7, 7, 7, 7, 7],
    )
    for (const table of tables) await client.query(`alter table ${table} drop column later`)
    await receive()
  })

  test('a database that is closed refuses what waits for its group', async () => {
    const closing = await openGrouping(await createPreparedDatabase())
    const other = await addAccount(closing.db)
    const inboxId = await addInbox(closing.db, other)
    const paced = paceWrites(closing.db, systemClock).db
    const input = () => arriving(other, [inboxId])
    const writes = Array.from({ length: 120 }, () => paced.write(storeReceived, input()))
    const closed = closing.db.close()
    const results = await Promise.allSettled(writes)
    await closed
    const lost = results.filter((one) => one.status === 'rejected')
    assert.ok(lost.length > 0)
    for (const { reason } of lost) assert.ok(reason instanceof StorageError, String(reason))
    assert.equal(results[0]?.status, 'fulfilled')
  })
})
