import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { systemClock } from '#platform/clock.ts'
import { HOUR_MS } from '#platform/units.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import { removeMessage } from '#removal/store/trash.ts'
import { openSearchSlots } from '#search/handlers.ts'
import { openCatchUps, openIndexer } from '#search/indexer.ts'
import { searchInbox } from '#search/search-inbox.ts'
import { findInBlock, findSearchState, listLagging } from '#search/store/query-index.ts'
import {
  eraseSearchStep,
  indexSearchStep,
  listPurgedNumbers,
  listRemovedEntries,
  SEARCH_STEP_MESSAGES,
} from '#search/store/search-index.ts'
import type { Db } from '#store/tables.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const HELLO = {
  text: { kind: 'phrase', words: ['hello'], fields: null, isPrefix: false },
  rest: null,
} as const

onBothEngines('the index of words', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  async function inboxWith(messages: number, text = 'hello'): Promise<string> {
    const inboxId = await addInbox(db, owner)
    await receive(inboxId, messages, text)
    return inboxId
  }
  async function receive(inboxId: string, messages: number, text = 'hello') {
    for (let n = 0; n < messages; n++) {
      const input = arriving(owner, [inboxId])
      await db.write(storeReceived, {
        ...input,
        content: { ...input.content, body_text: text, body_length: text.length },
      })
    }
  }
  const stateOf = async (inboxId: string) => {
    const state = await findSearchState(db, { ...owner, inboxId })
    assert.ok(state !== null)
    return state
  }
  async function foundIn(inboxId: string): Promise<number[]> {
    const { number, top } = await stateOf(inboxId)
    if (number === null) return []
    const block = { direction: null, level: 2, until: top, limit: 10_000 }
    const search = { number, inboxId, query: HELLO, rareLabels: new Set<string>(), ...block }
    return (await findInBlock(db, search)).map(({ arrival }) => arrival)
  }
  const arrivals = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => to - index)
  async function countEntries(): Promise<number> {
    const table = engine === 'sqlite' ? 'search_index_docsize' : 'search_index'
    const { rows } = await sql
      .raw<{ n: number }>(`select count(*) as n from ${table}`)
      .execute(db.read)
    return Number(rows[0]?.n)
  }

  test('a step indexes a limited number of messages and the next continues after them', async () => {
    const messages = SEARCH_STEP_MESSAGES + 7
    const inboxId = await inboxWith(messages)
    const write = () => db.write(indexSearchStep, { inboxIds: [inboxId], skipLocked: false })
    assert.deepEqual(await write(), { indexed: SEARCH_STEP_MESSAGES, behind: [inboxId] })
    assert.equal((await stateOf(inboxId)).indexed, SEARCH_STEP_MESSAGES)
    assert.deepEqual(await foundIn(inboxId), arrivals(1, SEARCH_STEP_MESSAGES))
    assert.deepEqual(await write(), { indexed: 7, behind: [] })
    assert.deepEqual(await foundIn(inboxId), arrivals(1, messages))
    assert.deepEqual(await write(), { indexed: 0, behind: [] })
  })

  test('concurrent indexers index every message once, while mail arrives', async () => {
    const other = await database.openAgain()
    const inboxIds = await Promise.all([inboxWith(60), inboxWith(60), inboxWith(1)])
    const before = await countEntries()
    const index = async (by: Db, skipLocked: boolean) => {
      for (;;) {
        const { behind } = await by.write(indexSearchStep, { inboxIds, skipLocked })
        if (behind.length === 0) return
      }
    }
    await Promise.all([
      index(db, true),
      index(other, true),
      index(db, false),
      index(other, false),
      ...inboxIds.map((inboxId) => receive(inboxId, 20)),
    ])
    await index(db, false)
    for (const [at, inboxId] of inboxIds.entries()) {
      assert.deepEqual(await foundIn(inboxId), arrivals(1, at === 2 ? 21 : 80))
    }
    assert.equal((await countEntries()) - before, 181)
  })

  test('the indexer indexes existing messages, and follows new ones', async (t) => {
    const inboxId = await inboxWith(SEARCH_STEP_MESSAGES * 2 + 1)
    const indexer = openIndexer({ db, clock: systemClock })
    const ending = new AbortController()
    t.after(() => ending.abort())
    const untilIdle = async () => {
      while (await indexer.step(ending.signal));
    }
    await untilIdle()
    assert.equal((await foundIn(inboxId)).length, SEARCH_STEP_MESSAGES * 2 + 1)
    assert.deepEqual((await listLagging(db, { after: '', limit: 1_000 })).inboxIds, [])
    const late = await inboxWith(3)
    await receive(inboxId, 1)
    await until(async () => {
      await untilIdle()
      return (await foundIn(late)).length === 3 && (await foundIn(inboxId)).length === 102
    })
  })

  test('a search first indexes what its inbox lacks, even if twenty begin at once', async () => {
    const inboxId = await inboxWith(SEARCH_STEP_MESSAGES + 20)
    const before = await countEntries()
    const deps = {
      ...{ db, clock: systemClock },
      ...{ searchCatchUps: openCatchUps(), searchSlots: openSearchSlots() },
    }
    const { signal } = new AbortController()
    const asked = { ...owner, inboxId, q: 'hello', sort: 'newest', direction: null } as const
    const answers = await Promise.all(
      arrivals(1, 20).map(() => searchInbox(deps, { ...asked, limit: 10, offset: 60 }, signal)),
    )
    for (const { hits, total, isExact, isComplete } of answers) {
      const summary = { hits: hits.length, total, isExact, isComplete }
      assert.deepEqual(summary, { hits: 10, total: 70, isExact: true, isComplete: true })
    }
    assert.equal((await countEntries()) - before, 70)
  })

  test('a deleted inbox loses its entries, and is indexed no more', async () => {
    const inboxId = await inboxWith(40, 'hello zqerasedword')
    const kept = await inboxWith(2, 'hello zqkeptword')
    const step = { inboxIds: [inboxId, kept], skipLocked: false }
    await db.write(indexSearchStep, step)
    await receive(inboxId, 5, 'hello zqerasedword')
    const before = await countEntries()
    const job = { nowMs: systemClock.now() }
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      accountId: owner.accountId,
      inboxId,
      ...job,
    })
    assert.equal(await findSearchState(db, { ...owner, inboxId }), null)
    assert.deepEqual(await db.write(indexSearchStep, step), { indexed: 0, behind: [] })
    while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId })).isDone);
    assert.deepEqual(await db.write(indexSearchStep, step), { indexed: 0, behind: [] })
    assert.equal(before - (await countEntries()), 40)

    assert.equal((await listPurgedNumbers(db)).length, engine === 'sqlite' ? 1 : 0)
    const indexer = openIndexer({ db, clock: systemClock })
    while (await indexer.step(new AbortController().signal));
    assert.deepEqual(await listPurgedNumbers(db), [])
    const { rows } = await sql
      .raw<{ inbox_id: string }>('select inbox_id from search_inboxes')
      .execute(db.read)
    assert.ok(rows.some((row) => row.inbox_id === kept))
    assert.ok(rows.every((row) => row.inbox_id !== inboxId))
    if (engine === 'postgres') return
    assert.deepEqual([await holds('zqkeptword'), await holds('zqerasedword')], [true, false])
    assert.equal((await foundIn(kept)).length, 2)
  })

  test('words of a removed message leave the file with the round of the day', async () => {
    const inboxId = await inboxWith(3, 'hello zqstays')
    await receive(inboxId, 1, 'hello zqleaves')
    await db.write(indexSearchStep, { inboxIds: [inboxId], skipLocked: false })
    const { rows } = await sql<{ id: string }>`
      select id from messages where inbox_id = ${inboxId} order by arrival desc limit 1
    `.execute(db.read)
    const message = { accountId: owner.accountId, messageId: rows[0]?.id ?? '' }
    const { number } = await stateOf(inboxId)
    const isNoted = async () => (await listRemovedEntries(db)).some((one) => one.number === number)
    let aheadMs = 0
    const clock = { ...systemClock, monotonic: () => performance.now() + aheadMs }
    const indexer = openIndexer({ db, clock })
    const run = async () => {
      while (await indexer.step(new AbortController().signal));
    }
    await db.write(removeMessage, { ...message, nowMs: clock.now() })
    await run()
    assert.equal((await foundIn(inboxId)).length, 3)
    if (engine === 'postgres') return assert.deepEqual(await listRemovedEntries(db), [])
    assert.equal(await isNoted(), true)
    assert.equal(await holds('zqleaves'), true, 'a round began at the start')
    aheadMs = HOUR_MS
    await until(async () => {
      await run()
      // Its steps are far apart.
      aheadMs += HOUR_MS / 60
      return !(await isNoted())
    })
    assert.deepEqual([await holds('zqstays'), await holds('zqleaves')], [true, false])
    assert.equal((await foundIn(inboxId)).length, 3)
  })

  test('a round erases what was removed while another merge was under way', async () => {
    if (engine === 'postgres') return
    const inboxId = await inboxWith(1, 'hello zqmergedword')
    const kept = await addInbox(db, owner)
    for (let n = 0; n < 60; n++) {
      const words = Array.from({ length: 400 }, (_, index) => `zq${(n * 400 + index) * 7919}`)
      await receive(kept, 1, `hello ${words.join(' ')}`)
    }
    for (const one of [inboxId, kept]) {
      const step = { inboxIds: [one], skipLocked: false }
      while ((await db.write(indexSearchStep, step)).behind.length > 0);
    }
    assert.equal(await db.write(eraseSearchStep, { isFirst: true }), false, 'not all in one step')
    const job = { nowMs: systemClock.now() }
    const actor = { kind: 'operator' } as const
    await db.write(removeInbox, { actor, accountId: owner.accountId, inboxId, ...job })
    while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId })).isDone);
    assert.equal(await holds('zqmergedword'), true)
    for (let isFirst = true; !(await db.write(eraseSearchStep, { isFirst })); isFirst = false);
    assert.equal(await holds('zqmergedword'), false)
    assert.equal((await foundIn(kept)).length, 60)
  })

  /** On SQLite alone. */
  async function holds(word: string): Promise<boolean> {
    const pages = await sql
      .raw<{ text: string }>('select hex(block) as text from search_index_data')
      .execute(db.read)
    const wanted = Buffer.from(word).toString('hex').toUpperCase()
    return pages.rows.some(({ text }) => text.includes(wanted))
  }
})
