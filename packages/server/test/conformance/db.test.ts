import assert from 'node:assert/strict'
import { once } from 'node:events'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import { insertPod } from '#accounts/store/pods.ts'
import { endSession } from '#accounts/store/sessions.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { findInboxByAddress } from '#inboxes/store/inboxes.ts'
import { declaredTransactions, transaction } from '#platform/db/db.ts'
import { onConnection } from '#platform/db/postgres.ts'
import { COMMIT_GROUP_MAX, type GroupReport, runSqliteWriter } from '#platform/db/sqlite-writer.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { addJobs } from '#queue/jobs.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import { ensureSecret } from '#secrets/store/secrets.ts'
import type { Tx } from '#store/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
  readCounters,
} from '#test/conformance/open-database.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

onBothEngines('the database port', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  const newPod = (clientId: string | null = null) =>
    db.write(insertPod, { ...owner, podId: makeId('pod'), clientId, name: null, nowMs: 1 })
  const counters = (inboxId: string) => readCounters(db, inboxId)

  test('the writes of a transaction are readable as soon as it resolves', async () => {
    const pod = await newPod('read back')
    const row = await db.read
      .selectFrom('pods')
      .selectAll()
      .where('client_id', '=', 'read back')
      .executeTakeFirstOrThrow()
    assert.ok(typeof pod === 'object')
    assert.equal(row.id, pod.id)
  })

  test('SQLite gets a limit in the text of a statement, because it plans each run of a bound one', () => {
    const { parameters } = db.read.selectFrom('pods').select('id').limit(3).compile()
    assert.deepEqual(parameters, engine === 'sqlite' ? [] : [3])
  })

  test('a transaction that fails leaves none of its earlier writes', async () => {
    const inboxId = await addInbox(db, owner)
    const input = arriving(owner, [inboxId])
    await db.write(storeReceived, input)
    const before = await counters(inboxId)
    // The message's own id exists already: thread and counters are written before the conflict.
    const again = { ...input, raw: { ...input.raw, id: makeId('raw') } }
    await assert.rejects(
      db.write(storeReceived, again),
      (error) => !(error instanceof StorageError),
    )
    assert.deepEqual(await counters(inboxId), before)
    const raws = await db.read.selectFrom('raw_messages').select('id').execute()
    assert.ok(!raws.some(({ id }) => id === again.raw.id))
  })

  test('one failing write does not fail others that waited with it', async () => {
    const inboxId = await addInbox(db, owner)
    const first = arriving(owner, [inboxId])
    await db.write(storeReceived, first)
    const bad = { ...first, raw: { ...first.raw, id: makeId('raw') } }
    const writes = Array.from({ length: 20 }, (_, index) =>
      db.write(storeReceived, index % 4 === 1 ? bad : arriving(owner, [inboxId])),
    )
    const settled = await Promise.allSettled(writes)
    for (const [index, { status }] of settled.entries()) {
      assert.equal(status, index % 4 === 1 ? 'rejected' : 'fulfilled')
    }
    assert.equal((await counters(inboxId)).inbound_count, 16)
  })

  test('any bytes are read back unchanged', async () => {
    const inboxId = await addInbox(db, owner)
    const content = Uint8Array.from({ length: 1_024 }, (_, index) => index % 256)
    for (const bytes of [
      content,
      new Uint8Array(0),
      new Uint8Array(3),
      Buffer.from("'; --\\x00"),
    ]) {
      const input = arriving(owner, [inboxId], { content: bytes })
      await db.write(storeReceived, input)
      const row = await db.read
        .selectFrom('raw_messages')
        .select('content')
        .where('id', '=', input.raw.id)
        .executeTakeFirstOrThrow()
      assert.ok(row.content instanceof Uint8Array)
      assert.deepEqual(Buffer.from(row.content), Buffer.from(bytes))
    }
    const secret = await db.write(ensureSecret, { name: 'bytes', value: content })
    assert.deepEqual(Buffer.from(secret), Buffer.from(content))
  })

  test('any text is read back unchanged, in any script, and is never SQL', async () => {
    for (const name of [
      "'; drop table pods; --",
      '日本語 🙂',
      '\\n%_"',
      'é',
      'é'.normalize('NFD'),
    ]) {
      const pod = await db.write(insertPod, {
        ...owner,
        podId: makeId('pod'),
        clientId: null,
        name,
        nowMs: 1,
      })
      assert.ok(typeof pod === 'object')
      const row = await db.read
        .selectFrom('pods')
        .select('name')
        .where('id', '=', pod.id)
        .executeTakeFirstOrThrow()
      assert.equal(row.name, name)
    }
  })

  test('times, sizes and counts are numbers, also beyond 32 bits', async () => {
    const farAhead = 253_402_300_799_999
    const key = makeId('job')
    const job = { kind: 'never', key, account_id: '', due_at: farAhead }
    await db.write(addJobs, { jobs: [job] })
    const row = await db.read
      .selectFrom('jobs')
      .select('due_at')
      .where('key', '=', key)
      .executeTakeFirstOrThrow()
    assert.equal(row.due_at, farAhead)
    const { count } = await db.read
      .selectFrom('pods')
      .select((pod) => pod.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    assert.equal(typeof count, 'number')
  })

  test('a second writer of a unique value is refused', async () => {
    const values = { podId: makeId('pod'), clientId: null, name: null, nowMs: 1 }
    await db.write(insertPod, { ...owner, ...values })
    await assert.rejects(db.write(insertPod, { ...owner, ...values }), (error) => {
      return error instanceof Error && !(error instanceof StorageError)
    })
  })

  test('text compares byte by byte in look-ups, whatever the collation', async () => {
    await newPod('Case')
    await newPod('case')
    await newPod('casé')
    assert.equal(await newPod('Case'), 'client_id_taken')
  })

  test('ids sort by time in every list', async () => {
    const ids = Array.from({ length: 50 }, () => makeId('job'))
    const job = { kind: 'sorted', account_id: '', due_at: 2 ** 47 }
    await db.write(addJobs, { jobs: ids.map((key) => ({ ...job, key })) })
    const rows = await db.read
      .selectFrom('jobs')
      .select('key')
      .where('kind', '=', 'sorted')
      .orderBy('key', 'desc')
      .execute()
    assert.deepEqual(
      rows.map(({ key }) => key),
      ids.toReversed(),
    )
  })

  test('the first of concurrent writers of a secret stores it', async () => {
    const brought = Array.from({ length: 10 }, (_, index) => Buffer.from([index]))
    const kept = await Promise.all(
      brought.map((value) => db.write(ensureSecret, { name: 'contested', value })),
    )
    assert.equal(new Set(kept.map((value) => value[0])).size, 1)
  })

  if (engine === 'postgres') {
    test('prepared statements survive a new column, as of a newer program beside', async () => {
      await using own = await openDatabase(engine)
      const account = await addAccount(own.db)
      const inboxId = await addInbox(own.db, account)
      const receive = async () => {
        // More often than PostgreSQL plans a statement anew for its values.
        for (let count = 0; count < 8; count++) {
          const inbox = await findInboxByAddress(own.db, `${inboxId}@mailroom.localhost`)
          assert.equal(inbox?.id, inboxId)
          await own.db.write(storeReceived, arriving(account, [inboxId]))
        }
      }
      await receive()
      const tables = await own.db.read.introspection.getTables()
      const names = tables.map(({ name }) => name)
      assert.ok(names.includes('inboxes') && names.includes('messages'))
      await onConnection(own.place, async (query) => {
        for (const name of names) await query(`alter table ${name} add column colour text`)
      })
      await receive()
      assert.equal((await readCounters(own.db, inboxId)).inbound_count, 16)
    })

    test('prepared statements are planned for tables as large as they were a second ago', async () => {
      await using own = await openDatabase(engine)
      const inboxId = await addInbox(own.db, await addAccount(own.db))
      const lookUp = () => findInboxByAddress(own.db, `${inboxId}@mailroom.localhost`)
      await onConnection(own.place, (query) => query('vacuum analyze inboxes'))
      for (let count = 0; count < 8; count++) await lookUp()
      await onConnection(own.place, (query) =>
        query(`insert into inboxes (id, account_id, pod_id, address, receiving_address, created_at)
          select 'inb_' || n, account_id, pod_id, n, n, 1 from inboxes, generate_series(1, 20000) n`),
      )
      await delay(1_100)
      const before = await readScans(own.place)
      for (let count = 0; count < 50; count++) assert.equal((await lookUp())?.id, inboxId)
      // The server counts with a delay.
      let scans = await readScans(own.place)
      while (scans.all - before.all < 50) {
        await delay(100)
        await lookUp()
        scans = await readScans(own.place)
      }
      // Scans of the small table may be counted only now.
      assert.ok(scans.rows - before.rows < 1_000, `${scans.rows - before.rows} rows`)
    })
  }

  test('closing right after a removal ends in order', async () => {
    for (let round = 0; round < 15; round++) {
      const other = await database.openAgain()
      await other.write(purgeInboxStep, { nowMs: 0, inboxId: 'inb_unknown' })
      await other.close()
    }
  })

  test('closing waits for pending writes, and a second call is harmless', async () => {
    const other = await database.openAgain()
    const clientIds = Array.from({ length: 20 }, () => makeId('job'))
    const writes = clientIds.map((clientId) =>
      other.write(insertPod, { ...owner, podId: makeId('pod'), clientId, name: null, nowMs: 1 }),
    )
    const all = Promise.all(writes)
    await Promise.all([other.close(), other.close(), all])
    const rows = await db.read
      .selectFrom('pods')
      .select('id')
      .where('client_id', 'in', clientIds)
      .execute()
    assert.equal(rows.length, 20)
  })
})

/** Of the table of inboxes: scans by an index or not, and rows that were read without one. */
async function readScans(place: string): Promise<{ all: number; rows: number }> {
  const [row] = await onConnection(place, (query) =>
    query(`select idx_scan + seq_scan as "all", seq_tup_read as rows from pg_stat_user_tables
      where relname = 'inboxes'`),
  )
  return { all: Number(row?.all), rows: Number(row?.rows) }
}

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url))

test('the writer thread has every declared transaction', async () => {
  for await (const file of glob('**/*.ts', { cwd: SOURCES })) {
    const path = join(SOURCES, file)
    const isDeclaring = / = (transaction|groupTransaction|leasedQueue)\(/
    if (isDeclaring.test(await readFile(path, 'utf8'))) await import(path)
  }
  const entry = import.meta.resolve('#app/transactions.ts')
  // A thread loads its modules anew, and only those that the writer thread would load.
  const code = `import(${JSON.stringify(entry)}).then(({ transactions }) =>
    require('node:worker_threads').parentPort.postMessage([...transactions.keys()]))`
  const [names] = await once(new Worker(code, { eval: true }), 'message')
  assert.ok(names.length > 100)
  const declared = [...declaredTransactions().keys()].filter((name) => !name.startsWith('test '))
  assert.deepEqual(new Set(names), new Set(declared))
})

test('two transactions of one name are refused', () => {
  const run = async (_tx: Tx) => {}
  assert.throws(
    () => transaction({ name: endSession.name, accountOf: () => null, run }),
    /Two transactions are named endSession/,
  )
})

test('an unregistered transaction fails, and the port keeps working', async (t) => {
  const { db, close } = await openDatabase('sqlite')
  t.after(close)
  const run = async (_tx: Tx) => {}
  const unknown = transaction({ name: 'test unknown', accountOf: () => null, run })
  await assert.rejects(db.write(unknown, {}), /No transaction is named test unknown/)
  await db.write(endSession, { id: 'a session', expiresAtMs: 1 })
})

test('a write of the main thread is in the next commit, however many of another thread wait', async (t) => {
  const { port1: own, port2: main } = new MessageChannel()
  const { port1: connect, port2: other } = new MessageChannel()
  const ran: string[] = []
  const run = async (_tx: Tx, input: string) => {
    // It comes while the first commit is made.
    if (ran.length === 0) main.postMessage([{ id: 1, name: note.name, input: 'main' }])
    ran.push(input)
  }
  const note = transaction({ name: 'test note', accountOf: () => null, run })
  const ready = once(main, 'message')
  runSqliteWriter({
    path: ':memory:',
    file: -1,
    reservePath: null,
    port: own,
    transactions: new Map([[note.name, note]]),
  })
  t.after(() => main.postMessage('close'))
  await ready
  main.postMessage({ connect }, [connect])
  const asked = Array.from({ length: 4 * COMMIT_GROUP_MAX }, (_, id) => `other ${id}`)
  const answered = once(main, 'message')
  const answeredOthers: number[] = []
  const others = new Promise<void>((resolve) => {
    other.on('message', ({ answers }: GroupReport) => {
      answeredOthers.push(...answers.map(({ id }) => id))
      if (answeredOthers.length === asked.length) resolve()
    })
  })
  other.postMessage(asked.map((input, id) => ({ id, name: note.name, input })))
  const [{ answers }] = (await answered) as [GroupReport]
  assert.deepEqual(answers, [{ id: 1, value: undefined }])
  await others
  const before = ran.indexOf('main')
  assert.ok(before >= COMMIT_GROUP_MAX && before < 2 * COMMIT_GROUP_MAX, `${before} before it`)
  assert.deepEqual(
    ran.filter((input) => input !== 'main'),
    asked,
  )
  assert.deepEqual(
    answeredOthers,
    asked.map((_, id) => id),
  )
})
