import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { LANE_TRANSACTIONS_MAX } from '#queue/lane.ts'
import type { Db } from '#schema/tables.ts'
import { ACCEPTED, deliverDeps, openFarEnd } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  makeId,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { copyMessage, queueAll, runSql, sending } from '#test/conformance/sending.ts'
import { sizeOf } from '#test/size-of.ts'
import { Tally } from '#test/worker/dispatching.ts'
import { onBothEngines, opened } from '#test/world.ts'

const READY = "queue_state >= 'ready' and queue_state <= 'ready'"
const QUEUED = sizeOf('TEST_MAILROOM_QUEUED', { usual: 1_000, long: 50_000 })

onBothEngines('claims of accounts', (engine) => {
  const database = opened(() => openDatabase(engine))
  let db: Db
  let large: Owner
  before(async () => {
    db = database.db
    large = await addAccount(db)
    const inboxId = await addInbox(db, large)
    const [messageId = ''] = await queueAll(db, [sending(large, inboxId)])
    await copyMessage(database, messageId, { domains: ['far.example'], count: QUEUED })
  })

  const sendOne = async (recipient: string) => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    await queueAll(db, [sending(owner, inboxId, { recipients: [recipient] })])
    return owner.accountId
  }

  test('each account with something ready is listed once, with its lanes', async () => {
    const other = await sendOne('1@far.example')
    const queue = openDeliveryQueue(deliverDeps(db, systemClock, null), makeId('job'))
    const both = [large.accountId, other].sort()
    assert.deepEqual(await queue.listReadyOwners('', 10), both)
    assert.deepEqual(await queue.listReadyOwners(both[0] ?? '', 10), both.slice(1))
    assert.deepEqual(await queue.listReadyOwners('', 1), both.slice(0, 1))
    assert.deepEqual(await queue.listOwnerLanes(other, '', 10), ['far.example'])
    assert.deepEqual(await queue.listOwnerLanes(other, 'far.example', 10), [])
    const share = { lane: 'far.example', limit: 5, owner: other }
    const held = await queue.claim([share, { lane: 'far.example', limit: 5 }, share])
    assert.deepEqual(
      held.map(({ account_id }) => account_id).sort(),
      [...Array.from({ length: 5 }, () => large.accountId), other].sort(),
    )
    assert.equal(new Set(held.map(({ id }) => id)).size, 6)
    assert.deepEqual(await queue.listReadyOwners('', 10), [large.accountId])
    await queue.giveBack(held)
    await runSql(database, `delete from deliveries where account_id = '${other}'`)
  })

  test('a delivery goes past all that another account has queued for its destination', async () => {
    const tally = new Tally()
    const farEnd = openFarEnd(async (recipient) => {
      tally.add('all')
      tally.add(recipient)
      await pause(20)
      return ACCEPTED
    })
    const queue = openDeliveryQueue(deliverDeps(db, systemClock, farEnd), makeId('job'))
    const dispatcher = openDispatcher(queue, silentLog)
    try {
      await tally.until(() => tally.of('all') > 3 * LANE_TRANSACTIONS_MAX)
      const recipient = 'only@far.example'
      await sendOne(recipient)
      const before = tally.of('all')
      dispatcher.wake()
      await tally.until(() => tally.of(recipient) > 0)
      const waited = tally.of('all') - before - 1
      assert.ok(waited < 5 * LANE_TRANSACTIONS_MAX, `${waited} attempts of others`)
    } finally {
      await dispatcher.close(1_000)
    }
  })

  test('looks and claims of an account read its own rows by an index', async (t) => {
    const other = await sendOne('1@far.example')
    for (const table of ['deliveries', 'webhook_deliveries']) {
      for (const text of [
        `select min(account_id) from ${table} where ${READY} and account_id > 'a'`,
        `select min(lane) from ${table} where ${READY} and account_id = '${other}'
           and lane > ''`,
        `select id from ${table} where ${READY} and account_id = '${other}'
           and lane = 'far.example' order by next_attempt_at, id limit 5`,
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
      // A small table is cheaper to read whole.
      await client.query('set enable_seqscan = off')
      return JSON.stringify((await client.query(`explain ${text}`)).rows)
    } finally {
      await client.end()
    }
  }
})
