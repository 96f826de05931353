import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import type { CarryOutcome } from '#delivery/carrier.ts'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { SAME_ID_COMPARED_MAX } from '#inbound/receive/store/plan.ts'
import { type ReceiveInput, storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { ROW_BODY_LENGTH_MAX } from '#mailbox/messages/store/write-messages.ts'
import { type SettleInput, settleDeliveries } from '#outbound/deliveries/store/settle.ts'
import { systemClock } from '#platform/clock.ts'
import type { AnyTransaction } from '#platform/db/db.ts'
import { measureWrites } from '#platform/db/paced-db.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { WRITE_GROUP_BYTES_MAX, WRITE_GROUPED_BYTES_MAX } from '#platform/db/write-groups.ts'
import type { Db, Tables } from '#store/tables.ts'
import {
  ACCEPTED,
  AMBIGUOUS,
  deliverDeps,
  leaseReady,
  openFarEnd,
  refused,
  UNSENT,
} from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openGrouping,
  openGroupingWorld,
  readArrivals,
  readCounters,
  receiveTogether,
} from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { opened, prepared } from '#test/world.ts'

type Content = Partial<ReceiveInput['content']>

const OUTCOMES: Record<string, CarryOutcome> = {
  ok: ACCEPTED,
  no: refused('rcpt', `550 5.7.1 Go away, ${'é'.repeat(996)}😀`),
  later: refused('rcpt', '451 4.7.1 Not now'),
  gone: UNSENT,
  lost: AMBIGUOUS,
}

/** Of one message each. */
const MESSAGES = [
  ['ok@one.example'],
  ['no@one.example'],
  ['ok@one.example', 'no@two.example'],
  ['no@one.example', 'no@two.example', 'ok@three.example'],
  ['ok@one.example', 'later@two.example'],
  ['gone@one.example', 'lost@two.example'],
  ['ok@deleted.example'],
  ['ok@stolen.example'],
  ['ok@twice.example'],
]

suite('writes in groups', { timeout: 120_000 }, () => {
  const world = opened(openGroupingWorld)
  const db = prepared(() => world.db)
  const owner = prepared(() => addAccount(db))

  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
  const addInboxes = (count: number) => Promise.all(upTo(count).map(() => addInbox(db, owner)))
  const countersOf = (inboxId: string) => readCounters(db, inboxId)
  const positionsOf = (inboxId: string) => readArrivals(db, inboxId)

  test('one failing write of a group fails alone, and the others are stored', async () => {
    const inboxId = await addInbox(db, owner)
    const first = arriving(owner, [inboxId])
    await db.write(storeReceived, first)
    const bad = { ...first, raw: { ...first.raw, id: makeId('raw') } }
    const inputs = [arriving(owner, [inboxId]), bad, arriving(owner, [inboxId])]
    const results = await receiveTogether(db, inputs)
    assert.ok(results[1] instanceof Error && /messages_pkey|duplicate key/.test(results[1].message))
    for (const index of [0, 2]) assert.equal((results[index] as { stored: number }).stored, 1)
    assert.deepEqual(await positionsOf(inboxId), upTo(3))
    assert.equal((await countersOf(inboxId)).inbound_count, 3)
  })

  test('finds a duplicate among the last messages that are checked, and no further', async () => {
    const inboxId = await addInbox(db, owner)
    const mail = (receipt: number) => {
      const input = arriving(owner, [inboxId], { key: 'one@x.example' })
      const receipt_key = Buffer.from([receipt >> 8, receipt & 255])
      return { ...input, content: { ...input.content, receipt_key } }
    }
    const results = async (receipts: number[]) => {
      const outcomes = (await receiveTogether(db, receipts.map(mail))) as { duplicates: number }[]
      return outcomes.map(({ duplicates }) => duplicates)
    }
    const some = upTo(SAME_ID_COMPARED_MAX - 10)
    assert.deepEqual(await results([0, ...some]), [0, ...some.map(() => 0)])
    assert.deepEqual(await results([201, 202, 203, 204, 205, 206, 207, 208, 209, 0]), [
      ...Array(9).fill(0),
      1,
    ])
    assert.deepEqual(await results([210, 0, 0]), [0, 0, 1])
  })

  test('concurrent writes of one inbox share transactions, in the order of their arrival', async () => {
    const inboxId = await addInbox(db, owner)
    world.groups.length = 0
    const inputs = upTo(120).map(() => arriving(owner, [inboxId]))
    await Promise.all(inputs.map((input) => db.write(storeReceived, input)))
    assert.ok(world.groups.length < 10, String(world.groups))
    const rows = await db.read
      .selectFrom('messages')
      .select('id')
      .where('inbox_id', '=', inboxId)
      .orderBy('arrival')
      .execute()
    assert.deepEqual(
      rows.map(({ id }) => id),
      inputs.map(({ receipts }) => receipts[0]?.messageId),
    )
  })

  test('each message keeps its own trace', async () => {
    const inboxId = await addInbox(db, owner)
    const traces = ['00-a-b-01', undefined, '00-c-d-01']
    const inputs = traces.map(() => arriving(owner, [inboxId]))
    await receiveTogether(db, inputs, traces)
    const events = await db.read
      .selectFrom('events')
      .select('trace_parent')
      .where('inbox_id', '=', inboxId)
      .orderBy('sequence')
      .execute()
    assert.deepEqual(
      events.map((event) => event.trace_parent),
      traces.map((trace) => trace ?? null),
    )
  })

  test('an inbox deleted while mail for it waits has no messages afterwards', async () => {
    const [going, staying] = [await addInbox(db, owner), await addInbox(db, owner)]
    const receive = () => db.write(storeReceived, arriving(owner, [going, staying]))
    const begun = upTo(60).map(receive)
    const input = { ...owner, inboxId: going, nowMs: 1 }
    const deleted = db.write(removeInbox, { ...input, actor: { kind: 'operator' } })
    const outcomes = await Promise.all([...begun, ...upTo(20).map(receive)])
    assert.equal(await deleted, 'deleted')
    const stored = (await positionsOf(going)).length
    assert.equal(stored, outcomes.filter((outcome) => outcome.stored === 2).length)
    assert.ok(outcomes.every((outcome) => outcome.stored + outcome.gone === 2))
    assert.deepEqual(await positionsOf(staying), upTo(80))
    assert.equal((await receive()).gone, 1)
  })

  test('groups of two processes over the same inboxes keep positions dense', async () => {
    const inboxIds = await addInboxes(4)
    const second = await openGrouping(world.url)
    try {
      const processes = [db, second.db]
      const roll = seededDice(7)
      const writes = upTo(400).map((number) => {
        const to = inboxIds.filter(() => roll(2) === 0)
        const input = arriving(owner, to.length === 0 ? inboxIds : to)
        return processes[number % 2]?.write(storeReceived, input)
      })
      await Promise.all(writes)
      for (const inboxId of inboxIds) {
        const counters = await countersOf(inboxId)
        assert.deepEqual(await positionsOf(inboxId), upTo(counters.inbound_count))
        assert.equal(counters.thread_count, counters.inbound_count)
        assert.equal(counters.unread_thread_count, counters.inbound_count)
      }
      assert.ok(second.groups.some((size) => size > 1))
    } finally {
      await second.db.close()
    }
  })

  test('lost connections leave no half-written group', async () => {
    const inboxIds = await addInboxes(2)
    let isOver = false
    const killing = (async () => {
      // Less and less often, so that a slow machine completes some.
      for (let pauseMs = 20; !isOver; pauseMs *= 1.1) {
        await world.client.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'mailroom' and datname = current_database() and state <> 'idle'`)
        await pause(pauseMs)
      }
    })()
    const inputs: ReceiveInput[] = []
    const results: PromiseSettledResult<unknown>[] = []
    // Until some were kept and some were lost.
    while (new Set(results.map(({ status }) => status)).size < 2) {
      const some = upTo(100).map(() => arriving(owner, inboxIds))
      const writes = some.map((input) => db.write(storeReceived, input))
      inputs.push(...some)
      results.push(...(await Promise.allSettled(writes)))
    }
    isOver = true
    await killing
    const rows = await db.read
      .selectFrom('messages')
      .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
      .innerJoin('events', 'events.message_id', 'messages.id')
      .innerJoin('threads', 'threads.id', 'messages.thread_id')
      .select(['messages.raw_id', 'messages.inbox_id'])
      .where('messages.inbox_id', 'in', inboxIds)
      .execute()
    const byRaw = Map.groupBy(rows, (row) => row.raw_id)
    for (const [index, result] of results.entries()) {
      const count = byRaw.get(inputs[index]?.raw.id ?? '')?.length ?? 0
      // A write lost at its commit may exist.
      if (result.status === 'fulfilled') assert.equal(count, 2)
      else assert.ok(result.reason instanceof StorageError && [0, 2].includes(count), `${count}`)
    }
    for (const inboxId of inboxIds) assert.deepEqual(await positionsOf(inboxId), upTo(byRaw.size))
  })

  const saying = (inboxIds: string[], content: Content): ReceiveInput => {
    const input = arriving(owner, inboxIds)
    return { ...input, content: { ...input.content, ...content } }
  }
  const hold = async (...inboxIds: string[]) => {
    await world.client.query('begin')
    await world.client.query('select 1 from inbox_counters where inbox_id = any($1) for update', [
      inboxIds,
    ])
  }
  /** Waits until this many connections wait for a lock. */
  const waitForLocks = async (count: number): Promise<number[]> => {
    for (;;) {
      const { rows } = await world.client.query<{ pid: number }>(
        `select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      )
      if (rows.length >= count) return rows.map(({ pid }) => pid)
      await pause(5)
    }
  }
  /** The sizes of the transactions of these writes, which arrive while the first is under way. */
  const groupsOf = async (inputs: ReceiveInput[]) => {
    world.groups.length = 0
    await Promise.all(inputs.map((input) => db.write(storeReceived, input)))
    return world.groups.toSorted((a, b) => a - b)
  }

  test('a write larger than a group with all of its recipients has its own transaction', async () => {
    const inboxIds = await addInboxes(3)
    const header_to = 'x'.repeat(WRITE_GROUP_BYTES_MAX / 3)
    const large = () => saying(inboxIds, { header_to })
    assert.deepEqual(await groupsOf([large(), large(), large()]), [1, 1, 1])
    const fitting = () => saying(inboxIds, { header_to: 'x' })
    assert.deepEqual(await groupsOf([fitting(), fitting(), fitting()]), [1, 2])
  })

  test('a far larger write is in no group, and waits for none', async () => {
    const inboxIds = await addInboxes(3)
    const header_to = 'x'.repeat(WRITE_GROUPED_BYTES_MAX / 3)
    await hold(...inboxIds)
    const inputs = [1, 2, 3].map(() => saying(inboxIds, { header_to }))
    const writes = inputs.map((input) => db.write(storeReceived, input))
    await waitForLocks(inputs.length)
    await world.client.query('rollback')
    for (const { stored } of await Promise.all(writes)) assert.equal(stored, 3)
  })

  test('a group has a limit in octets, and long bodies count once', async () => {
    const inboxIds = await addInboxes(3)
    const body_text = 'x'.repeat(WRITE_GROUP_BYTES_MAX / 4)
    assert.ok(body_text.length > ROW_BODY_LENGTH_MAX)
    const long = () => saying(inboxIds, { body_text, body_length: body_text.length })
    const inputs = upTo(6).map(long)
    assert.deepEqual(await groupsOf(inputs), [1, 2, 3])
  })

  test('a lost group is one failure of the store, reported to each of its writes', async () => {
    const [held, other] = [await addInbox(db, owner), await addInbox(db, owner)]
    const measured = measureWrites(db, systemClock)
    const receive = (inboxId: string) =>
      measured.db.write(storeReceived, arriving(owner, [inboxId]))
    await hold(held, other)
    let isSettled = false
    const settled = Promise.allSettled([receive(held), ...upTo(5).map(() => receive(other))])
    void settled.then(() => (isSettled = true))
    while (!isSettled) {
      await world.client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`)
      await pause(20)
    }
    for (const one of await settled) {
      assert.ok(one.status === 'rejected' && one.reason instanceof StorageError)
    }
    assert.equal(measured.loadOf(owner.accountId).failures, 2)
    await world.client.query('rollback')
    assert.equal((await receive(other)).stored, 1)
    assert.equal(measured.loadOf(owner.accountId).failures, 0)
  })

  test('texts with any content are stored as if each had come alone', async () => {
    const inboxId = await addInbox(db, owner)
    const subjects = ['\ud83d end', '\\ud83d \\u0000 \\', '\u0001\u2028"\'{}\ufeff', '']
    const inputs = subjects.map((subject) => saying([inboxId], { subject }))
    const withNul = saying([inboxId], { subject: 'a\0b' })
    const results = await receiveTogether(db, [...inputs, withNul])
    assert.deepEqual(
      results.map((result) => result instanceof Error),
      [false, false, false, false, true],
    )
    await receiveTogether(
      db,
      subjects.map((subject) => saying([inboxId], { subject })),
    )
    const rows = await db.read
      .selectFrom('messages')
      .select('subject')
      .where('inbox_id', '=', inboxId)
      .orderBy('arrival')
      .execute()
    const kept = ['\ufffd end', ...subjects.slice(1)]
    // Only the first four, because one beside them failed.
    assert.deepEqual(
      rows.map((row) => row.subject),
      [...kept, ...kept],
    )
  })

  test('columns that another program adds and removes meanwhile keep their defaults', async () => {
    const inboxId = await addInbox(db, owner)
    const receive = async () => {
      const inputs = [1, 2, 3].map(() => arriving(owner, [inboxId]))
      world.groups.length = 0
      const results = (await receiveTogether(db, inputs)) as { stored: number }[]
      assert.deepEqual(
        results.map(({ stored }) => stored),
        [1, 1, 1],
      )
      // None was retried alone.
      assert.deepEqual(world.groups, [1, 2])
    }
    const tables = ['messages', 'threads', 'events', 'raw_messages']
    await receive()
    for (const table of tables) {
      await world.client.query(`alter table ${table} add column later integer not null default 7`)
    }
    await receive()
    await db.write(storeReceived, arriving(owner, [inboxId]))
    const { rows } = await world.client.query('select later from messages where inbox_id = $1', [
      inboxId,
    ])
    assert.deepEqual(
      rows.map(({ later }) => later),
      [7, 7, 7, 7, 7, 7, 7],
    )
    for (const table of tables) await world.client.query(`alter table ${table} drop column later`)
    await receive()
  })

  test('closing waits for writes that wait for their group', async () => {
    const closing = await openGrouping(await createPreparedDatabase())
    const other = await addAccount(closing.db)
    const inboxId = await addInbox(closing.db, other)
    const input = () => arriving(other, [inboxId])
    const writes = upTo(120).map(() => closing.db.write(storeReceived, input()))
    const closed = closing.db.close()
    for (const { stored } of await Promise.all(writes)) assert.equal(stored, 1)
    await closed
  })

  /** Attempts all of MESSAGES, has `settle` record the outcomes, and reads the result. */
  async function storyOf(settle: (inputs: SettleInput[]) => Promise<unknown[]>) {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const ids = await queueAll(
      db,
      MESSAGES.map((recipients) => sending(owner, inboxId, { recipients })),
    )
    const inputs: SettleInput[] = []
    const write = (async (transaction: AnyTransaction<Tables>, input: never) => {
      if (transaction !== settleDeliveries) return db.write(transaction, input)
      inputs.push(input)
      return []
    }) as Db['write']
    const farEnd = openFarEnd((recipient) => OUTCOMES[recipient.split('@')[0] ?? ''] ?? ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps({ ...db, write }, systemClock, farEnd), 'worker')
    const groups = queue.group(await leaseReady(queue))
    for (const group of groups) await queue.deliver(group, AbortSignal.any([]))
    const [, , , , , , deleted = '', stolen = '', twice = ''] = ids
    const [theirs] = inputs.filter(({ messageId }) => messageId === stolen)
    assert.ok(theirs !== undefined)
    theirs.worker = 'another'
    const [orphan] = inputs.filter(({ messageId }) => messageId === deleted)
    assert.ok(orphan !== undefined)
    orphan.accountId = 'acc_of_nobody'
    // Its lease was lost and taken here again: its first outcome stands.
    const [settled] = inputs.filter(({ messageId }) => messageId === twice)
    assert.ok(settled !== undefined)
    const again = settled.deliveries.map((delivery) => ({
      ...delivery,
      status: 'deferred' as const,
      next_attempt_at: settled.nowMs,
    }))
    inputs.push({ ...settled, deliveries: again })
    const order = new Map(ids.map((id, index) => [id, index]))
    const number = (id: string | null) => order.get(id ?? '') ?? null
    const results = await settle(inputs)
    const rows = await db.read
      .selectFrom('deliveries')
      .selectAll()
      .where('message_id', 'in', ids)
      .orderBy('id')
      .execute()
    const deliveries = rows.map((row) => [
      number(row.message_id),
      row.recipient,
      [row.status, row.queue_state, row.leased_by, row.next_attempt_at !== null],
      [row.ambiguous_attempts, row.host, row.tls, row.response_code, row.enhanced_code],
      row.response,
    ])
    const messages = await db.read
      .selectFrom('messages')
      .select(['id', 'status', 'failure_reason'])
      .where('id', 'in', ids)
      .execute()
    const events = await db.read
      .selectFrom('events')
      .select(['kind', 'message_id', 'pod_id', 'inbox_id', 'details'])
      .where('account_id', '=', owner.accountId)
      .orderBy('sequence')
      .execute()
    await db.read.deleteFrom('deliveries').execute()
    return {
      recorded: results.map((one) => (Array.isArray(one) ? one.length : one)).sort(),
      deliveries,
      messages: messages
        .map(({ id, status, failure_reason }) => [number(id), status, failure_reason])
        .sort(([one], [other]) => Number(one) - Number(other)),
      events: events
        .map(({ kind, message_id, pod_id, inbox_id, details }) => [
          number(message_id),
          kind,
          pod_id === owner.podId && inbox_id === inboxId,
          details,
        ])
        .sort(([one], [other]) => Number(one) - Number(other)),
    }
  }

  test('outcomes of attempts in groups have the same effect as one after the other', async () => {
    const alone = await storyOf(async (inputs) => {
      const results: unknown[] = []
      for (const input of inputs) results.push(await db.write(settleDeliveries, input))
      return results
    })
    const together = await storyOf(async (inputs) => {
      world.groups.length = 0
      const settled = await Promise.allSettled(
        inputs.map((input) => db.write(settleDeliveries, input)),
      )
      assert.deepEqual(world.groups, [1, inputs.length - 1], 'all but the first in one')
      return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
    })
    assert.deepEqual(together, alone)
    assert.deepEqual(
      together.messages.map(([, status]) => status),
      ['sent', 'failed', 'sent', 'sent', 'pending', 'pending', 'pending', 'pending', 'sent'],
    )
    assert.equal(together.events.length, 5)
  })
})
