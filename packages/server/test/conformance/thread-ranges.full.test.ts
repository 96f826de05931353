import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { listThreads } from '#mailbox/thread-rows.ts'
import {
  addAccount,
  addInbox,
  arriving,
  markThread,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const COUNT = 7_000
/** The same as in the code under test, because the rows are made by hand here. */
const RANGE_POSITIONS = 2_048

onBothEngines('threads of a large inbox', (engine) => {
  const database = opened(() => openDatabase(engine))
  let inboxId: string
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  before(async () => {
    inboxId = await addInbox(db, owner)
    await fill()
  })

  /** `COUNT` threads of a message each, as if they had arrived one after the other. */
  async function fill(): Promise<void> {
    await db.write(storeReceived, arriving(owner, [inboxId], { key: 'root' }))
    const numbers = `with recursive n (i) as (select 2 union all select i + 1 from n where i < ${COUNT})`
    await runSql(
      database,
      `${numbers} insert into threads (id, account_id, inbox_id, subject, is_read,
      message_count, last_message_at, last_position, created_at)
      select id || '_' || i, account_id, inbox_id, subject, 0, 1, i, i, i from threads, n`,
    )
    await runSql(
      database,
      `${numbers} insert into messages (id, account_id, inbox_id, thread_id, raw_id, direction,
      position, direction_position, thread_position, status, message_key, from_addr, to_addr, cc,
      reference_ids, subject, body_length, body_text, body_html, attachments, defects, created_at)
      select id || '_' || i, account_id, inbox_id, thread_id || '_' || i, raw_id, direction, i, i, 1,
      status, message_key || i, from_addr, to_addr, cc, reference_ids, subject, body_length, body_text,
      body_html, attachments, defects, i from messages, n`,
    )
    await runSql(database, 'delete from thread_ranges')
    await runSql(database, `insert into thread_ranges ${EXPECTED_RANGES}`)
    await runSql(
      database,
      `update inbox_counters set inbound_count = ${COUNT}, thread_count = ${COUNT},
      unread_thread_count = ${COUNT}`,
    )
  }

  const EXPECTED_RANGES = `select inbox_id, last_position / ${RANGE_POSITIONS}, count(*),
    sum(1 - is_read) from threads group by inbox_id, last_position / ${RANGE_POSITIONS}`

  async function assertRangesRight(): Promise<void> {
    const { rows: expected } = await sql
      .raw<Record<string, number>>(
        `select last_position / ${RANGE_POSITIONS} as range, count(*) as threads,
         sum(1 - is_read) as unread from threads group by 1 order by 1`,
      )
      .execute(db.read)
    const kept = await db.read
      .selectFrom('thread_ranges')
      .select(['position_range as range', 'thread_count as threads', 'unread_count as unread'])
      .where('thread_count', '>', 0)
      .orderBy('position_range')
      .execute()
    const figures = (rows: object[]) => rows.map((row) => Object.values(row).map(Number))
    assert.deepEqual(figures(kept), figures(expected))
  }

  async function assertPagesRight(): Promise<void> {
    const all = await db.read
      .selectFrom('threads')
      .select(['id', 'is_read'])
      .orderBy('last_position', 'desc')
      .execute()
    for (const isRead of [null, true, false]) {
      const expected = all.filter((row) => isRead === null || (row.is_read === 1) === isRead)
      const last = expected.length - 1
      for (const offset of [
        0,
        49,
        2_047,
        2_048,
        2_049,
        2_100,
        4_095,
        4_096,
        4_500,
        last - 30,
        last,
        last + 1,
      ]) {
        if (offset < 0) continue
        const input = { ...owner, inboxId, isRead, limit: 50, offset }
        const page = await listThreads(db, input)
        assert.equal(page?.total, expected.length)
        assert.deepEqual(
          page?.threads.map(({ id }) => id),
          expected.slice(offset, offset + 50).map(({ id }) => id),
          `isRead ${isRead} at ${offset}`,
        )
      }
    }
  }

  test('every page equals a range of the whole list', async () => {
    await assertRangesRight()
    await assertPagesRight()
  })

  test('every page still does after threads are marked, answered and added', async () => {
    const rows = await db.read.selectFrom('threads').select('id').orderBy('last_position').execute()
    const ids = rows.map(({ id }) => id)
    const answer = (at: number) => {
      const key = at === 0 ? 'root' : `root${at + 1}`
      return db.write(storeReceived, arriving(owner, [inboxId], { parentKeys: [key] }))
    }
    for (let step = 0; step < 200; step++) {
      const at = (step * 2_654_435_761) % COUNT
      const threadId = ids[at] ?? ''
      await markThread(db, { ...owner, threadId, isRead: step % 5 !== 0 })
      if (step % 3 === 0) await answer(at)
      if (step % 3 === 1) await answer((at + 1) % COUNT)
      if (step % 9 === 0) await db.write(storeReceived, arriving(owner, [inboxId]))
      if (step % 7 === 0) await markThread(db, { ...owner, threadId, isRead: true })
    }
    await assertRangesRight()
    await assertPagesRight()
  })
})
