import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { CarryOutcome } from '#delivery/carrier.ts'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import type { SettleInput } from '#outbound/deliveries/store/settle.ts'
import { FAILURE_REASON_LENGTH_MAX, settleDeliveries } from '#outbound/deliveries/store/settle.ts'
import { systemClock } from '#platform/clock.ts'
import { measureWrites } from '#platform/db/paced-db.ts'
import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import type { Db } from '#store/tables.ts'
import {
  ACCEPTED,
  AMBIGUOUS,
  deliverDeps,
  deliveriesOf,
  leaseGroup,
  leaseReady,
  openFarEnd,
  refused,
  type StillClock,
  stillClock,
  UNSENT,
} from '#test/conformance/delivering.ts'
import { addAccount, addInbox, type Owner, openDatabase } from '#test/conformance/open-database.ts'
import { queueAll, readAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const START_MS = Date.UTC(2026, 10, 20, 12)
const NEVER = AbortSignal.any([])

onBothEngines('outcomes of deliveries', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  let inboxId: string
  let clock: StillClock
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    owner = await addAccount(db)
    inboxId = await addInbox(db, owner)
    clock = stillClock(START_MS)
  })

  type Answer = CarryOutcome | ((recipient: string) => CarryOutcome)
  const queueWith = (answer: Answer, { worker = 'worker', on = db } = {}) => {
    const farEnd = openFarEnd((recipient) =>
      typeof answer === 'function' ? answer(recipient) : answer,
    )
    return openDeliveryQueue(deliverDeps(on, clock, farEnd), worker)
  }
  const send = async (...recipients: string[]) => {
    const input = sending(owner, inboxId, { recipients, nowMs: clock.now() })
    const [messageId] = await queueAll(db, [input])
    return messageId ?? ''
  }
  /** Attempts all due deliveries, once. */
  const attempt = async (answer: Answer, worker = 'worker') => {
    const queue = queueWith(answer, { worker })
    await queue.readyDue()
    const groups = queue.group(await leaseReady(queue))
    await Promise.all(groups.map((group) => queue.deliver(group, NEVER)))
    return groups.length
  }
  const messageOf = (id: string) =>
    db.read
      .selectFrom('messages')
      .select(['status', 'failure_reason'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const eventsOf = async (id: string) => {
    const rows = await db.read
      .selectFrom('events')
      .selectAll()
      .where('message_id', '=', id)
      .orderBy('sequence')
      .execute()
    return rows.map((row) => row.kind)
  }
  const suppressionsOf = async () => {
    const rows = await db.read
      .selectFrom('suppressions')
      .select(['address', 'type', 'reason'])
      .where('account_id', '=', owner.accountId)
      .orderBy('id')
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  test('a message is pending until its last recipient is settled, then one event reports it', async () => {
    const id = await send('good@a.example', 'bad@b.example', 'slow@c.example')
    const first = (recipient: string) => {
      if (recipient.startsWith('good')) return ACCEPTED
      return recipient.startsWith('bad') ? refused('rcpt', '550 5.7.1 Go away') : UNSENT
    }
    await attempt(first)
    const reason = 'bad@b.example: 550 5.7.1 Go away'
    assert.deepEqual({ ...(await messageOf(id)) }, { status: 'pending', failure_reason: reason })
    assert.deepEqual(await eventsOf(id), [])
    clock.advance(MINUTE_MS)
    assert.equal(await attempt(ACCEPTED), 1)
    assert.deepEqual({ ...(await messageOf(id)) }, { status: 'sent', failure_reason: reason })
    assert.deepEqual(await eventsOf(id), ['message.sent'])
    const [good] = await deliveriesOf(db, [id])
    assert.deepEqual([good?.host, good?.tls, good?.attempts], ['mx.a.example', 'TLSv1.3', 1])
  })

  test('all recipients of a message at one destination are sent together', async () => {
    const recipients = Array.from({ length: 41 }, (_, index) => `${index}@far.example`)
    await send(...recipients)
    const farEnd = openFarEnd(() => ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps(db, clock, farEnd), 'worker')
    const held = await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 10 }])
    await Promise.all(queue.group(held).map((group) => queue.deliver(group, NEVER)))
    assert.deepEqual(
      farEnd.seen.map((consignment) => consignment.recipients),
      [recipients],
    )
  })

  test('two workers that settle the last recipients at once leave no message pending', async () => {
    const ids: string[] = []
    for (let index = 0; index < 25; index++) ids.push(await send('a@one.example', 'b@two.example'))
    const one = queueWith(ACCEPTED, { worker: 'one' })
    const dead = queueWith(refused('rcpt', '550 5.1.1 No'), { worker: 'two', on: others })
    const [ours, theirs] = await Promise.all([
      one.lease([{ account: owner.accountId, lane: 'one.example', limit: 100 }]),
      dead.lease([{ account: owner.accountId, lane: 'two.example', limit: 100 }]),
    ])
    assert.deepEqual([ours.length, theirs.length], [25, 25])
    await Promise.all([
      ...one.group(ours).map((group) => one.deliver(group, NEVER)),
      ...dead.group(theirs).map((group) => dead.deliver(group, NEVER)),
    ])
    for (const id of ids) {
      const { status, failure_reason } = await messageOf(id)
      assert.equal(status, 'sent')
      assert.match(failure_reason ?? '', /^b@two\.example: 550/)
      assert.deepEqual(await eventsOf(id), ['message.sent'])
    }
  })

  test('workers that suppress the same addresses in any order do not deadlock', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `${name}@far.example`)
    for (let index = 0; index < 20; index++) {
      await send(...names.slice(index % 4), ...names.slice(0, index % 4))
    }
    const dead = refused('rcpt', '550 5.1.1 No')
    const startMs = performance.now()
    await Promise.all(
      [db, others].map(async (on, index) => {
        const queue = queueWith(dead, { worker: `worker ${index}`, on })
        const held = await queue.lease([
          { account: owner.accountId, lane: 'far.example', limit: 40 },
        ])
        await Promise.all(queue.group(held).map((group) => queue.deliver(group, NEVER)))
      }),
    )
    assert.equal((await suppressionsOf()).length, 4)
    const { suppression_count: count } = await db.read
      .selectFrom('account_counters')
      .selectAll()
      .where('account_id', '=', owner.accountId)
      .executeTakeFirstOrThrow()
    assert.equal(count, 4)
    // PostgreSQL needs a second to detect a deadlock.
    assert.ok(performance.now() - startMs < 20_000)
  })

  test('three attempts that end without a reply make a recipient unknown, whatever came between', async () => {
    const id = await send('bob@far.example')
    const outcomes = [AMBIGUOUS, UNSENT, AMBIGUOUS, refused('rcpt', '451 Later'), AMBIGUOUS]
    for (const [index, outcome] of outcomes.entries()) {
      assert.equal((await messageOf(id)).status, 'pending')
      assert.equal(await attempt(outcome), 1, `attempt ${index + 1}`)
      clock.advance(8 * HOUR_MS)
    }
    const [row] = await deliveriesOf(db, [id])
    assert.deepEqual(
      [row?.status, row?.queue_state, row?.attempts, row?.ambiguous_attempts],
      ['unknown', null, 5, 3],
    )
    assert.equal((await messageOf(id)).status, 'failed')
    assert.match((await messageOf(id)).failure_reason ?? '', /bob@far\.example: .*sent no reply/)
    assert.deepEqual(await eventsOf(id), ['message.failed'])
    assert.equal(await attempt(ACCEPTED), 0)
  })

  test('a worker that lost the lease settles nothing, and the worker that has it settles all', async () => {
    const id = await send('bob@far.example')
    const slow = queueWith(refused('rcpt', '550 5.1.1 No'), { worker: 'slow' })
    const group = await leaseGroup(slow, owner.accountId, 'far.example')
    clock.advance(DELIVERY_LEASE_MS)
    const quick = queueWith(ACCEPTED, { worker: 'quick', on: others })
    await quick.readyDue()
    const before = await readAll(db)
    await slow.deliver(group, NEVER)
    assert.deepEqual(await readAll(db), before)
    const held = await quick.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }])
    await slow.deliver(group, NEVER)
    const [taken] = quick.group(held)
    assert.ok(taken)
    await quick.deliver(taken, NEVER)
    const [row] = await deliveriesOf(db, [id])
    assert.deepEqual([row?.status, row?.attempts], ['accepted', 2])
    assert.deepEqual(await eventsOf(id), ['message.sent'])
  })

  test('an outcome counts for its own account in scheduling, and changes nothing of another', async () => {
    const id = await send('bob@far.example')
    const stranger = await addAccount(db)
    const seen: number[] = []
    const noting: Db = {
      ...db,
      async write(transaction, input, traceParent) {
        if (transaction.name === settleDeliveries.name) {
          seen.push(measured.loadOf(owner.accountId).waiting)
          const before = await readAll(db)
          const another = { ...(input as SettleInput), accountId: stranger.accountId }
          assert.deepEqual(await db.write(settleDeliveries, another), [])
          assert.deepEqual(await readAll(db), before)
        }
        return db.write(transaction, input, traceParent)
      },
    }
    const measured = measureWrites(noting, systemClock)
    const queue = queueWith(ACCEPTED, { on: measured.db })
    const group = await leaseGroup(queue, owner.accountId, 'far.example')
    await queue.deliver(group, NEVER)
    assert.deepEqual(seen, [1])
    assert.equal((await messageOf(id)).status, 'sent')
  })

  test('an outcome for a message deleted meanwhile removes the delivery without an event', async () => {
    const id = await send('bob@far.example')
    const queue = queueWith(ACCEPTED)
    const group = await leaseGroup(queue, owner.accountId, 'far.example')
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      ...owner,
      inboxId,
      nowMs: START_MS,
    })
    await runSql(database, `delete from messages where id = '${id}'`)
    await queue.deliver(group, NEVER)
    assert.deepEqual(
      await queue.lease([{ account: owner.accountId, lane: 'far.example', limit: 1 }]),
      [],
    )
    assert.deepEqual(await deliveriesOf(db, [id]), [])
    assert.deepEqual(await eventsOf(id), [])
  })

  test('a delivery whose message is deleted before the attempt is not sent', async () => {
    const id = await send('bob@far.example')
    const farEnd = openFarEnd(() => ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps(db, clock, farEnd), 'worker')
    const group = await leaseGroup(queue, owner.accountId, 'far.example')
    await runSql(database, `delete from raw_messages where id = '${group[0].raw_id}'`)
    await queue.deliver(group, NEVER)
    assert.equal(farEnd.seen.length, 0)
    const [row] = await deliveriesOf(db, [id])
    assert.deepEqual([row?.status, row?.enhanced_code], ['failed', '5.6.0'])
  })

  test('mail of a running attempt is not sent after its inbox is deleted', async () => {
    await send('bob@far.example')
    const farEnd = openFarEnd(() => ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps(db, clock, farEnd), 'worker')
    const [group] = queue.group(await leaseReady(queue))
    assert.ok(group)
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      ...owner,
      inboxId,
      nowMs: START_MS,
    })
    assert.equal(await queue.deliver(group, NEVER), 'returned')
    assert.equal(farEnd.seen.length, 0)
  })

  test('the reason of many refusals is cut to fit', async () => {
    const recipients = Array.from({ length: 50 }, (_, index) => `r${index}@far.example`)
    const id = await send(...recipients)
    await attempt(refused('rcpt', `550 5.7.1 ${'no '.repeat(300)}`))
    const { failure_reason: reason } = await messageOf(id)
    assert.equal(reason?.length, FAILURE_REASON_LENGTH_MAX)
    assert.match(reason ?? '', /^r0@far\.example: 550 5\.7\.1 no .*…$/)
  })
})
