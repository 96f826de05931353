import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import pg from 'pg'
import { DAY_MS } from '#platform/units.ts'
import { purgeExpiredStep } from '#removal/retention-rows.ts'
import {
  addAccount,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { dropWebhookDeliveries, purgeWebhookStep } from '#webhooks/webhook-delivery-rows.ts'
import { webhookQueue } from '#webhooks/webhook-queue-rows.ts'

const LOW = 'dlv_1'
const HIGH = 'dlv_2'

suite('locks on deliveries of webhooks', () => {
  let database: TestDatabase
  let owner: Owner
  let holder: pg.Client
  before(async () => {
    database = await openDatabase('postgres')
    owner = await addAccount(database.db)
    holder = new pg.Client({ connectionString: database.place })
    await holder.connect()
  })
  beforeEach(async () => {
    await runSql(database, 'truncate webhook_deliveries')
    // As they lie, the later one comes first.
    for (const id of [HIGH, LOW]) {
      await runSql(
        database,
        `insert into webhook_deliveries (id, account_id, lane, event_id, event_kind, queue_state,
           leased_by, lease_until, status, attempts, created_at)
         values ('${id}', '${owner.accountId}', 'whk_1', 'evt_1', 'message.received', 'leased',
           'a worker', 1, 'pending', 1, 0)`,
      )
    }
  })
  after(async () => {
    await holder.end()
    await database.close()
  })

  const remaining = async () =>
    (await database.db.read.selectFrom('webhook_deliveries').select('id').execute()).map(
      ({ id }) => id,
    )
  const isWaiting = async () => {
    const text = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await runSql(database, text)).length > 0
  }
  const lock = (id: string) =>
    `select id from webhook_deliveries where id = '${id}' for update nowait`

  const ids = [HIGH, LOW]
  const writes: [string, () => Promise<unknown>][] = [
    [
      'what gives back',
      () => database.db.write(webhookQueue.giveBack, { worker: 'a worker', ids }),
    ],
    ['what drops', () => database.db.write(dropWebhookDeliveries, { ids })],
    ['what purges', () => database.db.write(purgeWebhookStep, { webhookId: 'whk_1' })],
  ]
  for (const [name, write] of writes) {
    test(`${name} several locks the first of them first`, async () => {
      await holder.query('begin')
      await holder.query(lock(LOW))
      const written = write()
      try {
        await until(isWaiting)
        assert.equal((await runSql(database, lock(HIGH))).length, 1)
      } finally {
        await holder.query('rollback')
      }
      await written
    })
  }

  test('what removes old ones passes over one that is in use', async () => {
    await holder.query('begin')
    await holder.query(lock(LOW))
    try {
      await database.db.write(purgeExpiredStep, { nowMs: 365 * DAY_MS })
      assert.deepEqual(await remaining(), [LOW])
    } finally {
      await holder.query('rollback')
    }
    await database.db.write(purgeExpiredStep, { nowMs: 365 * DAY_MS })
    assert.deepEqual(await remaining(), [])
  })
})
