import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { insertSend, type SendOutcome } from '#outbound/send/store/accept-send.ts'
import { findRefusal } from '#outbound/send/store/check-send.ts'
import { insertSuppression } from '#outbound/suppressions/store/suppressions.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { readAll, type SendFields, sending } from '#test/conformance/sending.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 12)

onEachEngine('answers to programs', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  const owner = prepared(() => addAccount(db))

  type Thread = { inboxId: string; id: string; key: string }

  let keys = 0
  /** Mail arrives, in the given thread if there is one. */
  async function arrive(
    thread: Thread | null,
    marks: { reason?: string | null; origin?: 'smtp' | 'service'; nowMs?: number } = {},
  ): Promise<Thread> {
    const inboxId = thread?.inboxId ?? (await addInbox(db, owner))
    keys += 1
    const key = thread?.key ?? `key${keys}@sender.example`
    const parentKeys = thread === null ? [] : [key]
    const input = arriving(owner, [inboxId], {
      key: thread === null ? key : `${keys}@x`,
      parentKeys,
    })
    const { reason = 'auto-submitted', origin = 'smtp', nowMs = NOW_MS } = marks
    input.nowMs = nowMs
    input.content.automatic_reason = reason
    input.raw.origin = origin
    await db.write(storeReceived, input)
    const { id } = thread ?? { id: input.receipts[0]?.threadId ?? '' }
    return { inboxId, id, key }
  }

  const sendIn = (
    { inboxId, id }: Thread,
    fields: SendFields = {},
    from: Db = db,
  ): Promise<SendOutcome> => {
    const thread = { kind: 'reply', id, messageCount: null } as const
    return from.write(insertSend, sending(owner, inboxId, { nowMs: NOW_MS, ...fields, thread }))
  }

  /** A thread in which a program was answered at these times. */
  async function answered(timesMs: number[]): Promise<Thread> {
    let thread: Thread | null = null
    for (const nowMs of timesMs) {
      thread = await arrive(thread, { nowMs })
      const { kind } = await sendIn(thread, { nowMs })
      assert.equal(kind, 'queued')
    }
    assert.ok(thread !== null)
    return arrive(thread, { nowMs: timesMs.at(-1) ?? NOW_MS })
  }

  const times = (count: number, stepMs = 0) =>
    Array.from({ length: count }, (_, index) => NOW_MS + index * stepMs)
  const eventsOf = async ({ id }: Thread) =>
    db.read
      .selectFrom('events')
      .selectAll()
      .where('thread_id', '=', id)
      .where('kind', '=', 'thread.loop_suspected')
      .orderBy('sequence')
      .execute()

  test('one of twenty at once after nine is sent, whichever process sends it', async () => {
    const thread = await answered(times(9))
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => sendIn(thread, {}, index % 2 === 0 ? db : others)),
    )
    const kinds = outcomes.map(({ kind }) => kind).sort()
    assert.deepEqual(kinds, [...Array(19).fill('loop_suspected'), 'queued'])
    const untold = outcomes.filter((one) => one.kind === 'loop_suspected' && !one.isReported)
    assert.equal(untold.length, 1)
    assert.equal((await eventsOf(thread)).length, 1)
  })

  test('count once for each message from a program or an inbox of the service', async () => {
    const table = [
      [{ reason: null, origin: 'smtp' }, 'queued'],
      [{ reason: 'list', origin: 'smtp' }, 'loop_suspected'],
      [{ reason: 'null-sender', origin: 'smtp' }, 'loop_suspected'],
      [{ reason: null, origin: 'service' }, 'loop_suspected'],
    ] as const
    for (const [marks, last] of table) {
      let thread = await arrive(null, marks)
      for (let index = 0; index < 10; index++) {
        assert.equal((await sendIn(thread)).kind, 'queued')
        // With every message answered, one more is no answer.
        if (index < 9) assert.equal((await sendIn(thread)).kind, 'queued')
        thread = await arrive(thread, marks)
      }
      assert.equal((await sendIn(thread)).kind, last, JSON.stringify(marks))
    }
  })

  test('that are late count as of their messages, which are an hour old', async () => {
    let thread: Thread | null = null
    let kinds: string[] = []
    for (let minute = 0; minute < 3 * 60; minute += 5) {
      const nowMs: number = NOW_MS + minute * MINUTE_MS
      thread = await arrive(thread, { nowMs })
      kinds = [...kinds, (await sendIn(thread, { nowMs: nowMs + 14 * MINUTE_MS })).kind]
    }
    const inAnyHour = kinds.map(
      (_, index) => kinds.slice(index, index + 12).filter((kind) => kind === 'queued').length,
    )
    assert.ok(Math.max(...inAnyHour) <= 10, `${inAnyHour}`)
  })

  test('count once for an absent person among many who write', async () => {
    let thread = await arrive(null)
    for (let index = 0; index < 30; index++) {
      assert.equal((await sendIn(thread)).kind, 'queued')
      thread = await arrive(thread, { reason: null })
    }
    const { automatic_sends: times } = await db.read
      .selectFrom('threads')
      .select('automatic_sends')
      .where('id', '=', thread.id)
      .executeTakeFirstOrThrow()
    assert.equal(JSON.parse(times).length, 1)
  })

  test('block other sends in their thread, and none in any other', async () => {
    const thread = await answered(times(10))
    assert.equal((await sendIn(thread)).kind, 'loop_suspected')
    await arrive(thread, { reason: null })
    assert.equal((await sendIn(thread)).kind, 'loop_suspected')
    const fresh = sending(owner, thread.inboxId, { nowMs: NOW_MS })
    assert.equal((await db.write(insertSend, fresh)).kind, 'queued')
    const another = await arrive(null)
    assert.equal((await sendIn(another)).kind, 'queued')
  })

  test('that are refused write only the first event of an episode', async () => {
    const thread = await answered(times(10))
    const before = await readAll(db)
    assert.deepEqual(await sendIn(thread, { key: 'refused' }), {
      kind: 'loop_suspected',
      threadId: thread.id,
      retryAtMs: NOW_MS + HOUR_MS,
      isReported: false,
    })
    const after = await readAll(db)
    const changed = Object.keys(after).filter(
      (name) => String(after[name]) !== String(before[name]),
    )
    assert.deepEqual(changed.sort(), ['events', 'threads'])
    const [event, ...more] = await eventsOf(thread)
    assert.deepEqual(more, [])
    assert.deepEqual(
      [event?.account_id, event?.pod_id, event?.inbox_id, event?.message_id],
      [owner.accountId, owner.podId, thread.inboxId, null],
    )
    for (const nowMs of [NOW_MS, NOW_MS + 59 * MINUTE_MS]) {
      const again = await sendIn(thread, { key: 'refused', nowMs })
      assert.ok(again.kind === 'loop_suspected' && again.isReported)
    }
    assert.deepEqual(await readAll(db), after)
  })

  test('that continue are reported again after an hour', async () => {
    let thread = await answered(times(10, MINUTE_MS))
    let told = 0
    for (let minute = 10; minute < 3 * 60; minute++) {
      const nowMs = NOW_MS + minute * MINUTE_MS
      const outcome = await sendIn(thread, { nowMs })
      if (outcome.kind === 'queued') thread = await arrive(thread, { nowMs })
      else if (outcome.kind === 'loop_suspected' && !outcome.isReported) told += 1
    }
    assert.equal(told, 3)
    assert.equal((await eventsOf(thread)).length, 3)
  })

  test('are refused early only after the event, and never before a repeat is answered', async () => {
    const thread = await answered(times(9))
    const last = sending(owner, thread.inboxId, {
      nowMs: NOW_MS,
      thread: { kind: 'reply', id: thread.id, messageCount: null },
    })
    const look = (use: typeof last.use) => findRefusal(db, { ...last, use })
    assert.equal(await look(last.use), null)
    assert.equal((await db.write(insertSend, last)).kind, 'queued')
    const other = { ...last.use, key: 'another' }
    assert.equal(await look(other), null)
    assert.equal((await sendIn(thread)).kind, 'loop_suspected')
    assert.equal((await look(other))?.kind, 'loop_suspected')
    assert.equal((await look(last.use))?.kind, 'replay')
    assert.equal((await db.write(insertSend, last)).kind, 'replay')
  })

  test('are refused before a limit is, and after a suppressed recipient', async () => {
    const thread = await answered(times(10))
    const limits = { perMinute: 0 }
    assert.equal((await sendIn(thread, { limits })).kind, 'loop_suspected')
    const recipient = `gone${keys}@far.example`
    await db.write(insertSuppression, {
      id: `sup_${keys}`,
      account_id: owner.accountId,
      address: recipient,
      address_key: recipient,
      type: 'manual',
      reason: null,
      created_at: NOW_MS,
    })
    assert.equal((await sendIn(thread, { recipients: [recipient] })).kind, 'suppressed')
  })

  test('dated by a clock far ahead are forgotten once it is right', async () => {
    const ahead = times(10).map((timeMs) => timeMs + DAY_MS)
    const thread = await answered(ahead)
    assert.equal((await sendIn(thread, { nowMs: NOW_MS + DAY_MS })).kind, 'loop_suspected')
    assert.equal((await sendIn(thread)).kind, 'queued')
  })

  test('of processes whose clocks differ a little count in the order of the sends', async () => {
    const thread = await answered(
      times(10).map((timeMs, index) => timeMs + (index % 2) * (CLOCK_SKEW_MS - 1)),
    )
    const outcome = await sendIn(thread, { nowMs: NOW_MS + MINUTE_MS })
    assert.ok(outcome.kind === 'loop_suspected')
    assert.equal(outcome.retryAtMs, NOW_MS + HOUR_MS)
  })
})
