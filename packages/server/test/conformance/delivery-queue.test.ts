import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import pg from 'pg'
import type { Carrier } from '#delivery/carrier.ts'
import { type DeliveryQueue, openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { deliveryQueue } from '#outbound/deliveries/store/leases.ts'
import { settleDeliveries } from '#outbound/deliveries/store/settle.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { openSqliteConnection, queriesOn } from '#platform/db/sqlite-connection.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import type { Head } from '#queue/dispatched-queue.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import type { Db, Tables, Tx } from '#store/tables.ts'
import {
  ACCEPTED,
  deliverDeps,
  deliveriesOf,
  leaseGroup,
  openFarEnd,
  type StillClock,
  stillClock,
  UNSENT,
} from '#test/conformance/delivering.ts'
import { addAccount, addInbox, makeId, openDatabase } from '#test/conformance/open-database.ts'
import { copyDelivery, queueAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const START_MS = Date.UTC(2026, 10, 20, 12)
const NEVER = AbortSignal.any([])

onBothEngines('the queue of deliveries', (engine) => {
  const database = opened(() => openDatabase(engine))
  let inboxId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  const owner = prepared(() => addAccount(db))
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    inboxId = await addInbox(db, owner)
    clock = stillClock(START_MS)
  })

  const openQueue = (worker: string, carrier: Carrier | null = null, on = db): DeliveryQueue =>
    openDeliveryQueue(deliverDeps(on, clock, carrier), worker)
  const send = async (...recipients: string[]) => {
    const input = sending(owner, inboxId, { recipients, nowMs: clock.now() })
    const [messageId] = await queueAll(db, [input])
    return messageId ?? ''
  }
  const lease = (worker: string, lane: string, limit = 100, on = db) =>
    on.write(deliveryQueue.lease, {
      worker,
      heads: [{ account: owner.accountId, lane, limit }],
      nowMs: clock.now(),
      leaseUntilMs: clock.steady() + DELIVERY_LEASE_MS,
    })
  const rowOf = async (messageId: string) => {
    const [row] = await deliveriesOf(db, [messageId])
    assert.ok(row)
    return row
  }
  const stateOf = async (messageId: string) => (await rowOf(messageId)).queue_state
  const defer = async (messageId: string, nextAttemptAtMs: number) => {
    const [held] = await lease('deferring', 'far.example')
    assert.equal(held?.message_id, messageId)
    await db.write(settleDeliveries, {
      worker: 'deferring',
      accountId: owner.accountId,
      messageId,
      deliveries: [
        {
          id: held.id,
          status: 'deferred',
          next_attempt_at: nextAttemptAtMs,
          ambiguous_attempts: 0,
          host: null,
          tls: null,
          response_code: 451,
          enhanced_code: null,
          response: 'Later',
          suppression: null,
          complaintEventId: null,
        },
      ],
      captured: null,
      eventId: makeId('evt'),
      nowMs: clock.now(),
    })
  }

  test('the longest due deliveries of each lane come first, up to the limit of the lane', async () => {
    const ids: string[] = []
    for (const recipient of ['1@a.example', '2@a.example', '1@b.example', '3@a.example']) {
      clock.advance(recipient.startsWith('2') ? -10 : 10)
      ids.push(await send(recipient))
    }
    const account = owner.accountId
    const held = await db.write(deliveryQueue.lease, {
      worker: 'worker',
      heads: [
        { account, lane: 'b.example', limit: 5 },
        { account, lane: 'a.example', limit: 2 },
        { account, lane: 'c.example', limit: 5 },
      ],
      nowMs: clock.now(),
      leaseUntilMs: clock.steady() + DELIVERY_LEASE_MS,
    })
    assert.deepEqual(
      held.map(({ recipient, attempts }) => [recipient, attempts]),
      [
        ['1@b.example', 1],
        ['2@a.example', 1],
        ['1@a.example', 1],
      ],
    )
    const { attempts, last_attempt_at, leased_by, lease_until } = await rowOf(ids[0] ?? '')
    assert.deepEqual(
      [attempts, last_attempt_at, leased_by, lease_until],
      [1, clock.now(), 'worker', clock.now() + DELIVERY_LEASE_MS],
    )
    assert.equal(await stateOf(ids[3] ?? ''), 'ready')
  })

  const plain = (heads: Head[]) => heads.map((head) => ({ ...head }))

  test('each lane is listed once, in the order of bytes, after any name', async () => {
    const lanes = ['b.example', 'Z.example', 'a-b.example', 'a.example', 'xn--bcher-kva.example']
    for (const lane of lanes) await send(`1@${lane}`, `2@${lane}`)
    await runSql(database, `update deliveries set lane = 'Z.example' where lane = 'z.example'`)
    const sorted = lanes.toSorted()
    const account = owner.accountId
    for (let start = 0; start < sorted.length; start++) {
      const page = { account, lane: sorted[start - 1] ?? '', lanesEach: 9, limit: 2 }
      const expected = sorted.slice(start, start + 2).map((lane) => ({ account, lane }))
      assert.deepEqual(plain(await deliveryQueue.listHeads(db, page)), expected)
    }
    await lease('worker', 'b.example')
    const page = { after: { account, lane: 'a.example' }, lanesEach: 9, limit: 9 }
    const left = sorted.slice(-1).map((lane) => ({ account, lane }))
    assert.deepEqual(plain(await openQueue('worker').listHeads(page)), left)
  })

  test('workers that lease at the same moment never hold the same delivery', async () => {
    const id = await send('1@far.example')
    for (const lane of ['a', 'b']) await copyDelivery(database, id, 101, `'${lane}'`)
    const lanes = ['a', 'b'].map((lane) => ({ account: owner.accountId, lane, limit: 4 }))
    const seen: string[] = []
    await Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        const queue = openQueue(`worker ${worker}`, null, worker % 2 === 0 ? db : others)
        for (;;) {
          const held = await queue.lease(lanes)
          if (held.length === 0) break
          seen.push(...held.map(({ id }) => id))
        }
      }),
    )
    // Workers that skipped rows locked by others may have left the last ones.
    for (const lane of lanes) seen.push(...(await lease('last', lane.lane)).map(({ id }) => id))
    assert.equal(seen.length, 200)
    assert.equal(new Set(seen).size, 200)
  })

  if (engine === 'postgres') {
    test('a row locked by another transaction is skipped without a wait', async () => {
      const [locked, free] = [await send('1@far.example'), await send('2@far.example')]
      const client = new pg.Client({ connectionString: database.place })
      await client.connect()
      try {
        await client.query('begin')
        await client.query('select from deliveries where message_id = $1 for update', [locked])
        const held = await lease('worker', 'far.example')
        assert.deepEqual(
          held.map(({ message_id }) => message_id),
          [free],
        )
      } finally {
        await client.end()
      }
    })
  }

  test('a renewed lease lasts, a lease that is not renewed ends, and the delivery is aborted', async () => {
    const id = await send('1@far.example')
    const queue = openQueue('worker')
    const other = openQueue('other', null, others)
    await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    for (let step = 0; step < 5; step++) {
      clock.advance(DELIVERY_LEASE_MS / 2)
      await queue.renew()
      await other.readyDue()
      assert.equal(await stateOf(id), 'leased')
    }
    clock.advance(DELIVERY_LEASE_MS - 1)
    await other.readyDue()
    assert.equal(await stateOf(id), 'leased')
    clock.advance(1)
    await other.readyDue()
    const { queue_state, leased_by, lease_until, attempts, status, response } = await rowOf(id)
    assert.deepEqual([queue_state, leased_by, lease_until, attempts], ['ready', null, null, 1])
    assert.equal(status, 'queued')
    assert.match(response ?? '', /stopped during an attempt/)
    await queue.renew()
    assert.equal(await stateOf(id), 'ready')
    const [again] = await other.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    assert.equal(again?.attempts, 2)
  })

  test('a delivery that its worker forgot is not renewed and returns, while the worker runs', async () => {
    const lost = await send('1@far.example')
    await lease('worker', 'far.example')
    const kept = await send('2@far.example')
    const queue = openQueue('worker')
    await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    for (let step = 0; step < 3; step++) {
      clock.advance(DELIVERY_LEASE_MS / 3)
      await queue.renew()
    }
    await queue.readyDue()
    assert.deepEqual([await stateOf(lost), await stateOf(kept)], ['ready', 'leased'])
  })

  test('an outcome that cannot be recorded does not keep its delivery for ever', async () => {
    const id = await send('1@far.example')
    const broken: Db = {
      ...db,
      read: db.read,
      write: (transaction, input) =>
        transaction.name === settleDeliveries.name
          ? Promise.reject(new Error('cannot be written'))
          : db.write(transaction, input),
    }
    const queue = openQueue(
      'worker',
      openFarEnd(() => ACCEPTED),
      broken,
    )
    const group = await leaseGroup(queue, owner.accountId, 'far.example')
    await assert.rejects(queue.deliver(group, NEVER), /cannot be written/)
    for (let step = 0; step < 3; step++) {
      clock.advance(DELIVERY_LEASE_MS / 3)
      await queue.renew()
    }
    await queue.readyDue()
    assert.equal(await stateOf(id), 'ready')
  })

  for (const [what, stepMs] of [
    ['forward', 3 * DAY_MS],
    ['back', -3 * DAY_MS],
  ] as const) {
    test(`a clock set ${what} three days takes no delivery from the worker that holds it`, async () => {
      const id = await send('1@far.example')
      const queue = openQueue('worker')
      await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
      clock.step(stepMs)
      await queue.readyDue()
      assert.equal(await stateOf(id), 'leased')
      assert.equal((await rowOf(id)).lease_until, clock.steady() + DELIVERY_LEASE_MS)
    })

    test(`a clock set ${what} three days neither ends the lease of another process nor extends it`, async () => {
      const id = await send('1@far.example')
      await lease('dead', 'far.example')
      clock.step(stepMs)
      const queue = openQueue('next')
      await queue.readyDue()
      assert.equal(await stateOf(id), 'leased')
      clock.advance(DELIVERY_LEASE_MS)
      await queue.readyDue()
      assert.equal(await stateOf(id), 'ready')
    })

    test(`a clock set ${what} three days neither advances nor delays waiting deliveries`, async () => {
      const id = await send('1@far.example')
      const queue = openQueue(
        'worker',
        openFarEnd(() => UNSENT),
      )
      const group = await leaseGroup(queue, owner.accountId, 'far.example')
      await queue.deliver(group, NEVER)
      clock.step(stepMs)
      clock.advance(MINUTE_MS - 1)
      await queue.readyDue()
      assert.equal(await stateOf(id), 'waiting')
      clock.advance(1)
      await queue.readyDue()
      assert.equal(await stateOf(id), 'ready')
    })
  }

  test('a pause longer than the lease does not make one process send twice', async () => {
    const id = await send('1@far.example')
    const queue = openQueue('worker')
    await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    clock.advance(10 * DELIVERY_LEASE_MS)
    await queue.readyDue()
    assert.equal(await stateOf(id), 'leased')
  })

  test('a start takes back the deliveries of the process before it', async () => {
    const [leased, over] = [await send('1@far.example'), await send('1@other.example')]
    await lease('dead', 'far.example')
    await db.write(deliveryQueue.release, { instance: null })
    const row = await rowOf(leased)
    assert.deepEqual([row.queue_state, row.leased_by, row.attempts], ['ready', null, 1])
    assert.match(row.response ?? '', /stopped during an attempt/)
    assert.equal((await rowOf(over)).response, null)
  })

  test('a start takes back the deliveries of its own instance only', async () => {
    const workers = [
      'host-1 job',
      'host-10 job',
      'host job',
      'host-1',
      'host-1-2 job',
      'host-1 xyz',
    ]
    const ids: string[] = []
    for (const worker of workers) {
      ids.push(await send('1@far.example'))
      await lease(worker, 'far.example')
    }
    await db.write(deliveryQueue.release, { instance: 'host-1' })
    const states = await Promise.all(ids.map(stateOf))
    assert.deepEqual(
      workers.filter((_, index) => states[index] === 'ready'),
      ['host-1 job', 'host-1 xyz'],
    )
  })

  test('a returned delivery is as it was before the lease, even after an attempt', async () => {
    const id = await send('1@far.example')
    const queue = openQueue(
      'worker',
      openFarEnd(() => UNSENT),
    )
    const lanes = [{ account: owner.accountId, lane: 'far.example', limit: 1 }]
    const fresh = await rowOf(id)
    clock.advance(5)
    await queue.return(await queue.lease(lanes))
    assert.deepEqual(await rowOf(id), fresh)
    const [group] = queue.group(await queue.lease(lanes))
    assert.ok(group)
    await queue.deliver(group, NEVER)
    clock.advance(MINUTE_MS)
    await queue.readyDue()
    await queue.return(await queue.lease(lanes))
    const { attempts, queue_state, status, response } = await rowOf(id)
    assert.deepEqual(
      [attempts, queue_state, status, response],
      [1, 'ready', 'deferred', 'Connection refused'],
    )
  })

  test('a worker renews and returns only deliveries that it holds', async () => {
    const id = await send('1@far.example')
    const queue = openQueue('slow')
    const held = await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    clock.advance(DELIVERY_LEASE_MS)
    await openQueue('other').readyDue()
    await lease('quick', 'far.example')
    const { lease_until: before } = await rowOf(id)
    clock.advance(1)
    await queue.renew()
    await queue.return(held)
    const { leased_by, attempts, lease_until } = await rowOf(id)
    assert.deepEqual([leased_by, attempts, lease_until], ['quick', 2, before])
  })

  test('a time beyond every backoff comes from a wrong clock and is corrected', async () => {
    const [far, near] = [8 * 60 * MINUTE_MS + CLOCK_SKEW_MS, 8 * 60 * MINUTE_MS]
    for (const [aheadMs, state] of [
      [far + 1, 'ready'],
      [far, 'waiting'],
      [near, 'waiting'],
    ] as const) {
      await runSql(database, 'delete from deliveries')
      const id = await send('1@far.example')
      await defer(id, START_MS + aheadMs)
      await openQueue('worker').readyDue()
      assert.equal(await stateOf(id), state, `${aheadMs} ms ahead`)
    }
  })

  test('one scan makes more than a step of due deliveries ready', async () => {
    const count = 2_500
    const id = await send('1@far.example')
    await defer(id, START_MS + 1)
    await copyDelivery(database, id, count, `'far.example'`)
    clock.advance(1)
    await openQueue('worker').readyDue()
    const ready = await runSql(database, `select id from deliveries where queue_state = 'ready'`)
    assert.equal(ready.length, count)
  })

  if (engine === 'sqlite') {
    test('every scan of the queue uses the index of its state', async () => {
      const connection = openSqliteConnection({ path: database.place, mode: 'write' })
      const prepare = connection.raw.prepare.bind(connection.raw)
      const texts = new Set<string>()
      connection.raw.prepare = (text) => {
        texts.add(text)
        return prepare(text)
      }
      const queries = queriesOn<Tables>(connection)
      const tx: Tx = { engine: 'sqlite', ...queries }
      const reading = { read: queries.query, reading: tx }
      const due = { queueMs: 1, backoffMaxMs: 1, leaseMs: 1 }
      await send('1@far.example')
      try {
        await deliveryQueue.listHeads(reading, { account: '', lane: '', lanesEach: 1, limit: 1 })
        const heads = [{ account: 'none', lane: 'none.example', limit: 1 }]
        await deliveryQueue.lease.run(tx, { worker: 'worker', heads, nowMs: 1, leaseUntilMs: 1 })
        await deliveryQueue.hasDue(reading, due)
        await deliveryQueue.readyDue.run(tx, due)
        await deliveryQueue.release.run(tx, { instance: null })
        const states: string[] = []
        for (const text of texts) {
          const [, state] = /queue_state"? (?:=|>=) '(\w+)'/.exec(text) ?? []
          if (state === undefined) continue
          states.push(state)
          const rows = prepare(`explain query plan ${text}`).all()
          const plan = rows.map(({ detail }) => detail).join('; ')
          assert.match(plan, new RegExp(`INDEX deliveries_${state}`), text)
          // A start reads an index from end to end.
          const isWhole = /where "queue_state" = '\w+'$/.test(text)
          if (!isWhole) assert.doesNotMatch(plan, /SCAN deliveries/, text)
        }
        assert.deepEqual(new Set(states), new Set(['ready', 'waiting', 'leased']))
        assert.ok(states.length >= 7)
      } finally {
        connection.close()
      }
    })
  }
})
