import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import pg from 'pg'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { systemClock } from '#platform/clock.ts'
import { measureWrites } from '#platform/db/paced-db.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { WEBHOOK_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { purgeExpiredStep, purgeInboxStep } from '#removal/store/purge.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { Db } from '#store/tables.ts'
import {
  leaseGroup,
  leaseReady,
  type StillClock,
  stillClock,
} from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { readAll } from '#test/conformance/sending.ts'
import {
  ANSWERED,
  addWebhook,
  answered,
  REFUSED,
  webhookDeliveriesOf,
  webhookDeps,
} from '#test/conformance/webhooking.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'
import { deliverWebhook, openWebhookQueue } from '#webhooks/deliver-webhooks.ts'
import { openFanOut } from '#webhooks/open-webhooks.ts'
import {
  dropWebhookDeliveries,
  findWebhookDelivery,
  listWebhookDeliveries,
  purgeWebhookStep,
  retryWebhookDelivery,
} from '#webhooks/store/deliveries.ts'
import {
  addWebhookTest,
  type SettledWebhookDelivery,
  settleWebhookDelivery,
  webhookQueue,
} from '#webhooks/store/queue.ts'
import { findWebhook } from '#webhooks/store/webhooks.ts'

const START_MS = Date.UTC(2026, 10, 20, 12)
const NEVER = AbortSignal.any([])

onBothEngines('deliveries of webhooks', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  let inboxId: string
  let webhookId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  beforeEach(async () => {
    for (const table of ['webhook_deliveries', 'webhooks', 'events']) {
      await runSql(database, `delete from ${table}`)
    }
    clock = stillClock(START_MS)
    owner = await addAccount(db)
    inboxId = await addInbox(db, owner)
    webhookId = await addWebhook(db, owner)
  })

  /** A message arrives and causes an event. */
  const happen = async (count = 1) => {
    const input = arriving(
      owner,
      Array.from({ length: count }, () => inboxId),
    )
    await db.write(storeReceived, { ...input, nowMs: clock.now() })
    const fanOut = openFanOut(webhookDeps(db, clock), () => {})
    do while (await fanOut.step());
    while (await fanOut.isBehind())
  }
  type Answer = HttpPostOutcome | HttpPost
  const queueWith = (answer: Answer, worker = 'host job') => {
    const post: HttpPost = typeof answer === 'function' ? answer : () => Promise.resolve(answer)
    return openWebhookQueue(webhookDeps(db, clock, post), worker)
  }
  /** Attempts all due deliveries once; returns their number. */
  const attempt = async (answer: Answer, signal = NEVER) => {
    const queue = queueWith(answer)
    await queue.readyDue()
    const groups = queue.group(await leaseReady(queue))
    await Promise.all(groups.map((group) => queue.deliver(group, signal)))
    return groups.length
  }
  const rowOf = async (id = webhookId) => {
    const [row] = await webhookDeliveriesOf(db, [id])
    assert.ok(row)
    return row
  }
  const webhook = async () => {
    const found = await findWebhook(db, webhookId)
    assert.ok(found)
    return found
  }

  const table: [string, HttpPostOutcome, { status: string; error: string | null }][] = [
    ['200', answered(200), { status: 'succeeded', error: null }],
    ['299', answered(299), { status: 'succeeded', error: null }],
    ['301', answered(301), { status: 'pending', error: 'redirect' }],
    ['410', answered(410), { status: 'pending', error: 'status' }],
    ['500', answered(500), { status: 'pending', error: 'status' }],
    ['no connection', REFUSED, { status: 'pending', error: 'connection_failed' }],
    [
      'a forbidden address',
      { kind: 'failed', error: 'forbidden_address', latencyMs: 1 },
      { status: 'pending', error: 'forbidden_address' },
    ],
  ]
  for (const [name, outcome, { status, error }] of table) {
    test(`${name}: the delivery is ${status}${error === null ? '' : `, with ${error}`}`, async () => {
      await happen()
      assert.equal(await attempt(outcome), 1)
      const row = await rowOf()
      const isOver = status !== 'pending'
      assert.deepEqual(
        [row.status, row.error, row.queue_state, row.next_attempt_at, row.attempts, row.leased_by],
        [status, error, isOver ? null : 'waiting', isOver ? null : START_MS + 30_000, 1, null],
      )
      const answer = outcome.kind === 'answered' ? outcome.status : null
      assert.deepEqual([row.response_status, row.latency_ms], [answer, outcome.latencyMs])
      assert.equal((await webhook()).failingSinceMs, isOver ? null : START_MS)
    })
  }

  test('one event for several webhooks is read once', async () => {
    const others = await Promise.all(Array.from({ length: 4 }, () => addWebhook(db, owner)))
    await happen()
    let [reads, posts] = [0, 0]
    const plain = webhookDeps(db, clock, () => {
      posts += 1
      return Promise.resolve(ANSWERED)
    })
    const deps: typeof plain = {
      ...plain,
      readEventTexts(events) {
        reads += 1
        return plain.readEventTexts(events)
      },
    }
    const queue = openWebhookQueue(deps, 'host job')
    const lanes = [webhookId, ...others].map((lane) => ({
      account: owner.accountId,
      lane,
      limit: 1,
    }))
    const groups = queue.group(await queue.lease(lanes))
    await Promise.all(groups.map((group) => queue.deliver(group, NEVER)))
    assert.deepEqual([reads, posts], [1, 5])
  })

  test('an event that could not be made into a request is tried again and blames no receiver', async () => {
    await happen()
    const other = webhookDeps(db, clock)
    const queue = openWebhookQueue(
      { ...other, sealer: { seal: other.sealer.seal, open: () => null } },
      'host job',
    )
    const group = await leaseGroup(queue, owner.accountId, webhookId)
    assert.equal(await queue.deliver(group, NEVER), 'returned')
    const { status, error } = await rowOf()
    assert.deepEqual([status, error], ['pending', 'internal_error'])
    assert.equal((await webhook()).failingSinceMs, null)
  })

  test('a URL that is no longer allowed gets no request', async () => {
    webhookId = await addWebhook(db, owner, { url: 'http://127.0.0.1/hook' })
    await runSql(database, `delete from webhooks where id != '${webhookId}'`)
    await happen()
    await attempt(() => assert.fail('posted'))
    assert.equal((await rowOf()).error, 'forbidden_address')
  })

  test('a delivery that is retried by hand keeps its outcome if the webhook is disabled before', async () => {
    await happen()
    await attempt(answered(200, 'taken'))
    const answeredRow = await rowOf()
    const { accountId } = owner
    const retry = { accountId, webhookId, deliveryId: answeredRow.id, queueMs: clock.steady() }
    assert.equal(await db.write(retryWebhookDelivery, retry), 'retried')
    await runSql(database, 'update webhooks set is_enabled = 0')
    clock.advance(MINUTE_MS)
    await attempt(() => assert.fail('posted'))
    const ended = { status: 'failed', error: 'webhook_disabled' }
    assert.deepEqual({ ...(await rowOf()) }, { ...answeredRow, ...ended })
  })

  test('the time of the last attempt is that of a real attempt, not of a lease', async () => {
    await happen()
    const queue = queueWith(ANSWERED)
    const lanes = [{ account: owner.accountId, lane: webhookId, limit: 1 }]
    const lastAttempt = async () => (await rowOf()).last_attempt_at
    await queue.return(await queue.lease(lanes))
    assert.equal(await lastAttempt(), null)
    await attempt(REFUSED)
    assert.equal(await lastAttempt(), START_MS)
    clock.advance(MINUTE_MS)
    await queue.readyDue()
    const held = await queue.lease(lanes)
    assert.equal(held.length, 1)
    assert.equal(await lastAttempt(), START_MS)
    await queue.return(held)
    assert.equal(await lastAttempt(), START_MS)
    // The time of its beginning, whenever it ends.
    await attempt(async () => {
      clock.advance(10_000)
      return ANSWERED
    })
    assert.equal(await lastAttempt(), START_MS + MINUTE_MS)
  })

  test('an interrupted answer is kept with the error, and its receiver counts as not answering', async () => {
    await happen()
    const stalled = { status: 200, body: 'half of' }
    const queue = queueWith({ kind: 'failed', error: 'timeout', answer: stalled, latencyMs: 9 })
    const group = await leaseGroup(queue, owner.accountId, webhookId)
    assert.equal(await queue.deliver(group, NEVER), 'unreached')
    const { status, error, response_status, response_body } = await rowOf()
    assert.deepEqual(
      [status, error, response_status, response_body],
      ['pending', 'timeout', 200, 'half of'],
    )
  })

  test('a delivery of a deleted event, message or webhook is removed', async () => {
    const gone = ['delete from events', 'delete from messages', 'delete from webhooks']
    for (const removal of gone) {
      await happen()
      await runSql(database, removal)
      await attempt(() => assert.fail('posted'))
      assert.deepEqual(await webhookDeliveriesOf(db, [webhookId]), [], removal)
    }
  })

  test('an outcome counts for its own account in scheduling, and changes nothing of another', async () => {
    await happen()
    const stranger = await addAccount(db)
    const seen: number[] = []
    const noting: Db = {
      ...db,
      async write(transaction, input, traceParent) {
        if (transaction.name === settleWebhookDelivery.name) {
          seen.push(measured.loadOf(owner.accountId).waiting)
          const before = await readAll(db)
          for (const error of ['status', 'webhook_disabled', null] as const) {
            const another = { accountId: stranger.accountId, error }
            const outcome = { ...(input as SettledWebhookDelivery), ...another }
            assert.equal(await db.write(settleWebhookDelivery, outcome), 'lost')
          }
          assert.deepEqual(await readAll(db), before)
        }
        return db.write(transaction, input, traceParent)
      },
    }
    const measured = measureWrites(noting, systemClock)
    const queue = openWebhookQueue(
      webhookDeps(measured.db, clock, () => Promise.resolve(ANSWERED)),
      'job',
    )
    const group = await leaseGroup(queue, owner.accountId, webhookId)
    await queue.deliver(group, NEVER)
    assert.deepEqual(seen, [1])
    assert.equal((await rowOf()).status, 'succeeded')
  })

  test('a delivery whose lease was lost is settled by its new worker', async () => {
    await happen()
    const slow = queueWith(ANSWERED, 'slow job')
    const group = await leaseGroup(slow, owner.accountId, webhookId)
    clock.advance(WEBHOOK_LEASE_MS + 1)
    const quick = queueWith(answered(500), 'quick job')
    await quick.readyDue()
    const taken = await leaseGroup(quick, owner.accountId, webhookId)
    assert.equal(await slow.deliver(group, NEVER), 'returned')
    await quick.deliver(taken, NEVER)
    const { status, attempts, response_status } = await rowOf()
    assert.deepEqual([status, attempts, response_status], ['pending', 2, 500])
  })

  test('a lease lost during the attempt leaves the outcome to the new worker', async () => {
    await happen()
    const quick = queueWith(answered(500), 'quick job')
    let isTaken = false
    const slow = queueWith(async () => {
      clock.advance(WEBHOOK_LEASE_MS + 1)
      await quick.readyDue()
      isTaken =
        (await quick.lease([{ account: owner.accountId, lane: webhookId, limit: 1 }])).length === 1
      return ANSWERED
    }, 'slow job')
    const group = await leaseGroup(slow, owner.accountId, webhookId)
    await slow.deliver(group, NEVER)
    assert.ok(isTaken)
    const { status, leased_by } = await rowOf()
    assert.deepEqual([status, leased_by], ['pending', 'quick job'])
  })

  test('an outcome counts after the end of the lease, while no other worker has the delivery', async () => {
    await happen()
    const other = queueWith(answered(500), 'other job')
    const slow = queueWith(async () => {
      clock.advance(WEBHOOK_LEASE_MS + 1)
      await other.readyDue()
      return ANSWERED
    }, 'slow job')
    const group = await leaseGroup(slow, owner.accountId, webhookId)
    await slow.deliver(group, NEVER)
    const { status, queue_state } = await rowOf()
    assert.deepEqual([status, queue_state], ['succeeded', null])
  })

  test('a late outcome does not settle an attempt that was requested since', async () => {
    await happen()
    const other = queueWith(answered(500), 'other job')
    const slow = queueWith(async () => {
      clock.advance(WEBHOOK_LEASE_MS + 1)
      await other.readyDue()
      const group = await leaseGroup(other, owner.accountId, webhookId)
      await other.deliver(group, NEVER)
      await runSql(database, `update webhook_deliveries set status = 'failed', queue_state = null`)
      const { accountId } = owner
      const retry = {
        accountId,
        webhookId,
        deliveryId: (await rowOf()).id,
        queueMs: clock.steady(),
      }
      assert.equal(await db.write(retryWebhookDelivery, retry), 'retried')
      return ANSWERED
    }, 'slow job')
    const group = await leaseGroup(slow, owner.accountId, webhookId)
    await slow.deliver(group, NEVER)
    const { status, queue_state, response_status } = await rowOf()
    assert.deepEqual([status, queue_state, response_status], ['pending', 'ready', 500])
  })

  test('an attempt cut by the end of the service leaves its delivery unchanged', async () => {
    await happen()
    const fresh = await rowOf()
    await attempt({ kind: 'failed', error: 'cut', latencyMs: 1 })
    assert.deepEqual(await rowOf(), fresh)
  })

  test('a start takes back the deliveries of its own instance', async () => {
    await happen(2)
    const lanes = [{ account: owner.accountId, lane: webhookId, limit: 1 }]
    await queueWith(ANSWERED, 'host-1 job').lease(lanes)
    await queueWith(ANSWERED, 'host-2 job').lease(lanes)
    await db.write(webhookQueue.release, { instance: 'host-1' })
    const rows = await webhookDeliveriesOf(db, [webhookId])
    assert.deepEqual(rows.map((row) => [row.queue_state, row.leased_by]).toSorted(), [
      ['leased', 'host-2 job'],
      ['ready', null],
    ])
  })

  const addTest = (fields: { accountId?: string; leaseMs?: number } = {}) =>
    db.write(addWebhookTest, {
      accountId: fields.accountId ?? owner.accountId,
      webhookId,
      eventId: makeId('evt'),
      deliveryId: makeId('dlv'),
      worker: 'test job',
      nowMs: clock.now(),
      queueMs: clock.steady(),
      leaseUntilMs: clock.steady() + (fields.leaseMs ?? WEBHOOK_LEASE_MS),
    })

  test('a test whose process died has failed, and is attempted again only by hand', async () => {
    const gone: [string, () => Promise<unknown>][] = [
      ['its lease ended', () => queueWith(ANSWERED).readyDue()],
      ['a start took it back', () => db.write(webhookQueue.release, { instance: null })],
    ]
    for (const [name, takeBack] of gone) {
      await runSql(database, 'delete from webhook_deliveries')
      await happen()
      await queueWith(ANSWERED, 'lost job').lease([
        { account: owner.accountId, lane: webhookId, limit: 1 },
      ])
      const held = await addTest({ leaseMs: WEBHOOK_LEASE_MS })
      assert.ok(held)
      clock.advance(WEBHOOK_LEASE_MS + 1)
      await takeBack()
      const rows = await webhookDeliveriesOf(db, [webhookId])
      assert.deepEqual(
        rows.map((row) => [row.event_kind, row.queue_state, row.status, row.error]),
        [
          ['message.received', 'ready', 'pending', null],
          ['webhook.test', null, 'failed', 'internal_error'],
        ],
        name,
      )
      // Nor does its outcome count that arrives even later.
      const late = webhookDeps(db, clock)
      await deliverWebhook(late, held, { worker: 'test job', signal: NEVER })
      assert.equal(await attempt(ANSWERED), 1, 'the other one')
      const { accountId } = owner
      const retry = { accountId, webhookId, deliveryId: held.id, queueMs: clock.steady() }
      assert.equal(await db.write(retryWebhookDelivery, retry), 'retried')
      await deliverWebhook(late, held, { worker: 'test job', signal: NEVER })
      assert.equal(await attempt(ANSWERED), 1)
      const [, test] = await webhookDeliveriesOf(db, [webhookId])
      assert.deepEqual([test?.status, test?.attempts], ['succeeded', 2])
    }
  })

  test('an interrupted test has failed, even one that was retried by hand', async () => {
    const cut: HttpPostOutcome = { kind: 'failed', error: 'cut', latencyMs: 1 }
    const held = await addTest()
    assert.ok(held)
    const deps = webhookDeps(db, clock, () => Promise.resolve(cut))
    await deliverWebhook(deps, held, { worker: 'test job', signal: NEVER })
    const outcome = async () => {
      const { status, error, queue_state } = await rowOf()
      return [status, error, queue_state]
    }
    assert.deepEqual(await outcome(), ['failed', 'internal_error', null])
    const { accountId } = owner
    const retry = { accountId, webhookId, deliveryId: held.id, queueMs: clock.steady() }
    await db.write(retryWebhookDelivery, retry)
    assert.equal(await attempt(cut), 1)
    assert.deepEqual(await outcome(), ['failed', 'internal_error', null])
    assert.equal(await attempt(ANSWERED), 0)
  })

  test('deliveries are listed newest first, to their account alone', async () => {
    await happen(3)
    await happen(2)
    const { accountId } = owner
    const rows = (await webhookDeliveriesOf(db, [webhookId])).toReversed()
    const page = await listWebhookDeliveries(db, { accountId, webhookId, limit: 2, offset: 1 })
    assert.deepEqual(
      [page.total, page.deliveries.map(({ id }) => id)],
      [5, rows.slice(1, 3).map(({ id }) => id)],
    )
    const foreign = { accountId: makeId('acc'), webhookId }
    const none = await listWebhookDeliveries(db, { ...foreign, limit: 2, offset: 0 })
    assert.deepEqual(none, { deliveries: [], total: 0 })
    const deliveryId = rows[0]?.id ?? ''
    assert.equal(
      (await findWebhookDelivery(db, { accountId, webhookId, deliveryId }))?.status,
      'pending',
    )
    assert.equal(await findWebhookDelivery(db, { ...foreign, deliveryId }), null)
  })

  test(`beyond ${COUNTED_MAX} deliveries a page is empty, and costs no more`, async () => {
    const { accountId } = owner
    const row = `'${accountId}', '${webhookId}', 'evt_x', 'message.received', 'failed', 1, 1`
    const numbers =
      engine === 'postgres'
        ? `generate_series(1, ${COUNTED_MAX + 500}) as numbers (n)`
        : `(with recursive numbers (n) as (values (1) union all select n + 1 from numbers
             where n < ${COUNTED_MAX + 500}) select n from numbers) as numbers`
    await runSql(
      database,
      `insert into webhook_deliveries
         (id, account_id, lane, event_id, event_kind, status, attempts, created_at)
       select 'dlv_' || (100000 + n), ${row} from ${numbers}`,
    )
    const list = (offset: number) =>
      listWebhookDeliveries(db, { accountId, webhookId, limit: 100, offset })
    const first = await list(0)
    assert.deepEqual([first.total, first.deliveries.length], [COUNTED_MAX, 100])
    assert.equal(first.deliveries[0]?.id, `dlv_${100_000 + COUNTED_MAX + 500}`)
    const last = await list(COUNTED_MAX - 1)
    assert.deepEqual(
      last.deliveries.map(({ id }) => id),
      ['dlv_100501'],
    )
    for (const offset of [COUNTED_MAX, 999_000, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(await list(offset), { deliveries: [], total: COUNTED_MAX })
    }
  })

  test('deliveries are removed with their webhook, with their inbox, and after thirty days', async () => {
    const count = PURGE_STEP_ROWS + 1
    const purges = [
      () => db.write(purgeWebhookStep, { webhookId }),
      () => db.write(purgeInboxStep, { nowMs: 0, inboxId }),
      () => db.write(purgeExpiredStep, { nowMs: clock.now() + 30 * DAY_MS }),
    ]
    for (const purge of purges) {
      await happen(count)
      let steps = 1
      while (!(await purge()).isDone) steps += 1
      assert.ok(steps > 1)
      assert.deepEqual(await webhookDeliveriesOf(db, [webhookId]), [], `${purge}`)
    }
  })
})

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
    await runSql(database, 'truncate webhook_deliveries cascade')
    // In the order of insertion, the higher id comes first.
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
      'the return of deliveries',
      () => database.db.write(webhookQueue.return, { worker: 'a worker', ids }),
    ],
    ['their removal', () => database.db.write(dropWebhookDeliveries, { ids })],
    ['the purge of a webhook', () => database.db.write(purgeWebhookStep, { webhookId: 'whk_1' })],
  ]
  for (const [name, write] of writes) {
    test(`${name} locks several deliveries in the order of their ids`, async () => {
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

  test('the removal of old deliveries skips one that is in use', async () => {
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
