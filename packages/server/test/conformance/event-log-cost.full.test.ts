import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { LOG_STEP_EVENTS } from '#events/follow-log.ts'
import { type EventFilter, LOG_START, type LogOffset } from '#events/model.ts'
import {
  countEvents,
  LOG_COUNT_EVENTS_MAX,
  LOG_WINDOW_EVENTS,
  scanLog,
} from '#events/store/events.ts'
import { readLog, readLogHead } from '#events/store/log.ts'
import {
  addAccount,
  addInbox,
  makeId,
  openDatabase,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { plansOf } from '#test/conformance/plans.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const EVERYTHING: EventFilter = { kinds: [], podIds: [], inboxIds: [], categories: [] }
/** The most rows that one statement may visit. */
const ROWS_MAX = LOG_WINDOW_EVENTS + 10
const COUNT = 20 * LOG_WINDOW_EVENTS

onBothEngines('a read in a log of thousands', (engine) => {
  const database = opened(() => openDatabase(engine))
  let busy: string
  let quiet: string
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  before(async () => {
    busy = await addInbox(db, owner)
    quiet = await addInbox(db, owner)
    await addEvents(busy, COUNT)
    await addEvents(quiet, 5)
    if (engine === 'postgres') await runSql(database, 'vacuum analyze events')
    await untilReadable(db)
  })

  /** In transactions of two hundred each, on a server that numbers them. */
  async function addEvents(inboxId: string, count: number, kind = 'message.received') {
    const transaction = engine === 'sqlite' ? '0' : `${firstTransaction} + i / 200`
    firstTransaction += 250
    await runSql(
      database,
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
       insert into events
         (id, kind, account_id, pod_id, inbox_id, occurred_at, transaction_id)
       select '${makeId('evt')}' || i, '${kind}', '${owner.accountId}', '${owner.podId}',
         '${inboxId}', i, ${transaction} from n`,
    )
  }
  let firstTransaction = 0

  const look = (filter: Partial<EventFilter>, from: LogOffset = LOG_START) =>
    scanLog(db, {
      accountId: owner.accountId,
      after: from,
      filter: { ...EVERYTHING, ...filter },
      limit: 10,
    })

  test('scans one window by its index, however few events pass the filter', async () => {
    const filters: [string, string, Partial<EventFilter>][] = [
      ['by kind', 'events_by_account', { kinds: ['message.complained'] }],
      ['by pod', 'events_by_account', { podIds: ['pod_x'] }],
      ['by several inboxes', 'events_by_account', { inboxIds: ['inb_x', 'inb_y'], categories: [] }],
      [
        'in an inbox',
        'events_by_inbox',
        { kinds: ['message.complained'], inboxIds: [busy], categories: [] },
      ],
    ]
    for (const [name, index, asked] of filters) {
      let reached: LogOffset = LOG_START
      const plans = await plansOf(db, async () => {
        const first = await look(asked)
        assert.deepEqual([first.events, first.isEnd], [[], false], name)
        reached = first.reached
      })
      assert.equal(plans.length, 2, name)
      for (const plan of plans) assertBounded(plan, index, `${name}: ${plan}`)
      const rows = await db.read
        .selectFrom('events')
        .select('sequence')
        .where('sequence', '<=', reached.sequence)
        .execute()
      assert.equal(rows.length, LOG_WINDOW_EVENTS, name)
    }
  })

  test('scans newest first by the same indexes, also behind a cursor', async () => {
    const half = { transactionId: 100, sequence: COUNT / 2 }
    const filters: [string, number, Partial<EventFilter>][] = [
      ['events_by_account', 1, {}],
      ['events_by_account', 2, { kinds: ['message.complained'] }],
      ['events_by_account', 2, { categories: ['marketing'] }],
      ['events_by_inbox', 1, { inboxIds: [busy] }],
      ['events_by_inbox', 2, { inboxIds: [busy], kinds: ['message.complained'] }],
    ]
    for (const [index, statements, asked] of filters) {
      for (const until of [undefined, half]) {
        const range = {
          accountId: owner.accountId,
          after: LOG_START,
          filter: { ...EVERYTHING, ...asked },
          order: 'desc' as const,
          ...(until !== undefined && { until }),
        }
        const plans = await plansOf(db, () => scanLog(db, { ...range, limit: 10 }))
        assert.equal(plans.length, statements, JSON.stringify(asked))
        for (const plan of plans) assertBounded(plan, index, plan)
      }
    }
  })

  /** Asserts that it visits no more rows than a window has. */
  function assertBounded(plan: string, index: string, message: string): void {
    if (engine === 'sqlite') {
      assert.match(plan, new RegExp(`\\b${index}\\b`), message)
      assert.doesNotMatch(plan, /SCAN events|TEMP B-TREE/, message)
      return
    }
    for (const [, rows = 0] of plan.matchAll(/(?:rows=|Rows Removed by Filter: )(\d+)/g)) {
      assert.ok(Number(rows) <= ROWS_MAX, message)
    }
  }

  test('has both bounds in the index', async () => {
    if (engine === 'postgres') return
    const [, matching = ''] = await plansOf(db, () => look({ kinds: ['message.complained'] }))
    assert.match(matching, /account_id=\? AND sequence>\? AND sequence<\?/)
  })

  test('for one inbox ends at once, however many events others have', async () => {
    const plans = await plansOf(db, async () => {
      const { events, isEnd } = await look({ inboxIds: [quiet], categories: [] })
      assert.deepEqual([events.length, isEnd], [5, true])
    })
    assert.equal(plans.length, 1)
    assertBounded(plans[0] ?? '', 'events_by_inbox', plans[0] ?? '')
  })

  test('counts up to a limit', async () => {
    const range = { accountId: owner.accountId, after: LOG_START, filter: EVERYTHING }
    assert.equal(await countEvents(db, { ...range, max: 10 }), 10)
    const plans = await plansOf(db, () => countEvents(db, { ...range, max: 2_000 }))
    assert.equal(plans.length, 1)
    assertBounded(plans[0] ?? '', 'events_by_account', plans[0] ?? '')
    const rare = { ...range, filter: { ...EVERYTHING, kinds: ['message.sent' as const] } }
    const looks = await plansOf(db, () => countEvents(db, rare))
    assert.equal(looks.length, (2 * LOG_COUNT_EVENTS_MAX) / LOG_WINDOW_EVENTS)
    for (const plan of looks) assertBounded(plan, 'events_by_account', plan)
  })

  test('skips erased events without reading them', async () => {
    const from = await readLogHead(db)
    await addEvents(busy, COUNT, 'erased')
    await addEvents(busy, 1)
    await runSql(database, `update events set inbox_id = null where kind = 'erased'`)
    await untilReadable(db)
    for (const filter of [
      {},
      { kinds: ['message.received' as const] },
      { inboxIds: [busy], categories: [] },
    ]) {
      const { events, isEnd } = await look(filter, from)
      assert.deepEqual([events.length, isEnd], [1, true])
    }
    const plans = await plansOf(db, () => look({}, from))
    assertBounded(plans[0] ?? '', 'events_by_account', plans[0] ?? '')
    const told = await readLog(db, { after: from, limit: LOG_STEP_EVENTS })
    assert.equal(told.length, 1)
  })
})
