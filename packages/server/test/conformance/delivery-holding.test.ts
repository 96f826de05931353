import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CarryOutcome } from '#delivery/carrier.ts'
import { type DeliveryQueue, openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { deliveryQueue } from '#outbound/deliveries/store/leases.ts'
import { DELIVERY_MS_MAX } from '#outbound/send/sender.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import type { GroupOutcome } from '#queue/dispatched-queue.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import { BACKOFF_MS_MAX } from '#queue/retry-schedules.ts'
import type { Db } from '#store/tables.ts'
import {
  ACCEPTED,
  AMBIGUOUS,
  deliverDeps,
  deliveriesOf,
  type FarEnd,
  leaseReady,
  openFarEnd,
  refused,
  type StillClock,
  stillClock,
} from '#test/conformance/delivering.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const START_MS = Date.UTC(2026, 10, 20, 12)
const NEVER = AbortSignal.any([])

onEachEngine('the lease of a delivery', (engine) => {
  const database = opened(() => openDatabase(engine))
  let inboxId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    inboxId = await addInbox(db, owner)
    clock = stillClock(START_MS)
  })

  const ofFar = () => [{ account: owner.accountId, lane: 'far.example', limit: 100 }]
  const send = async (...recipients: string[]) => {
    const input = sending(owner, inboxId, { recipients, nowMs: clock.now() })
    const [messageId] = await queueAll(db, [input])
    return messageId ?? ''
  }
  const openQueue = (worker: string, farEnd: FarEnd): DeliveryQueue =>
    openDeliveryQueue(deliverDeps(db, clock, farEnd), worker)
  const answering = (...outcomes: CarryOutcome[]) => {
    let next = 0
    return openFarEnd(() => outcomes[Math.min(next++, outcomes.length - 1)] ?? ACCEPTED)
  }
  const deliverAll = async (queue: DeliveryQueue, signal = NEVER): Promise<GroupOutcome[]> => {
    const groups = queue.group(await queue.lease(ofFar()))
    return Promise.all(groups.map((group) => queue.deliver(group, signal)))
  }
  const only = async (messageId: string) => {
    const [row] = await deliveriesOf(db, [messageId])
    assert.ok(row)
    return row
  }

  test('a delivery leased by another worker is not sent by the former one', async () => {
    await send('bob@far.example')
    const [first, second] = [answering(ACCEPTED), answering(ACCEPTED)]
    const slow = openQueue('slow', first)
    const [group] = slow.group(await slow.lease(ofFar()))
    assert.ok(group)
    clock.advance(DELIVERY_LEASE_MS)
    const quick = openQueue('quick', second)
    await quick.readyDue()
    assert.deepEqual(await deliverAll(quick), ['reached'])
    assert.equal(await slow.deliver(group, NEVER), 'returned')
    assert.deepEqual([first.seen.length, second.seen.length], [0, 1])
  })

  test('a lease that is about to end is renewed before anything is sent under it', async () => {
    const id = await send('bob@far.example')
    const farEnd = openFarEnd(async () => {
      assert.ok(Number((await only(id)).lease_until) >= clock.steady() + DELIVERY_LEASE_MS)
      return ACCEPTED
    })
    const queue = openQueue('worker', farEnd)
    const [group] = queue.group(await queue.lease(ofFar()))
    assert.ok(group)
    clock.advance(DELIVERY_LEASE_MS - 1)
    assert.equal(await queue.deliver(group, NEVER), 'reached')
  })

  test('an outcome counts after the end of the lease, while no other worker has the delivery', async () => {
    const id = await send('bob@far.example')
    const other = openQueue('other', answering(ACCEPTED))
    const farEnd = openFarEnd(async () => {
      clock.advance(DELIVERY_LEASE_MS)
      await other.readyDue()
      return ACCEPTED
    })
    assert.deepEqual(await deliverAll(openQueue('worker', farEnd)), ['reached'])
    assert.deepEqual([(await only(id)).status, (await only(id)).queue_state], ['accepted', null])
    assert.deepEqual(await other.lease(ofFar()), [])
  })

  test('an error of the service is no outcome: the attempt is repeated on schedule, up to a limit', async () => {
    const id = await send('bob@far.example')
    const farEnd = openFarEnd(() => Promise.reject(new Error('a fault')))
    const queue = openQueue('worker', farEnd)
    assert.deepEqual(await deliverAll(queue), ['unreached'])
    const row = await only(id)
    assert.deepEqual([row.status, row.attempts], ['deferred', 1])
    assert.equal(row.next_attempt_at, clock.steady() + MINUTE_MS)
    for (let waits = 0; waits < 20; waits++) {
      clock.advance(BACKOFF_MS_MAX)
      await queue.readyDue()
      await deliverAll(queue)
    }
    assert.equal((await only(id)).status, 'failed')
  })

  test('a delivery delayed for days beyond its time fails without an attempt', async () => {
    const id = await send('bob@far.example')
    clock.advance(DELIVERY_MS_MAX + DAY_MS)
    const farEnd = answering(ACCEPTED)
    await deliverAll(openQueue('worker', farEnd))
    assert.equal(farEnd.seen.length, 0)
    const { status, response } = await only(id)
    assert.equal(status, 'failed')
    assert.match(response ?? '', /48 hours/)
  })

  test('a connection that ends without a reply at the last attempt leaves the recipient unknown, not failed', async () => {
    const id = await send('bob@far.example')
    clock.advance(DELIVERY_MS_MAX)
    assert.deepEqual(await deliverAll(openQueue('worker', answering(AMBIGUOUS))), ['unreached'])
    assert.equal((await only(id)).status, 'unknown')
  })

  test('a connection that we closed without a reply is not counted', async () => {
    const id = await send('bob@far.example')
    await runSql(database, 'update deliveries set ambiguous_attempts = 2')
    const ending = new AbortController()
    const farEnd = openFarEnd(() => {
      ending.abort()
      return AMBIGUOUS
    })
    await deliverAll(openQueue('worker', farEnd), ending.signal)
    const row = await only(id)
    assert.deepEqual([row.status, row.ambiguous_attempts, row.attempts], ['deferred', 2, 1])
  })

  test('mail to a destination without free slots returns to the queue uncounted', async () => {
    const id = await send('bob@far.example')
    const crowded = answering({ kind: 'crowded', text: 'Enough connections' }, ACCEPTED)
    const queue = openQueue('worker', crowded)
    assert.deepEqual(await deliverAll(queue), ['crowded'])
    const row = await only(id)
    assert.deepEqual([row.queue_state, row.attempts, row.status], ['ready', 0, 'queued'])
    assert.deepEqual(await deliverAll(queue), ['reached'])
  })

  test('a delivery returned in a commit whose answer was lost is not taken from its next attempt', async () => {
    const id = await send('bob@far.example')
    const farEnd = answering({ kind: 'crowded', text: 'Enough connections' }, ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps(losingAnswer(db), clock, farEnd), 'worker')
    const [first] = queue.group(await queue.lease(ofFar()))
    assert.ok(first)
    const returning = queue.deliver(first, NEVER)
    while ((await only(id)).queue_state !== 'ready') await sleep(5)
    const [second] = queue.group(await queue.lease(ofFar()))
    assert.ok(second)
    // The second return is of this lease, whose attempt has not begun.
    const outcomes = await Promise.all([returning, queue.deliver(second, NEVER)])
    assert.deepEqual(outcomes, ['crowded', 'returned'])
    assert.deepEqual(await deliverAll(queue), ['reached'])
    assert.equal(farEnd.seen.length, 2)
    const row = await only(id)
    assert.deepEqual([row.status, row.attempts], ['accepted', 1])
  })

  // SQLite has only one process.
  if (engine === 'sqlite') return
  test('processes whose own clocks differ by days follow one schedule', async () => {
    const clocks = [0, 3 * DAY_MS].map((aheadMs) => {
      const own = stillClock(START_MS + aheadMs)
      return { own, queue: openQueueClock({ db, clock: own }) }
    })
    const [first, second] = await Promise.all(clocks.map(({ queue }) => queue))
    assert.ok(first && second)
    assert.ok(Math.abs(first.now() - second.now()) < MINUTE_MS)
    const before = first.now()
    clocks[0]?.own.step(3 * DAY_MS)
    await first.check()
    assert.equal(first.now(), before)
  })
})

/** The connection breaks after the first return is committed, before the worker knows. */
function losingAnswer(db: Db): Db {
  let isLost = false
  const write: Db['write'] = async (transaction, input) => {
    const told = await db.write(transaction, input)
    if (isLost || transaction.name !== deliveryQueue.return.name) return told
    isLost = true
    throw new StorageError('unavailable', 'Connection terminated unexpectedly')
  }
  return { ...db, write }
}

onEachEngine('the reverse-path of an attempt', (engine) => {
  const database = opened(() => openDatabase(engine))
  let clock: StillClock
  const db = prepared(() => database.db)
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    clock = stillClock(Date.UTC(2026, 10, 20, 12))
  })

  /** In one lane, as with a relay. */
  const send = async (recipients: string[], pathOf: (recipient: string) => string) => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const input = sending(owner, inboxId, { recipients, nowMs: clock.now() })
    const deliveries = input.deliveries.map((delivery) => ({
      ...delivery,
      lane: 'relay',
      return_path: pathOf(delivery.recipient),
    }))
    await queueAll(db, [{ ...input, deliveries }])
  }
  const attempt = async (farEnd: FarEnd) => {
    const deps = { ...deliverDeps(db, clock, farEnd), laneOf: () => 'relay' }
    const queue = openDeliveryQueue(deps, 'worker')
    await queue.readyDue()
    const held = await leaseReady(queue)
    const never = AbortSignal.any([])
    await Promise.all(queue.group(held).map((group) => queue.deliver(group, never)))
    const envelopes = farEnd.seen.map(({ reversePath, recipients }) => [reversePath, ...recipients])
    return envelopes.toSorted()
  }

  test('is that of its first recipient, for all at one domain and none at another', async () => {
    const recipients = ['a@far.example', 'b@other.example', 'c@FAR.example']
    await send(recipients, (recipient) => `b+${recipient[0]}@mailroom.localhost`)
    assert.deepEqual(await attempt(openFarEnd(() => ACCEPTED)), [
      ['b+a@mailroom.localhost', 'a@far.example', 'c@FAR.example'],
      ['b+b@mailroom.localhost', 'b@other.example'],
    ])
  })

  test('is another recipient’s once the first is settled', async () => {
    await send(['a@far.example', 'b@far.example'], (recipient) => `b+${recipient[0]}@x.example`)
    const grey = (recipient: string) =>
      recipient.startsWith('b') ? refused('rcpt', '451 Later') : ACCEPTED
    assert.deepEqual(await attempt(openFarEnd(grey)), [
      ['b+a@x.example', 'a@far.example', 'b@far.example'],
    ])
    clock.advance(MINUTE_MS)
    assert.deepEqual(await attempt(openFarEnd(() => ACCEPTED)), [
      ['b+b@x.example', 'b@far.example'],
    ])
  })
})
