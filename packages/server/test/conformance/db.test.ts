// The database port: what both engines promise to the floors above.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { StorageError } from '#db/storage-error.ts'
import type { Db } from '#store/transactions.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('the database port', (engine) => {
  let database: TestDatabase
  let db: Db
  let owner: Owner
  before(async () => {
    database = await openDatabase(engine)
    db = database.db
    owner = await addAccount(db)
  })
  after(() => database.close())

  const newPod = (clientId: string | null = null) =>
    db.write('createPod', { ...owner, podId: makeId('pod'), clientId, name: null, nowMs: 1 })
  const counters = (inboxId: string) =>
    db.read
      .selectFrom('inbox_counters')
      .selectAll()
      .where('inbox_id', '=', inboxId)
      .executeTakeFirstOrThrow()

  test('what a transaction wrote is read as soon as it resolves', async () => {
    const pod = await newPod('read back')
    const row = await db.read
      .selectFrom('pods')
      .selectAll()
      .where('client_id', '=', 'read back')
      .executeTakeFirstOrThrow()
    assert.ok(typeof pod === 'object')
    assert.equal(row.id, pod.id)
  })

  test('a transaction that fails leaves nothing of what it wrote before', async () => {
    const inboxId = await addInbox(db, owner)
    const input = arriving(owner, [inboxId])
    await db.write('receiveMessage', input)
    const before = await counters(inboxId)
    // The message's own id is there already: thread and counters were written before that shows.
    const again = { ...input, raw: { ...input.raw, id: makeId('raw') } }
    await assert.rejects(
      db.write('receiveMessage', again),
      (error) => !(error instanceof StorageError),
    )
    assert.deepEqual(await counters(inboxId), before)
    const raws = await db.read.selectFrom('raw_messages').select('id').execute()
    assert.ok(!raws.some(({ id }) => id === again.raw.id))
  })

  test('one failing write does not spoil others that were waiting with it', async () => {
    const inboxId = await addInbox(db, owner)
    const first = arriving(owner, [inboxId])
    await db.write('receiveMessage', first)
    const bad = { ...first, raw: { ...first.raw, id: makeId('raw') } }
    const writes = Array.from({ length: 20 }, (_, index) =>
      db.write('receiveMessage', index % 4 === 1 ? bad : arriving(owner, [inboxId])),
    )
    const settled = await Promise.allSettled(writes)
    for (const [index, { status }] of settled.entries()) {
      assert.equal(status, index % 4 === 1 ? 'rejected' : 'fulfilled')
    }
    assert.equal((await counters(inboxId)).inbound_count, 16)
  })

  test('a transaction that nobody named is a fault, and the port works on', async () => {
    await assert.rejects(db.write('dropEverything' as never, {} as never), /No transaction/)
    await newPod()
  })

  test('bytes come back as they were, whatever they are', async () => {
    const inboxId = await addInbox(db, owner)
    const content = Uint8Array.from({ length: 1_024 }, (_, index) => index % 256)
    for (const bytes of [
      content,
      new Uint8Array(0),
      new Uint8Array(3),
      Buffer.from("'; --\\x00"),
    ]) {
      const input = arriving(owner, [inboxId], { content: bytes })
      await db.write('receiveMessage', input)
      const row = await db.read
        .selectFrom('raw_messages')
        .select('content')
        .where('id', '=', input.raw.id)
        .executeTakeFirstOrThrow()
      assert.ok(row.content instanceof Uint8Array)
      assert.deepEqual(Buffer.from(row.content), Buffer.from(bytes))
    }
    const secret = await db.write('ensureSecret', { name: 'bytes', value: content })
    assert.deepEqual(Buffer.from(secret), Buffer.from(content))
  })

  test('text comes back as it was, in any script, and is data to the end', async () => {
    for (const name of [
      "'; drop table pods; --",
      '日本語 🙂',
      '\\n%_"',
      'é',
      'é'.normalize('NFD'),
    ]) {
      const pod = await db.write('createPod', {
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
    const jobId = makeId('job')
    const job = { id: jobId, kind: 'never', payload: {}, runAtMs: farAhead, nowMs: 2 ** 40 }
    await db.write('enqueueJob', job)
    const row = await db.read
      .selectFrom('jobs')
      .selectAll()
      .where('id', '=', jobId)
      .executeTakeFirstOrThrow()
    assert.deepEqual([row.run_at, row.created_at, row.attempts], [farAhead, 2 ** 40, 0])
    const { count } = await db.read
      .selectFrom('pods')
      .select((pod) => pod.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    assert.equal(typeof count, 'number')
    await db.write('completeJob', { id: jobId })
  })

  test('a unique value is unique: the second writer is refused as a fault', async () => {
    const values = { podId: makeId('pod'), clientId: null, name: null, nowMs: 1 }
    await db.write('createPod', { ...owner, ...values })
    await assert.rejects(db.write('createPod', { ...owner, ...values }), (error) => {
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
    for (const id of ids) {
      await db.write('enqueueJob', { id, kind: 'sorted', payload: {}, runAtMs: 2 ** 47, nowMs: 1 })
    }
    const rows = await db.read
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', 'sorted')
      .orderBy('id', 'desc')
      .execute()
    assert.deepEqual(
      rows.map(({ id }) => id),
      ids.toReversed(),
    )
  })

  test('a secret is kept by the first who brings one, however many do at once', async () => {
    const brought = Array.from({ length: 10 }, (_, index) => Buffer.from([index]))
    const kept = await Promise.all(
      brought.map((value) => db.write('ensureSecret', { name: 'contested', value })),
    )
    assert.equal(new Set(kept.map((value) => value[0])).size, 1)
  })

  test('closing waits for writes under way, and a second call is harmless', async () => {
    const other = await database.openAgain()
    const clientIds = Array.from({ length: 20 }, () => makeId('job'))
    const writes = clientIds.map((clientId) =>
      other.write('createPod', { ...owner, podId: makeId('pod'), clientId, name: null, nowMs: 1 }),
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

onEachEngine('concurrent transactions', (engine) => {
  let database: TestDatabase
  let db: Db
  let owner: Owner
  before(async () => {
    database = await openDatabase(engine)
    db = database.db
    owner = await addAccount(db)
  })
  after(() => database.close())

  test('fifty messages at once in one inbox have positions without gap or repeat', async () => {
    const inboxId = await addInbox(db, owner)
    await Promise.all(
      Array.from({ length: 50 }, () => db.write('receiveMessage', arriving(owner, [inboxId]))),
    )
    const rows = await db.read
      .selectFrom('messages')
      .select(['position', 'direction_position', 'thread_position'])
      .where('inbox_id', '=', inboxId)
      .orderBy('position')
      .execute()
    const numbers = Array.from({ length: 50 }, (_, index) => index + 1)
    assert.deepEqual(
      rows.map((row) => row.position),
      numbers,
    )
    assert.deepEqual(
      rows.map((row) => row.direction_position),
      numbers,
    )
  })

  test('answers that arrive at once in one thread have positions without gap or repeat', async () => {
    const inboxId = await addInbox(db, owner)
    await db.write('receiveMessage', arriving(owner, [inboxId], { key: 'root@x.example' }))
    const answer = () => arriving(owner, [inboxId], { parentKeys: ['root@x.example'] })
    await Promise.all(Array.from({ length: 30 }, () => db.write('receiveMessage', answer())))
    const rows = await db.read
      .selectFrom('messages')
      .select(['thread_id', 'thread_position'])
      .where('inbox_id', '=', inboxId)
      .orderBy('thread_position')
      .execute()
    assert.deepEqual(
      rows.map((row) => row.thread_position),
      Array.from({ length: 31 }, (_, index) => index + 1),
    )
    assert.equal(new Set(rows.map((row) => row.thread_id)).size, 1)
  })

  test('messages to the same inboxes in any order never wait for each other for ever', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 5 }, () => addInbox(db, owner)))
    const writes = Array.from({ length: 40 }, (_, index) => {
      const turned = [...inboxIds.slice(index % 5), ...inboxIds.slice(0, index % 5)]
      return db.write('receiveMessage', arriving(owner, turned))
    })
    const outcomes = await Promise.all(writes)
    assert.ok(outcomes.every(({ stored }) => stored === 5))
  })

  test('inboxes made and deleted at once never wait for each other for ever', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 20 }, () => addInbox(db, owner)))
    const changes = inboxIds.flatMap((inboxId) => [
      db.write('deleteInbox', { ...owner, inboxId, jobId: makeId('job'), nowMs: 1 }),
      addInbox(db, owner),
    ])
    await Promise.all(changes)
    const account = await db.read
      .selectFrom('accounts')
      .select('inbox_count')
      .where('id', '=', owner.accountId)
      .executeTakeFirstOrThrow()
    const inboxes = await db.read.selectFrom('inboxes').select('id').execute()
    assert.equal(account.inbox_count, inboxes.length)
  })

  test('a due job is handed to one worker only, and again when its lease has ended', async () => {
    await db.read.selectFrom('jobs').select('id').execute()
    const claim = (worker: string, nowMs: number) =>
      db.write('claimJobs', { worker, nowMs, leaseMs: 1_000, limit: 7 })
    const drain = async (worker: string, nowMs: number) => {
      const ids: string[] = []
      for (;;) {
        const jobs = await claim(worker, nowMs)
        if (jobs.length === 0) return ids
        ids.push(...jobs.map(({ id }) => id))
      }
    }
    await drain('before', 10_000)
    const ids = Array.from({ length: 60 }, () => makeId('job')).sort()
    for (const id of ids) {
      await db.write('enqueueJob', {
        id,
        kind: 'test',
        payload: { a: 1 },
        runAtMs: 20_000,
        nowMs: 1,
      })
    }
    assert.deepEqual(await drain('early', 10_500), [])
    const workers = ['one', 'two', 'three', 'four']
    const taken = (await Promise.all(workers.map((worker) => drain(worker, 20_000)))).flat()
    const own = taken.filter((id) => ids.includes(id))
    assert.deepEqual(own.sort(), ids)
    const again = (await drain('five', 21_000)).filter((id) => ids.includes(id))
    assert.deepEqual(again.sort(), ids)
  })

  test('a purge done twice at once gives up a shared message once only', async () => {
    for (let round = 0; round < 5; round++) {
      const [gone, kept] = [await addInbox(db, owner), await addInbox(db, owner)]
      for (let index = 0; index < 20; index++) {
        await db.write('receiveMessage', arriving(owner, [gone, kept]))
      }
      await db.write('deleteInbox', { ...owner, inboxId: gone, jobId: makeId('job'), nowMs: 1 })
      await Promise.all(
        Array.from({ length: 6 }, () => db.write('purgeInboxStep', { inboxId: gone })),
      )
      const raws = await db.read
        .selectFrom('messages')
        .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
        .select('reference_count')
        .where('inbox_id', '=', kept)
        .execute()
      assert.deepEqual(
        raws.map((raw) => raw.reference_count),
        Array(20).fill(1),
      )
    }
  })

  test('of first accounts made at once on an empty database one is made', async () => {
    const empty = await openDatabase(engine)
    try {
      const create = (index: number) =>
        empty.db.write('createAccount', {
          id: makeId('acc'),
          name: 'first',
          plan: 'free',
          podId: makeId('pod'),
          key: {
            id: makeId('key'),
            name: null,
            tokenHash: Buffer.from([index]),
            tokenPrefix: '',
            last4: '',
          },
          nowMs: 1,
          isFirst: true,
        })
      const made = await Promise.all(Array.from({ length: 8 }, (_, index) => create(index)))
      assert.equal(made.filter(Boolean).length, 1)
    } finally {
      await empty.close()
    }
  })
})
