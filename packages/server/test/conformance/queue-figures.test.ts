import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { insertPod } from '#accounts/store/pods.ts'
import { openPressure } from '#app/receiving-parts.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import {
  QUEUE_COUNT_MAX,
  readDueDomainChecks,
  readFanOutLag,
  readJobFigures,
  readQueueFigures,
  readRetentionFigures,
  readWorkFigures,
} from '#operating/store/queue-figures.ts'
import { silentMetrics } from '#platform/telemetry/metrics.ts'
import { DAY_MS } from '#platform/units.ts'
import { leaseJobs } from '#queue/jobs.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const ROWS = 400
/** More than are counted one by one in a quick run, and many more in a long one. */
const MANY = Number(process.env.TEST_MAILROOM_QUEUE_ROWS ?? QUEUE_COUNT_MAX + 500)
const IS_LONG = process.env.TEST_MAILROOM_QUEUE_ROWS !== undefined
const LANES = 40
const LIMIT = { timeout: 600_000 }

onEachEngine('figures of the queues', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  beforeEach(async () => {
    await runSql(database, 'delete from webhook_deliveries')
  })

  /** `count` rows whose time is their number plus `fromMs`. */
  const fill = (state: string, count: number, { fromMs = 0, leaseMs = 'null' } = {}) =>
    runSql(
      database,
      `insert into webhook_deliveries (id, account_id, lane, event_id, event_kind, queue_state,
         status, attempts, next_attempt_at, lease_until, created_at)
       with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
       select '${state}_' || n, 'acc_1', 'lane_' || (n % ${LANES}), 'evt_1', 'message.received',
         '${state}', 'pending', 0, ${fromMs} + n, ${leaseMs}, 0 from numbers`,
    )
  const read = () => readQueueFigures(db, 'webhook_deliveries')

  test('jobs of clients are counted by state, with the age of the oldest', async () => {
    const none = { states: { queued: 0, running: 0 }, oldestAtMs: null }
    const noImport = { states: { receiving: 0, ...none.states }, oldestAtMs: null }
    const nowMs = 10_000
    assert.deepEqual(await readWorkFigures(db, nowMs), {
      export: none,
      import: noImport,
      erasure: none,
    })
    const transfer = (kind: string, status: string, createdMs: number, expiresMs = 'null') =>
      runSql(
        database,
        `insert into transfers (id, account_id, kind, status, format, total_count, details, created_at, completed_at, expires_at)
         values ('${makeId('exp')}', 'acc_1', '${kind}', '${status}', 'mbox', 0, '{}', ${createdMs},
           ${status === 'done' ? createdMs : 'null'}, ${expiresMs})`,
      )
    await transfer('export', 'queued', 300)
    await transfer('export', 'queued', 200)
    await transfer('export', 'running', 400)
    await transfer('export', 'done', 1)
    await transfer('import', 'receiving', 5, '10001')
    await transfer('import', 'receiving', 4, '10000')
    await runSql(
      database,
      `insert into erasures (id, account_id, status, counts, created_at, completed_at)
       values ('ers_1', 'acc_1', 'running', '{}', 7, null), ('ers_2', 'acc_1', 'done', '{}', 1, 2)`,
    )
    assert.deepEqual(await readWorkFigures(db, nowMs), {
      export: { states: { queued: 2, running: 1 }, oldestAtMs: 200 },
      import: { states: { ...noImport.states, receiving: 1 }, oldestAtMs: 5 },
      erasure: { states: { queued: 0, running: 1 }, oldestAtMs: 7 },
    })
  })

  test('what retention has yet to remove is counted from the time at which it was due', async () => {
    const owner = await addAccount(db)
    const [first, second] = [await addInbox(db, owner), await addInbox(db, owner)]
    await db.write(storeReceived, arriving(owner, [first]))
    await runSql(database, 'delete from events')
    const nowMs = 40 * DAY_MS
    const nothing = { count: 0, oldestAtMs: null }
    assert.deepEqual(await readRetentionFigures(db, nowMs), { inboxes: nothing, threads: nothing })
    await runSql(database, `update inboxes set expires_at = ${nowMs - 5} where id = '${second}'`)
    await runSql(
      database,
      `update threads set trashed_at = ${9 * DAY_MS} where inbox_id = '${first}'`,
    )
    assert.deepEqual(await readRetentionFigures(db, nowMs), {
      inboxes: { count: 1, oldestAtMs: nowMs - 5 },
      threads: { count: 1, oldestAtMs: 39 * DAY_MS },
    })
    await runSql(
      database,
      `update threads set trashed_at = ${nowMs - 29 * DAY_MS} where inbox_id = '${first}'`,
    )
    assert.deepEqual((await readRetentionFigures(db, nowMs)).threads, nothing)
  })

  test('an empty queue has no depth and nothing due', async () => {
    assert.deepEqual(await read(), { ready: 0, waiting: 0, leased: 0, dueAtMs: null })
  })

  test('each state is counted, and the longest due is found among all lanes', LIMIT, async () => {
    await fill('ready', ROWS, { fromMs: 5_000 })
    await fill('waiting', ROWS, { fromMs: 900_000_000 })
    await fill('leased', ROWS, { fromMs: 100, leaseMs: '800000000' })
    assert.deepEqual(await read(), { ready: ROWS, waiting: ROWS, leased: ROWS, dueAtMs: 5_001 })
  })

  test(
    'beyond the bound depth is an estimate or constant, and the age is still exact',
    LIMIT,
    async () => {
      await fill('ready', MANY, { fromMs: 5_000 })
      await fill('waiting', MANY, { fromMs: 2_000 })
      // In the last of all lanes.
      await runSql(
        database,
        `update webhook_deliveries set next_attempt_at = 77, lane = 'z' where id = 'ready_9'`,
      )
      if (engine === 'postgres') await runSql(database, 'analyze webhook_deliveries')
      for (let look = 0; look < 3; look++) {
        const startMs = performance.now()
        const { ready, waiting, leased, dueAtMs } = await read()
        if (IS_LONG) console.log(engine, MANY, performance.now() - startMs)
        const shown = engine === 'sqlite' ? QUEUE_COUNT_MAX : MANY
        for (const count of [ready, waiting])
          assert.ok(Math.abs(count - shown) <= shown / 5, `${count}`)
        assert.equal(leased, 0)
        assert.equal(dueAtMs, 77)
      }
      await runSql(database, `delete from webhook_deliveries where id = 'ready_9'`)
      assert.equal((await read()).dueAtMs, 2_001)
    },
  )

  test('overdue rows and rows whose lease ended are due, too', async () => {
    await fill('ready', 3, { fromMs: 5_000 })
    await fill('waiting', 3, { fromMs: 4_000 })
    assert.equal((await read()).dueAtMs, 4_001)
    await fill('leased', 3, { fromMs: 1_000, leaseMs: '3500' })
    assert.equal((await read()).dueAtMs, 3_500)
  })

  test('jobs are due until they are leased, and again when the lease has ended', async () => {
    for (const [index, runAtMs] of [1_000, 2_000, 90_000].entries()) {
      await runSql(
        database,
        `insert into jobs (kind, key, account_id, due_at)
         values ('purge', 'inb_${index}', 'acc_1', ${runAtMs})`,
      )
    }
    const none = { due: { count: 0, oldestAtMs: null }, leased: 0 }
    assert.deepEqual(await readJobFigures(db, 500), none)
    const due = (count: number, oldestAtMs: number, leased: number) => ({
      due: { count, oldestAtMs },
      leased,
    })
    assert.deepEqual(await readJobFigures(db, 10_000), due(2, 1_000, 0))
    await db.write(leaseJobs, {
      ...{ kind: 'purge', worker: 'one', nowMs: 10_000 },
      ...{ leaseMs: 5_000, limit: 1, afterAccount: '' },
    })
    assert.deepEqual(await readJobFigures(db, 10_000), due(1, 2_000, 1))
    assert.deepEqual(await readJobFigures(db, 15_000), due(2, 2_000, 0))
  })

  test('events waiting for webhook processing are counted, with the age of the first', async () => {
    assert.deepEqual(await readFanOutLag(db), { count: 0, oldestAtMs: null })
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    for (const nowMs of [3_000, 4_000]) {
      await db.write(storeReceived, { ...arriving(owner, [inboxId]), nowMs })
    }
    await untilReadable(db)
    assert.deepEqual(await readFanOutLag(db), { count: 2, oldestAtMs: 3_000 })
  })

  test('a domain with a due check is counted from its time on', async () => {
    const { accountId } = await addAccount(db)
    await runSql(
      database,
      `insert into domains (id, account_id, domain, status, next_check_at, created_at)
       values ('dom_1', '${accountId}', 'a.example', 'pending', 7000, 0),
         ('dom_2', '${accountId}', 'b.example', 'pending', 9000, 0),
         ('dom_3', '${accountId}', 'c.example', 'pending', null, 0)`,
    )
    assert.deepEqual(await readDueDomainChecks(db, 8_000), { count: 1, oldestAtMs: 7_000 })
    assert.deepEqual(await readDueDomainChecks(db, 6_000), { count: 0, oldestAtMs: null })
  })
})

const HELD_MS = 500

test('the time of a write includes its wait in the queue', async (t) => {
  await using database = await openDatabase('postgres')
  const owner = await addAccount(database.db)
  const tookMs: number[] = []
  const metrics = { ...silentMetrics, observeWrite: (ms: number) => void tookMs.push(ms) }
  const { db } = openPressure(database.db, metrics)
  const holder = new pg.Client({ connectionString: database.place })
  await holder.connect()
  t.after(() => holder.end())
  await holder.query('begin')
  await holder.query('select 1 from accounts where id = $1 for update', [owner.accountId])
  const startMs = performance.now()
  const pod = () => ({ ...owner, podId: makeId('pod'), clientId: null, name: null, nowMs: 1 })
  const writes = Array.from({ length: 14 }, () => db.write(insertPod, pod()))
  const askedMs = performance.now() - startMs
  await sleep(HELD_MS)
  await holder.query('commit')
  await Promise.all(writes)
  assert.equal(tookMs.length, writes.length)
  // All of them were requested before, and answered after.
  for (const ms of tookMs) assert.ok(ms >= HELD_MS - askedMs - 1, `${ms} ms`)
})
