import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { LogReader } from '#events/follow-log.ts'
import { isUnsettledAfter } from '#events/store/log.ts'
import { findReaderOffset } from '#events/store/readers.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { DAY_MS, HOUR_MS } from '#platform/units.ts'
import { purgeExpiredStep } from '#removal/store/purge.ts'
import { openDayCounter, openHourCounter, STATS_STEP_EVENTS } from '#stats/count-mail.ts'
import { readStats } from '#stats/handlers.ts'
import { type CounterName, listMailHours, MAIL_HOURS_MS, sumMailHours } from '#stats/store/stats.ts'
import { listInboxUsage } from '#stats/store/usage.ts'
import { type StillClock, stillClock } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  type Owner,
  openDatabase,
  storeOn,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const START_MS = Date.UTC(2026, 10, 20, 12, 30)
/** Ten whole days. */
const DAYS = { sinceMs: Date.UTC(2026, 10, 8), untilMs: Date.UTC(2026, 10, 18) }

onBothEngines('hourly figures', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  let inboxId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  beforeEach(async () => {
    for (const table of ['mail_hours', 'inbox_days', 'events'])
      await runSql(database, `delete from ${table}`)
    owner = await addAccount(db)
    inboxId = await addInbox(db, owner)
    clock = stillClock(START_MS)
  })

  const counter = (on = db) => openHourCounter(storeOn(on, clock))
  const dayCounter = (on = db) => openDayCounter(storeOn(on, clock))
  const arrive = (atMs = clock.now(), of = { owner, inboxId }) =>
    db.write(storeReceived, { ...arriving(of.owner, [of.inboxId]), nowMs: atMs })
  const settle = async (one: LogReader, name: CounterName = 'figures') => {
    for (;;) {
      while (await one.step());
      if (!(await isUnsettledAfter(db, await findReaderOffset(db, name)))) return
    }
  }
  const receivedOf = async (accountId = owner.accountId) =>
    (await listMailHours(db, { accountId, sinceMs: 0 })).map(({ received }) => received)
  const statsOf = (range: '24h' | '7d' | '30d') =>
    readStats({ db, clock }, { accountId: owner.accountId, range })

  test('belong to the account and the hour of the event', async () => {
    const other = await addAccount(db)
    await arrive(START_MS)
    await arrive(START_MS + HOUR_MS / 2)
    await arrive(START_MS - HOUR_MS)
    await arrive(START_MS, { owner: other, inboxId: await addInbox(db, other) })
    await untilReadable(db)
    await settle(counter())
    assert.deepEqual(await receivedOf(), [1, 1, 1])
    assert.deepEqual(await receivedOf(other.accountId), [1])
  })

  test('count each event once for concurrent and later readers', async () => {
    const count = 2 * STATS_STEP_EVENTS + 7
    for (let sent = 0; sent < count; sent += 10) {
      const batch = Math.min(10, count - sent)
      await Promise.all(Array.from({ length: batch }, () => arrive()))
    }
    await untilReadable(db)
    await Promise.all(
      [counter(), counter(others), counter(), counter(others)].map((one) => settle(one)),
    )
    assert.deepEqual(await receivedOf(), [count])
    await settle(counter(others))
    assert.deepEqual(await receivedOf(), [count])
  })

  test('continue after a process that was interrupted', async () => {
    let counted = 0
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 7 }, () => arrive()))
      counted += 7
      const [one, two] = [counter(), counter(others)]
      // Interrupted after a step that may have been committed, and taken over meanwhile.
      await Promise.all([one.step(), two.step()])
    }
    await untilReadable(db)
    await settle(counter())
    assert.deepEqual(await receivedOf(), [counted])
  })

  test('are complete up to now if no event waits, and otherwise up to the first that does', async () => {
    await arrive(START_MS - 5_000)
    await untilReadable(db)
    assert.equal((await statsOf('24h')).asOfMs, START_MS - 5_000)
    await settle(counter())
    assert.equal((await statsOf('24h')).asOfMs, START_MS)
  })

  test('are returned in intervals without a gap, up to now', async () => {
    const times = [0, HOUR_MS, 23 * HOUR_MS, 25 * HOUR_MS, 6 * DAY_MS, 8 * DAY_MS, 29 * DAY_MS]
    for (const ago of [...times, 31 * DAY_MS]) await arrive(START_MS - ago)
    await untilReadable(db)
    await settle(counter())
    const lengths = { '24h': [24, HOUR_MS, 3], '7d': [56, 3 * HOUR_MS, 5], '30d': [30, DAY_MS, 7] }
    for (const range of ['24h', '7d', '30d'] as const) {
      const { buckets, bucketMs } = await statsOf(range)
      const [count, stepMs = 0, received] = lengths[range]
      assert.equal(buckets.length, count)
      assert.equal(bucketMs, stepMs)
      const last = buckets.at(-1)?.atMs ?? 0
      assert.ok(last <= START_MS && last + stepMs > START_MS)
      for (const [index, { atMs }] of buckets.entries()) {
        assert.equal(atMs, last - (buckets.length - 1 - index) * stepMs)
      }
      assert.equal(
        buckets.reduce((sum, bucket) => sum + bucket.received, 0),
        received,
      )
    }
  })

  test('include how long sent mail took, and that mail failed', async () => {
    await arrive()
    const [event] = (await runSql(database, 'select * from events')) as { message_id: string }[]
    // As if these had been sent: the counter reads the kind and the time of acceptance.
    const add = async (kind: string, latencyMs: number, id: string) => {
      const at = START_MS + latencyMs
      await runSql(database, `update messages set created_at = ${START_MS}`)
      await runSql(
        database,
        `insert into events (id, kind, account_id, inbox_id, message_id, occurred_at)
         values ('evt_${id}', '${kind}', '${owner.accountId}', '${inboxId}', '${event?.message_id}', ${at})`,
      )
    }
    for (let one = 1; one <= 9; one += 1) await add('message.sent', 100, `s${one}`)
    await add('message.sent', 60_000, 's10')
    await add('message.failed', 1_000, 'f1')
    await add('message.bounced', 1_000, 'b1')
    await add('domain.verified', 1_000, 'd1')
    await untilReadable(db)
    await settle(counter())
    clock.advance(2 * HOUR_MS)
    const { buckets, inboxes, unreadThreads } = await statsOf('24h')
    const bucket = buckets.find(({ sent }) => sent > 0)
    assert.deepEqual([bucket?.received, bucket?.sent, bucket?.failed], [1, 10, 1])
    assert.ok(Math.abs((bucket?.latencyMsP50 ?? 0) - 100) <= 10)
    assert.ok(Math.abs((bucket?.latencyMsP95 ?? 0) - 60_000) <= 6_000)
    assert.deepEqual([inboxes, unreadThreads], [1, 1])
    const quiet = buckets[0]
    assert.deepEqual([quiet?.latencyMsP50, quiet?.latencyMsP95], [null, null])
  })

  test('leave out the time for which a sent message waited for its hour or its approver', async () => {
    await arrive()
    const [event] = (await runSql(database, 'select * from events')) as { message_id: string }[]
    const id = event?.message_id ?? ''
    const sentAt = START_MS + HOUR_MS
    await runSql(
      database,
      `update messages set created_at = ${START_MS}, scheduled_at = ${sentAt - 5_000}`,
    )
    const add = async (name: string) => {
      await runSql(
        database,
        `insert into events (id, kind, account_id, inbox_id, message_id, occurred_at)
         values ('evt_${name}', 'message.sent', '${owner.accountId}', '${inboxId}', '${id}', ${sentAt})`,
      )
      await untilReadable(db)
      await settle(counter())
    }
    await add('scheduled')
    await runSql(
      database,
      `insert into reviews (id, account_id, inbox_id, thread_id, message_id, status, reasons, digest,
           content, expires_at, decided_at, created_at)
       values ('rev_1', '${owner.accountId}', '${inboxId}', 'thr_1', '${id}', 'approved', '[]', 'd',
           '{}', ${sentAt}, ${sentAt - 100}, ${START_MS})`,
    )
    for (const name of ['a', 'b', 'c']) await add(name)
    clock.advance(2 * HOUR_MS)
    const { buckets } = await statsOf('24h')
    const bucket = buckets.find(({ sent }) => sent > 0)
    assert.ok(Math.abs((bucket?.latencyMsP50 ?? 0) - 100) <= 10, String(bucket?.latencyMsP50))
    assert.ok(Math.abs((bucket?.latencyMsP95 ?? 0) - 5_000) <= 500, String(bucket?.latencyMsP95))
  })

  test('are the sums of the days of inboxes, whoever counts', async () => {
    const inboxes = [inboxId, await addInbox(db, owner), await addInbox(db, owner)]
    const expected = new Map<string, number>()
    for (let step = 0; step < 120; step += 1) {
      const of = inboxes[(step * 7_919) % 2] ?? ''
      const atMs = START_MS - ((step * 104_729) % 60) * 6 * HOUR_MS
      await arrive(atMs, { owner, inboxId: of })
      const isCounted = atMs >= DAYS.sinceMs && atMs < DAYS.untilMs
      if (isCounted) expected.set(of, (expected.get(of) ?? 0) + 1)
      if (step % 20 !== 0) continue
      // A program that knows only the hours counts them alone.
      await Promise.all([counter().step(), counter(others).step()])
      if (step % 40 === 0) await Promise.all([dayCounter().step(), dayCounter(others).step()])
    }
    await untilReadable(db)
    await Promise.all([counter(), counter(others)].map((one) => settle(one)))
    await Promise.all([dayCounter(), dayCounter(others)].map((one) => settle(one, 'inbox_days')))
    const days = { accountId: owner.accountId, ...DAYS }
    const { entries, total, totals } = await listInboxUsage(db, { ...days, limit: 10, offset: 0 })
    assert.equal(total, 2)
    for (const { inboxId: id, received } of entries) assert.equal(received, expected.get(id))
    assert.deepEqual(totals, await sumMailHours(db, days))
  })

  test('are kept for four hundred days', async () => {
    await arrive(START_MS - MAIL_HOURS_MS - HOUR_MS)
    await arrive(START_MS - MAIL_HOURS_MS + HOUR_MS)
    await untilReadable(db)
    await settle(counter())
    await settle(dayCounter(), 'inbox_days')
    assert.deepEqual(await receivedOf(), [1, 1])
    while (!(await db.write(purgeExpiredStep, { nowMs: START_MS })).isDone);
    assert.deepEqual(await receivedOf(), [1])
    const [day] = (await runSql(database, 'select min(day_at) as at from inbox_days')) as {
      at: unknown
    }[]
    assert.ok(day?.at === null || Number(day?.at) >= START_MS - MAIL_HOURS_MS)
  })
})
