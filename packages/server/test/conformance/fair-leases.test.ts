import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import pg from 'pg'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import type { Head } from '#queue/dispatched-queue.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { LANE_ATTEMPTS_MAX } from '#queue/lane.ts'
import { ACCEPTED, deliverDeps, openFarEnd } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  makeId,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { copyMessage, queueAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { domains, Tally } from '#test/worker/dispatching.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const FAR = 'far.example'
const FIRST: Head = { account: '', lane: '' }
const READY = "queue_state >= 'ready' and queue_state <= 'ready'"
const QUEUED = sizeOf('TEST_MAILROOM_QUEUED', { usual: 1_000, long: 50_000 })

onEachEngine('leases of accounts', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const large = prepared(() => addAccount(db))
  before(async () => {
    const inboxId = await addInbox(db, large)
    const [messageId = ''] = await queueAll(db, [sending(large, inboxId)])
    await copyMessage(database, messageId, { domains: ['far.example'], count: QUEUED })
  })

  const sendTo = async (...recipients: string[]) => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    await queueAll(db, [sending(owner, inboxId, { recipients })])
    return owner.accountId
  }

  test('each account with ready deliveries is listed once for each of its lanes', async () => {
    const other = await sendTo('1@far.example')
    const queue = openDeliveryQueue(deliverDeps(db, systemClock, null), makeId('job'))
    const heads = [large.accountId, other].sort().map((account) => ({ account, lane: FAR }))
    const list = async (after: Head, limit: number, lanesEach = 10) => {
      const found = await queue.listHeads({ after, lanesEach, limit })
      return found.map((head) => ({ ...head }))
    }
    assert.deepEqual(await list(FIRST, 10), heads)
    assert.deepEqual(await list(heads[0] ?? FIRST, 10), heads.slice(1))
    assert.deepEqual(await list(FIRST, 1), heads.slice(0, 1))
    const held = await queue.lease(heads.map((head) => ({ ...head, limit: 5 })))
    assert.deepEqual(
      held.map(({ account_id }) => account_id).sort(),
      [...Array.from({ length: 5 }, () => large.accountId), other].sort(),
    )
    assert.equal(new Set(held.map(({ id }) => id)).size, 6)
    assert.deepEqual(await list(FIRST, 10), [{ account: large.accountId, lane: FAR }])
    await queue.return(held)
    await runSql(database, `delete from deliveries where account_id = '${other}'`)
  })

  test('a list has a limited number of lanes of each account, and continues after any of them', async () => {
    const domains = ['a.example', 'b.example', 'c.example']
    const addresses = domains.map((domain) => `1@${domain}`)
    const accounts = [await sendTo(...addresses), await sendTo(...addresses)].sort()
    const queue = openDeliveryQueue(deliverDeps(db, systemClock, null), makeId('job'))
    const list = async (after: Head, page: { lanesEach: number; limit: number }) => {
      const found = await queue.listHeads({ after, ...page })
      return found
        .filter(({ account }) => account !== large.accountId)
        .map(({ account, lane }) => `${accounts.indexOf(account)} ${lane[0]}`)
    }
    const [first = '', second = ''] = accounts
    assert.deepEqual(await list(FIRST, { lanesEach: 2, limit: 50 }), ['0 a', '0 b', '1 a', '1 b'])
    const behind = { account: first, lane: 'b.example' }
    assert.deepEqual(await list(behind, { lanesEach: 2, limit: 50 }), ['0 c', '1 a', '1 b'])
    assert.deepEqual(await list(behind, { lanesEach: 3, limit: 2 }), ['0 c', '1 a'])
    assert.deepEqual(
      await list({ account: second, lane: 'c.example' }, { lanesEach: 2, limit: 50 }),
      [],
    )
    await runSql(database, `delete from deliveries where account_id in ('${first}', '${second}')`)
  })

  test('a delivery overtakes all that another account has queued for its destination', async () => {
    const tally = new Tally()
    const farEnd = openFarEnd(async (recipient) => {
      tally.add('all')
      tally.add(recipient)
      await pause(20)
      return ACCEPTED
    })
    const queue = openDeliveryQueue(deliverDeps(db, systemClock, farEnd), makeId('job'))
    const dispatcher = openDispatcher(queue, { clock: systemClock, log: silentLog })
    try {
      await tally.until(() => tally.of('all') > 3 * LANE_ATTEMPTS_MAX)
      const recipient = 'only@far.example'
      await sendTo(recipient)
      const before = tally.of('all')
      dispatcher.wake()
      await tally.until(() => tally.of(recipient) > 0)
      const waited = tally.of('all') - before - 1
      assert.ok(waited < 5 * LANE_ATTEMPTS_MAX, `${waited} attempts of others`)
    } finally {
      await dispatcher.close(1_000)
    }
  })

  test('scans and leases of an account read its own rows by an index', async (t) => {
    const other = await sendTo('1@far.example')
    for (const table of ['deliveries', 'webhook_deliveries']) {
      for (const text of [
        `select min(account_id) from ${table} where ${READY} and account_id > 'a'`,
        `select min(lane) from ${table} where ${READY} and account_id = '${other}'
           and lane > ''`,
        `select id from ${table} where ${READY} and account_id = '${other}'
           and lane = '${FAR}' order by next_attempt_at, id limit 5`,
      ]) {
        const plan = await planOf(database, text)
        t.diagnostic(plan)
        assert.match(plan, new RegExp(`${table}_ready_by_account`))
      }
    }
  })

  async function planOf(on: TestDatabase, text: string): Promise<string> {
    if (engine === 'sqlite') return JSON.stringify(await runSql(on, `explain query plan ${text}`))
    const client = new pg.Client({ connectionString: on.place })
    await client.connect()
    try {
      // The planner would scan a small table.
      await client.query('set enable_seqscan = off')
      return JSON.stringify((await client.query(`explain ${text}`)).rows)
    } finally {
      await client.end()
    }
  }
})

onEachEngine('several dispatchers', (engine) => {
  test('each recipient is sent to once, by one of them', { timeout: 120_000 }, async () => {
    const database = await openDatabase(engine)
    const { db } = database
    const others = engine === 'postgres' ? await database.openAgain() : db
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const [messageId = ''] = await queueAll(db, [sending(owner, inboxId)])
    await copyMessage(database, messageId, { domains: domains('lane', 5), count: 40 })
    const tally = new Tally()
    const dispatchers = [db, others, db, others].map((on, index) => {
      const farEnd = openFarEnd(async (recipient, { destination }) => {
        tally.add(`${recipient} of ${destination}`)
        await new Promise(setImmediate)
        return ACCEPTED
      })
      const deps = {
        ...deliverDeps(on, systemClock, farEnd),
        countDelivery: () => tally.add('settled'),
      }
      return openDispatcher(openDeliveryQueue(deps, `worker ${index}`), {
        clock: systemClock,
        log: silentLog,
      })
    })
    try {
      await tally.until(() => tally.of('settled') === 201)
      for (const domain of domains('lane', 5)) {
        for (let index = 1; index <= 40; index++) {
          assert.equal(tally.of(`r${index}@${domain} of ${domain}`), 1)
        }
      }
    } finally {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.close(1_000)))
      const states = await db.read.selectFrom('deliveries').select(['status', 'attempts']).execute()
      await database.close()
      assert.equal(states.length, 201)
      for (const state of states)
        assert.deepEqual({ ...state }, { status: 'accepted', attempts: 1 })
    }
  })
})
