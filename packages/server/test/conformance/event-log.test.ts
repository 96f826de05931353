import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { compareOffsets, type EventFilter, LOG_START, type LoggedEvent } from '#events/model.ts'
import { countEvents, findEvent, LOG_WINDOW_EVENTS, listEvents } from '#events/store/events.ts'
import {
  findUnsettledSince,
  isUnsettledAfter,
  offsetOf,
  readLog,
  readLogHead,
  readLogHeadOf,
} from '#events/store/log.ts'
import { settleEventOrder } from '#events/store/restored-order.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import type { Db } from '#store/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  type TestDatabase,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { addWebhook } from '#test/conformance/webhooking.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'
import { enabledAfter } from '#webhooks/model.ts'
import { findWebhook } from '#webhooks/store/webhooks.ts'

const EVERYTHING: EventFilter = { kinds: [], podIds: [], inboxIds: [], categories: [] }

/** One message for these inboxes; returns the ids of its events, in the order of the inboxes' ids. */
async function write(db: Db, owner: Owner, inboxIds: string[]): Promise<string[]> {
  const input = arriving(owner, inboxIds)
  await db.write(storeReceived, input)
  const inOrder = [...input.receipts].sort((a, b) => (a.inboxId < b.inboxId ? -1 : 1))
  return inOrder.map(({ eventId }) => eventId)
}

/** The same, once its events are readable. */
async function receive(db: Db, owner: Owner, inboxIds: string[]): Promise<string[]> {
  const ids = await write(db, owner, inboxIds)
  await untilReadable(db)
  return ids
}

const idsOf = (events: readonly LoggedEvent[]) => events.map(({ id }) => id)

/** Everything that a reader gets until nothing more comes. */
async function readAll(db: Db, from = LOG_START): Promise<LoggedEvent[]> {
  const read: LoggedEvent[] = []
  for (;;) {
    const after = read.at(-1)?.offset ?? from
    const some = await readLog(db, { after, limit: 7 })
    if (some.length === 0) return read
    read.push(...some)
  }
}

onBothEngines('the log of events', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)

  test('is read in the order of commits, up to its head', async () => {
    const owner = await addAccount(db)
    const [one, two] = [await addInbox(db, owner), await addInbox(db, owner)]
    const from = await readLogHead(db)
    const written = [
      ...(await receive(db, owner, [one])),
      ...(await receive(db, owner, [two, one])),
      ...(await receive(db, owner, [two])),
    ]
    const read = await readAll(db, from)
    assert.deepEqual(idsOf(read), written)
    assert.deepEqual(await readLogHead(db), read.at(-1)?.offset)
    assert.equal(await isUnsettledAfter(db, await readLogHead(db)), false)
  })

  test('gives an account only its own events, filtered by kind, inbox and pod', async () => {
    const [mine, theirs] = [await addAccount(db), await addAccount(db)]
    const [one, two] = [await addInbox(db, mine), await addInbox(db, mine)]
    const foreign = await addInbox(db, theirs)
    const [first] = await receive(db, mine, [one])
    const [other] = await receive(db, theirs, [foreign])
    const [second] = await receive(db, mine, [two])
    const ask = (filter: Partial<EventFilter>) => {
      const range = { accountId: mine.accountId, after: LOG_START }
      return listEvents(db, { ...range, filter: { ...EVERYTHING, ...filter }, limit: 10 })
    }
    assert.deepEqual(idsOf(await ask({})), [first, second])
    assert.deepEqual(idsOf(await ask({ inboxIds: [two], categories: [] })), [second])
    assert.deepEqual(idsOf(await ask({ inboxIds: [foreign], categories: [] })), [])
    assert.deepEqual(idsOf(await ask({ podIds: [mine.podId] })), [first, second])
    assert.deepEqual(
      idsOf(await ask({ podIds: [makeId('pod')], inboxIds: [one], categories: [] })),
      [first],
    )
    assert.deepEqual(idsOf(await ask({ kinds: ['message.sent'] })), [])
    assert.equal(await findEvent(db, mine.accountId, other ?? ''), null)
    assert.equal((await findEvent(db, theirs.accountId, other ?? ''))?.id, other)
  })

  test('finds and counts the few events that pass a filter among many that do not', async () => {
    const owner = await addAccount(db)
    const [rare, busy] = [await addInbox(db, owner), await addInbox(db, owner)]
    const written = await receive(db, owner, [rare])
    await addEvents(database, { ...owner, inboxId: busy }, LOG_WINDOW_EVENTS + 10)
    written.push(...(await receive(db, owner, [rare])))
    const range = { accountId: owner.accountId, after: LOG_START }
    const filter = { ...EVERYTHING, inboxIds: [rare], categories: [] }
    assert.deepEqual(idsOf(await listEvents(db, { ...range, filter, limit: 10 })), written)
    assert.deepEqual(
      idsOf(await listEvents(db, { ...range, filter, limit: 1 })),
      written.slice(0, 1),
    )
    assert.equal(await countEvents(db, { ...range, filter }), 2)
    const newest = { ...range, filter, order: 'desc' } as const
    assert.deepEqual(idsOf(await listEvents(db, { ...newest, limit: 10 })), written.toReversed())
    assert.deepEqual(idsOf(await listEvents(db, { ...newest, limit: 1 })), written.slice(1))
    assert.equal(await countEvents(db, newest), 2)
    assert.equal(await countEvents(db, { ...range, filter: EVERYTHING }), LOG_WINDOW_EVENTS + 12)
  })

  test('shows a reader each event once, under concurrent writes', async () => {
    const owner = await addAccount(db)
    const inboxIds = await Promise.all(Array.from({ length: 6 }, () => addInbox(db, owner)))
    const from = await readLogHead(db)
    const read: LoggedEvent[] = []
    let isWriting = true
    const reading = (async () => {
      for (;;) {
        const isLast = !isWriting
        const some = await readAll(db, read.at(-1)?.offset ?? from)
        read.push(...some)
        if (isLast && some.length === 0) return
        await new Promise(setImmediate)
      }
    })()
    const written = await Promise.all(
      inboxIds.map(async (inboxId) => {
        const ids: string[] = []
        for (let count = 0; count < 25; count++) ids.push(...(await write(db, owner, [inboxId])))
        return ids
      }),
    )
    await untilReadable(db)
    isWriting = false
    await reading
    assert.deepEqual(idsOf(read).sort(), written.flat().sort())
    const offsets = read.map(({ offset }) => offset)
    assert.deepEqual(offsets, [...offsets].sort(compareOffsets))
  })
})

/** Rows of the log as other writes would add them. */
async function addEvents(
  database: TestDatabase,
  { accountId, inboxId }: { accountId: string; inboxId: string },
  count: number,
): Promise<void> {
  const rows = Array.from(
    { length: count },
    () => `('${makeId('evt')}', 'webhook.test', '${accountId}', '${inboxId}', 1)`,
  )
  const columns = '(id, kind, account_id, inbox_id, occurred_at)'
  await runSql(database, `insert into events ${columns} values ${rows.join(', ')}`)
}

suite('the log of events on a server with many writers (postgres)', () => {
  let database: TestDatabase
  let db: Db
  let client: pg.Client
  before(async () => {
    database = await openDatabase('postgres')
    db = database.db
    client = new pg.Client({ connectionString: database.place })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await database.close()
  })

  const insert = (id: string) =>
    client.query(
      `insert into events (id, kind, account_id, occurred_at) values ($1, 'webhook.test', 'acc', 1)`,
      [id],
    )

  test('no event is read before those of an older open transaction', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const [early] = await receive(db, owner, [inboxId])
    const from = await readLogHead(db)
    await client.query('begin')
    await insert('held')
    const [later] = await write(db, owner, [inboxId])
    assert.deepEqual(await readAll(db, from), [])
    assert.equal((await readLogHead(db)).sequence, from.sequence)
    assert.equal(await isUnsettledAfter(db, from), true)
    const range = { accountId: owner.accountId, after: LOG_START, filter: EVERYTHING }
    assert.deepEqual(idsOf(await listEvents(db, { ...range, limit: 10 })), [early])
    assert.equal(await countEvents(db, range), 1)
    const newest = { ...range, order: 'desc' } as const
    assert.deepEqual(idsOf(await listEvents(db, { ...newest, limit: 10 })), [early])
    assert.equal(await countEvents(db, newest), 1)
    const since = await findUnsettledSince(db)
    assert.ok(since !== null && Date.now() - since < 60_000)
    const head = await readLogHeadOf(db, inboxId)
    assert.deepEqual(head, { offset: await readLogHead(db), unsettledIds: [later] })
    await client.query('commit')
    await untilReadable(db)
    assert.equal(await findUnsettledSince(db), null)
    assert.deepEqual(idsOf(await readAll(db, from)), ['held', later])
  })

  test('an older transaction that writes its event last is read at its own offset', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const from = await readLogHead(db)
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    const [later] = await write(db, owner, [inboxId])
    await insert('written last')
    assert.deepEqual(await readAll(db, from), [])
    await client.query('commit')
    await untilReadable(db)
    assert.deepEqual(idsOf(await readAll(db, from)), ['written last', later])
  })

  test('a transaction that is rolled back delays nobody', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const from = await readLogHead(db)
    await client.query('begin')
    await insert('undone')
    const [later] = await write(db, owner, [inboxId])
    await client.query('rollback')
    await untilReadable(db)
    assert.deepEqual(idsOf(await readAll(db, from)), [later])
  })
})

suite('the log of events in a database from another server (postgres)', () => {
  const database = opened(() => openDatabase('postgres'))
  const db = prepared(() => database.db)

  /** As if they were transactions of a server with far higher numbers. */
  async function move(events: readonly LoggedEvent[], reader: LoggedEvent | undefined) {
    const number = 5_000_000_000
    for (const [index, { id, offset }] of events.entries()) {
      const place = `transaction_id = ${number + index}`
      await runSql(database, `update events set ${place} where id = '${id}'`)
      if (id !== reader?.id) continue
      await runSql(database, `update event_readers set ${place}, sequence = ${offset.sequence}`)
    }
  }

  test('continues: old events are read, then new ones, and readers miss nothing', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const [own] = await receive(db, owner, [inboxId])
    const start = await readLogHead(db)
    const written: string[] = []
    for (let count = 0; count < 5; count++) written.push(...(await receive(db, owner, [inboxId])))
    const foreign = await readAll(db, start)
    await move(foreign, foreign[1])
    const [next] = await write(db, owner, [inboxId])
    const readable = async () => (await readAll(db, start)).length > 0
    while (!(await readable())) await new Promise((resolve) => setTimeout(resolve, 2))
    assert.deepEqual(idsOf(await readAll(db, start)), [next], 'they cannot be read as they are')

    assert.equal(await db.write(settleEventOrder, {}), 5)
    const [late] = await receive(db, owner, [inboxId])
    const all = await readAll(db)
    assert.deepEqual(idsOf(all), [own, next, ...written, late])
    const row = await db.read.selectFrom('event_readers').selectAll().executeTakeFirst()
    const left = await readAll(db, {
      transactionId: row?.transaction_id ?? 0,
      sequence: row?.sequence ?? 0,
    })
    assert.deepEqual(idsOf(left), [...written.slice(2), late])
    assert.equal(await db.write(settleEventOrder, {}), 0, 'and once is enough')
  })

  test('webhooks get the events after they were enabled', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const start = await readLogHead(db)
    for (let count = 0; count < 5; count++) await receive(db, owner, [inboxId])
    const before = await addWebhook(db, owner)
    const foreign = await readAll(db, start)
    await move(foreign, foreign[1])
    const enabledAt = async (at: number) => {
      const webhookId = await addWebhook(db, owner)
      const place = `enabled_after_transaction_id = ${5_000_000_000 + at},
        enabled_after_sequence = ${foreign[at]?.offset.sequence}`
      await runSql(database, `update webhooks set ${place} where id = '${webhookId}'`)
      return webhookId
    }
    const webhooks = [before, await enabledAt(0), await enabledAt(1), await enabledAt(3)]
    const late = await enabledAt(4)
    const isOwn = await findWebhook(db, before)
    await db.write(settleEventOrder, {})
    assert.deepEqual(await findWebhook(db, before), isOwn)
    const [next] = await receive(db, owner, [inboxId])
    const all = (await readAll(db, start)).filter(({ accountId }) => accountId === owner.accountId)
    const row = await db.read.selectFrom('event_readers').selectAll().executeTakeFirst()
    assert.ok(row)
    const unread = all.filter(({ offset }) => compareOffsets(offset, offsetOf(row)) > 0)
    const toBeTold = async (webhookId: string) => {
      const webhook = await findWebhook(db, webhookId)
      const after = webhook === null ? LOG_START : enabledAfter(webhook)
      return idsOf(unread.filter(({ offset }) => compareOffsets(offset, after) > 0))
    }
    const ids = idsOf(foreign)
    assert.deepEqual(
      await Promise.all(webhooks.map(toBeTold)),
      [2, 2, 2, 4].map((from) => [...ids.slice(from), next]),
    )
    assert.deepEqual(await toBeTold(late), [next])
  })

  test('a log of the same server is not changed', async () => {
    const owner = await addAccount(db)
    await receive(db, owner, [await addInbox(db, owner)])
    const was = await readAll(db)
    assert.equal(await db.write(settleEventOrder, {}), 0)
    assert.deepEqual(await readAll(db), was)
  })
})
