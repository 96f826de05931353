import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { threadId } from 'node:worker_threads'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { systemClock } from '#platform/clock.ts'
import { openSqlite } from '#platform/db/sqlite.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { openSearchSlots } from '#search/handlers.ts'
import { openCatchUps } from '#search/indexer.ts'
import { searchInbox } from '#search/search-inbox.ts'
import type { Db, Tables } from '#store/tables.ts'
import {
  endThread,
  failRead,
  tellThread,
  waitForAbort,
} from '#test/conformance/long-read-thread.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const { signal } = new AbortController()
const isUnavailable = (error: unknown) =>
  error instanceof StorageError && error.kind === 'unavailable'

function searchDeps(db: Db) {
  const searchCatchUps = openCatchUps()
  return { db, clock: systemClock, searchCatchUps, searchSlots: openSearchSlots() }
}

async function receive(db: Db, texts: readonly string[]) {
  const owner = await addAccount(db)
  const inboxId = await addInbox(db, owner)
  for (const text of texts) {
    const input = arriving(owner, [inboxId])
    const body = { body_text: text, body_length: text.length }
    await db.write(storeReceived, { ...input, content: { ...input.content, ...body } })
  }
  return { accountId: owner.accountId, inboxId }
}

const ASKED = { sort: 'newest', direction: null, limit: 50, offset: 0 } as const

suite('long reads of SQLite', () => {
  const database = opened(() => openDatabase('sqlite'))

  async function openWith(t: TestContext, readerIdleMs?: number) {
    const errors: Error[] = []
    const db = await openSqlite<Tables>({
      path: database.place,
      writerEntry: new URL(import.meta.resolve('#app/sqlite-writer-entry.ts')),
      readerEntry: new URL(import.meta.resolve('#test/conformance/long-read-thread.ts')),
      reservePath: null,
      observer: { committed: () => {} },
      onError: (error) => errors.push(error),
      ...(readerIdleMs !== undefined && { readerIdleMs }),
    })
    t.after(() => db.close())
    return { db, errors }
  }

  test('a read runs in another thread, also beside one that does not end', async (t) => {
    const { db } = await openWith(t)
    const ending = new AbortController()
    const waiting = db.readLong(waitForAbort, {}, ending.signal)
    const other = await db.readLong(tellThread, {}, signal)
    assert.notEqual(other, threadId)
    await assert.rejects(db.readLong(failRead, {}, signal), /^Error: this read fails$/)
    assert.equal(await db.readLong(tellThread, {}, signal), other)
    ending.abort()
    assert.equal(await waiting, 'aborted')
    assert.equal(await db.readLong(waitForAbort, {}, ending.signal), 'aborted')
  })

  test('a thread that ends fails the reads that it had, and the next read has another thread', async (t) => {
    const { db, errors } = await openWith(t)
    const first = await db.readLong(tellThread, {}, signal)
    const lost = [
      db.readLong(waitForAbort, {}, signal),
      db.readLong(endThread, {}, signal),
      db.readLong(tellThread, {}, signal),
    ]
    await Promise.all(lost.map((read) => assert.rejects(read, isUnavailable)))
    assert.equal(errors.length, 1)
    assert.notEqual(await db.readLong(tellThread, {}, signal), first)
  })

  test('a search whose thread ends fails, and the next finds what it should', async (t) => {
    const { db } = await openWith(t)
    const of = await receive(db, ['hello', 'hello'])
    const search = () => searchInbox(searchDeps(db), { ...ASKED, ...of, q: 'hello' }, signal)
    const lost = [db.readLong(endThread, {}, signal), search()]
    await Promise.all(lost.map((read) => assert.rejects(read, isUnavailable)))
    assert.equal((await search()).total, 2)
  })

  test('an idle thread ends, and the next read has another', async (t) => {
    const { db, errors } = await openWith(t, 1)
    const first = await db.readLong(tellThread, {}, signal)
    await until(async () => (await db.readLong(tellThread, {}, signal)) !== first)
    assert.deepEqual(errors, [])
  })

  test('closing the database fails the reads under way', async (t) => {
    const { db, errors } = await openWith(t)
    const waiting = assert.rejects(db.readLong(waitForAbort, {}, signal), isUnavailable)
    await db.close()
    await waiting
    await assert.rejects(db.readLong(tellThread, {}, signal), isUnavailable)
    assert.deepEqual(errors, [])
  })

  test('the main thread runs no query of the index, and its results would be the same', async (t) => {
    const { db } = await openWith(t)
    const of = await receive(db, ['an invoice', 'an invoice again', 'good morning'])
    const here: Db = { ...db, readLong: (read, input, by) => read.run(db, input, by) }
    const prepare = t.mock.method(DatabaseSync.prototype, 'prepare')
    const countMatches = () =>
      prepare.mock.calls.filter(({ arguments: [text] }) => text.includes('search_index match'))
        .length
    const searches = [
      { q: 'invoice' },
      { q: 'invoice', sort: 'rank' as const },
      { q: 'inv* -again', limit: 1 },
      { q: '"good morning"', direction: 'inbound' as const },
      { q: 'invoice', offset: 1 },
      { q: 'nowhere' },
    ]
    const searchAll = (by: Db) =>
      Promise.all(
        searches.map((asked) => searchInbox(searchDeps(by), { ...ASKED, ...of, ...asked }, signal)),
      )
    const apart = await searchAll(db)
    assert.deepEqual(
      apart.map(({ hits, total }) => [hits.length, total]),
      [
        [2, 2],
        [2, 2],
        [1, 1],
        [1, 1],
        [1, 2],
        [0, 0],
      ],
    )
    assert.equal(countMatches(), 0)
    assert.deepEqual(apart, await searchAll(here))
    assert.ok(countMatches() > 0)
  })
})

onEachEngine('a search that cannot do all of its work', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)

  test('ends after a block of positions when nobody waits for it any more', async () => {
    const of = await receive(db, ['hello'])
    const deps = searchDeps(db)
    const search = (by: AbortSignal) => searchInbox(deps, { ...ASKED, ...of, q: 'hello' }, by)
    assert.equal((await search(signal)).total, 1)
    // The one message stands in the last of several blocks.
    const set = `= 10000 where inbox_id = '${of.inboxId}'`
    await runSql(database, `update inbox_counters set inbound_count ${set}`)
    await runSql(database, `update search_inboxes set indexed_arrival ${set}`)
    const whole = await search(signal)
    assert.deepEqual([whole.total, whole.isComplete], [1, true])
    const gone = new AbortController()
    const cut = { ...db, readLong: abortFirst(db, gone) }
    const { total, isComplete } = await searchInbox(
      { ...deps, db: cut },
      { ...ASKED, ...of, q: 'hello' },
      gone.signal,
    )
    assert.deepEqual([total, isComplete], [0, false])
  })

  test('is not complete while messages are not indexed', async () => {
    const of = await receive(db, ['hello', 'hello'])
    const search = (by: Db) => searchInbox(searchDeps(by), { ...ASKED, ...of, q: 'hello' }, signal)
    const failing: Db['write'] = () => Promise.reject(new StorageError('full', 'the disk is full'))
    const { total, isExact, isComplete } = await search({ ...db, write: failing })
    assert.deepEqual(
      { total, isExact, isComplete },
      { total: 0, isExact: false, isComplete: false },
    )
    const whole = await search(db)
    assert.deepEqual([whole.total, whole.isExact, whole.isComplete], [2, true, true])
  })

  /** The client leaves when its search has begun, here, so that the search knows it at once. */
  function abortFirst(of: Db, gone: AbortController): Db['readLong'] {
    return (read, input, by) => {
      gone.abort()
      return read.run(of, input, by)
    }
  }
})
