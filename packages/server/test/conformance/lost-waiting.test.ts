// Rows of reviews and of sends that wait, whose messages a program removed that knows neither.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postponeSend } from '#outbound/waiting/store/waiting-sends.ts'
import { systemClock } from '#platform/clock.ts'
import { expireReviews } from '#reviews/decide-review.ts'
import { makeId, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened } from '#test/world.ts'

/** More than a step takes. */
const LOST = 100

onEachEngine('what waits without its message', (engine) => {
  const database = opened(() => openDatabase(engine))
  const countIn = async (table: string) => (await runSql(database, `select * from ${table}`)).length

  test('is removed when its review ends, and the task comes to its end', async () => {
    const deps = { db: database.db, clock: systemClock, makeId, wakeEvents: () => {} }
    const numbers = `with recursive numbers (n) as (
      select 1 union all select n + 1 from numbers where n < ${LOST})`
    await runSql(
      database,
      `insert into reviews (id, account_id, inbox_id, thread_id, message_id, status, reasons, digest, content, expires_at, created_at)
       ${numbers} select 'hld_' || n, 'acc', 'ibx', 'thr', 'msg_' || n, 'pending', '[]', '', '{}', n, 0 from numbers`,
    )
    // Half of the messages have no row that waits any more.
    await runSql(
      database,
      `insert into waiting_sends (message_id, account_id, inbox_id, release_at, review_id, envelope, created_at)
       ${numbers} select 'msg_' || n, 'acc', 'ibx', null, 'hld_' || n, '{}', 0 from numbers where n % 2 = 0`,
    )
    let steps = 1
    const signal = AbortSignal.timeout(30_000)
    while ((await expireReviews(deps, signal)) && !signal.aborted) steps += 1
    assert.equal(steps, 2)
    assert.deepEqual([await countIn('reviews'), await countIn('waiting_sends')], [0, 0])
  })

  test('is removed when its time has come', async () => {
    for (const number of [1, 2]) {
      await runSql(
        database,
        `insert into waiting_sends (message_id, account_id, inbox_id, release_at, review_id, envelope, created_at)
         values ('msg_${number}', 'acc_${number}', 'ibx', 1, null, '{}', 0)`,
      )
    }
    const due = { messageId: 'msg_1', nowMs: 2, delayMsMin: 1, delayMsMax: 1 }
    await database.db.write(postponeSend, { ...due, accountId: 'acc_2' })
    assert.equal(await countIn('waiting_sends'), 2)
    await database.db.write(postponeSend, { ...due, accountId: 'acc_1' })
    assert.equal(await countIn('waiting_sends'), 1)
  })
})
