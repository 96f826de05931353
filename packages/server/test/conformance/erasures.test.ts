import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { erasureJobs } from '#erasures/run-erasure.ts'
import { findErasure, insertErasure } from '#erasures/store/erasures.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { systemClock } from '#platform/clock.ts'
import { leaseJobs } from '#queue/jobs.ts'
import { openJobWorker } from '#queue/work-jobs.ts'
import { purgeTrashStep, trashThread } from '#removal/store/trash.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'
import { addUploadedChunk, finishTransfer, insertTransfer } from '#transfers/store/transfers.ts'

const ADDRESS = 'eve@erased.example'
const OPERATOR = { kind: 'operator' } as const
const MINUTE_MS = 60_000

onEachEngine('erasures and files', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)

  const transferOf = (accountId: string, kind: 'export' | 'import', nowMs: number) => ({
    id: makeId(kind === 'export' ? 'exp' : 'imp'),
    account_id: accountId,
    kind,
    inbox_id: 'inb_any',
    pod_id: null,
    format: 'mbox',
    total_count: 1,
    details: { inboxIds: [], at: null },
    nowMs,
  })

  /** Works on all erasures until they are done, with these writes. */
  async function runErasures(write: typeof db.write): Promise<void> {
    const watched = new Proxy(database.db, {
      get: (target, name) => (name === 'write' ? write : Reflect.get(target, name, target)),
    })
    const deriveKey = () => new Uint8Array(32)
    const deps = { ...storeOn(watched), deriveKey }
    const makeWorker = () => `test ${makeId('job')}`
    const worker = openJobWorker({ ...deps, makeWorker }, erasureJobs(deps))
    const open = 'select id from erasures where completed_at is null'
    await until(async () => (await runSql(database, open)).length === 0)
    await worker.close()
  }

  test('mail that moves meanwhile is erased, and so is an export that began meanwhile', async () => {
    const owner = await addAccount(db)
    const { accountId } = owner
    const inboxId = await addInbox(db, owner)
    for (let count = 0; count < 620; count++) {
      await db.write(storeReceived, arriving(owner, [inboxId]))
    }
    await runSql(
      database,
      `update messages set from_addr = '${ADDRESS}' where inbox_id = '${inboxId}' and arrival in (5, 590, 600)`,
    )
    const rows = await runSql(
      database,
      `select arrival, thread_id from messages where inbox_id = '${inboxId}' and arrival in (590, 600)`,
    )
    const threadOf = (at: number) =>
      String(rows.find(({ arrival }) => Number(arrival) === at)?.thread_id)
    const erasureId = makeId('ers')
    await db.write(insertErasure, {
      id: erasureId,
      accountId,
      addressKey: ADDRESS,
      actor: OPERATOR,
      auditId: makeId('aud'),
      nowMs: 1,
    })
    const real = database.db
    let steps = 0
    let exportId = ''
    const write: typeof db.write = async (of, input) => {
      if (of.name === 'eraseMessages' && steps++ === 0) {
        const nowMs = systemClock.now()
        await real.write(trashThread, { accountId, threadId: threadOf(590), nowMs })
        const started = transferOf(accountId, 'export', nowMs)
        exportId = started.id
        await real.write(insertTransfer, started)
        const held = { kind: 'transfer', key: exportId, worker: 'w', nowMs }
        await real.write(leaseJobs, { ...held, leaseMs: 1, limit: 1, afterAccount: '' })
        await real.write(finishTransfer, { ...held, error: null })
      }
      return real.write(of, input)
    }
    await runErasures(write)
    const done = await findErasure(db, accountId, erasureId)
    assert.deepEqual([done?.status, done?.counts.messages], ['done', 3])
    const left = await runSql(
      database,
      `select id from messages where inbox_id = '${inboxId}' and from_addr = '${ADDRESS}'`,
    )
    assert.deepEqual(left, [])
    const [file] = await runSql(database, `select error from transfers where id = '${exportId}'`)
    assert.equal(file?.error, 'address_erased')
  })

  test('erasures of one account share a pass over the index', async () => {
    const { accountId } = await addAccount(db)
    const ids = Array.from({ length: 5 }, () => makeId('ers'))
    for (const id of ids) {
      const addressKey = `${id}@erased.example`
      const asked = { id, accountId, addressKey, actor: OPERATOR, auditId: makeId('aud'), nowMs: 1 }
      assert.equal(await db.write(insertErasure, asked), true)
    }
    const last = { id: makeId('ers'), accountId, addressKey: ADDRESS }
    const more = { ...last, actor: OPERATOR, auditId: makeId('aud'), nowMs: 1 }
    assert.equal(await db.write(insertErasure, more), false)
    const real = database.db
    let passes = 0
    const write: typeof db.write = (of, input) => {
      if (of.name === 'eraseSearchStep' && (input as { isFirst: boolean }).isFirst) passes += 1
      return real.write(of, input)
    }
    await runErasures(write)
    const done = await Promise.all(ids.map((id) => findErasure(db, accountId, id)))
    assert.ok(done.every((one) => one?.status === 'done'))
    assert.equal(passes, 1)
  })

  test('uploads that were broken off do not count for long, and get no further pieces', async () => {
    const { accountId } = await addAccount(db)
    const nowMs = 1_000
    const first = transferOf(accountId, 'import', nowMs)
    assert.equal(await db.write(insertTransfer, first), true)
    for (let count = 1; count < 5; count++) {
      await db.write(insertTransfer, transferOf(accountId, 'import', nowMs))
    }
    const another = (at: number) => db.write(insertTransfer, transferOf(accountId, 'import', at))
    assert.equal(await another(nowMs + MINUTE_MS), false)
    const piece = (at: number) =>
      db.write(addUploadedChunk, {
        accountId,
        transferId: first.id,
        chunk: { id: makeId('chk'), start_bytes: at, size_bytes: 1, content: new Uint8Array(1) },
        nowMs: at,
      })
    assert.equal(await piece(nowMs + 10 * MINUTE_MS), true)
    assert.equal(await piece(nowMs + 20 * MINUTE_MS), true)
    for (let count = 1; count < 5; count++) {
      assert.equal(await another(nowMs + 20 * MINUTE_MS), true)
    }
    assert.equal(await another(nowMs + 20 * MINUTE_MS), false)
    assert.equal(await piece(nowMs + 60 * MINUTE_MS), false)
  })

  test('a purge of the trash whose threads are restored while it waits does nothing', async (t) => {
    if (engine !== 'postgres') return t.skip('nobody waits')
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    await db.write(storeReceived, arriving(owner, [inboxId]))
    const [row] = await runSql(database, `select id from threads where inbox_id = '${inboxId}'`)
    const threadId = String(row?.id)
    await db.write(trashThread, { ...owner, threadId, nowMs: 1 })
    const client = new pg.Client({ connectionString: database.place })
    await client.connect()
    try {
      await client.query('begin')
      await client.query(`select 1 from inbox_counters where inbox_id = '${inboxId}' for update`)
      await client.query(`update threads set trashed_at = null where id = '${threadId}'`)
      const purged = db.write(purgeTrashStep, { untilMs: 2, nowMs: 2 })
      purged.catch(() => {})
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%inbox_counters%' and datname = current_database()`
      while ((await runSql(database, waiting)).length === 0) await sleep(20)
      await client.query('commit')
      assert.deepEqual(await purged, { isDone: false, blobIds: [] })
    } finally {
      await client.end()
    }
    assert.equal(
      (await runSql(database, `select 1 from threads where id = '${threadId}'`)).length,
      1,
    )
  })
})
