import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { insertSend, type SendOutcome } from '#outbound/send/store/accept-send.ts'
import { readUsedLimits } from '#outbound/send/store/send-limits.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { type SendFields, sending, UNLIMITED } from '#test/conformance/sending.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const SEED = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
const NOW_MS = Date.UTC(2026, 10, 20, 12)

const STEPS = sizeOf('TEST_MAILROOM_WINDOW_STEPS', { quick: 100, usual: 300 })

onEachEngine('limits on sending', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  const send = (inboxId: string, fields: SendFields, from: Db = db): Promise<SendOutcome> =>
    from.write(insertSend, sending(owner, inboxId, fields))
  const kindOf = async (outcome: Promise<SendOutcome>) => (await outcome).kind
  const stampsOf = async (inboxId: string) => {
    const rows = await db.read
      .selectFrom('inbox_sends')
      .select('sent_at')
      .where('inbox_id', '=', inboxId)
      .orderBy('send_number')
      .execute()
    return rows.map((row) => row.sent_at)
  }

  test('no window of a minute holds more than the limit, even if requests overtake each other', async () => {
    const inboxId = await addInbox(db, owner)
    const limits = { perMinute: 5, perDay: 40 }
    let taken = 0
    for (let step = 0; step < 150; step++) {
      // Now and then one that took up to half a minute to compose.
      const lateMs = step % 3 === 0 ? (step * 7_919) % (MINUTE_MS / 2) : 0
      const nowMs = NOW_MS + step * 3_000 - lateMs
      if ((await kindOf(send(inboxId, { limits, nowMs }))) === 'queued') taken += 1
    }
    const stamps = await stampsOf(inboxId)
    assert.equal(stamps.length, taken)
    assert.ok(taken > 35 && taken <= 40, `${taken} were taken`)
    for (const [index, stamp] of stamps.entries()) {
      const inWindow = stamps.filter((other) => other > stamp - MINUTE_MS && other <= stamp)
      assert.ok(inWindow.length <= 5, `${inWindow.length} in the minute of send ${index + 1}`)
      assert.ok(stamp >= (stamps[index - 1] ?? 0))
    }
  })

  test('a send frees its place to the millisecond when its window has passed', async () => {
    const inboxId = await addInbox(db, owner)
    const limits = { perMinute: 2, perDay: 200 }
    const at = (nowMs: number) => send(inboxId, { limits, nowMs })
    assert.equal(await kindOf(at(NOW_MS)), 'queued')
    assert.equal(await kindOf(at(NOW_MS + 10)), 'queued')
    const refused = { kind: 'too_many', limit: 2, window: 'minute' }
    const retryAtMs = NOW_MS + MINUTE_MS
    assert.deepEqual(await at(retryAtMs - 1), { ...refused, retryAtMs })
    assert.equal(await kindOf(at(retryAtMs)), 'queued')
    assert.deepEqual(await at(retryAtMs + 9), { ...refused, retryAtMs: retryAtMs + 10 })
    assert.equal(await kindOf(at(retryAtMs + 10)), 'queued')
  })

  test('a day slides as a minute does, and of two full windows the later end is reported', async () => {
    const inboxId = await addInbox(db, owner)
    const limits = { perMinute: 2, perDay: 3 }
    const at = (nowMs: number) => send(inboxId, { limits, nowMs })
    for (const ms of [0, MINUTE_MS, MINUTE_MS])
      assert.equal(await kindOf(at(NOW_MS + ms)), 'queued')
    const retryAtMs = NOW_MS + DAY_MS
    const refused = { kind: 'too_many', limit: 3, window: 'day', retryAtMs }
    assert.deepEqual(await at(NOW_MS + MINUTE_MS), refused)
    assert.deepEqual(await at(retryAtMs - 1), refused)
    assert.equal(await kindOf(at(retryAtMs)), 'queued')
    assert.equal(await kindOf(at(retryAtMs + MINUTE_MS - 1)), 'too_many')
    assert.equal(await kindOf(at(retryAtMs + MINUTE_MS)), 'queued')
  })

  test('a limit of zero refuses everything', async () => {
    const inboxId = await addInbox(db, owner)
    for (const limits of [
      { perMinute: 0, perDay: 200 },
      { perMinute: 10, perDay: 0 },
    ]) {
      const outcome = await send(inboxId, { limits, nowMs: NOW_MS })
      assert.equal(outcome.kind, 'too_many')
      assert.ok(outcome.kind === 'too_many' && outcome.retryAtMs > NOW_MS)
    }
  })

  test('times from before the clock was set back delay nothing, except those of a few minutes', async () => {
    const limits = { perMinute: 2, perDay: 5 }
    for (const [aheadMs, kind] of [
      [3 * DAY_MS, 'queued'],
      [CLOCK_SKEW_MS + 1, 'queued'],
      [CLOCK_SKEW_MS, 'too_many'],
    ] as const) {
      const inboxId = await addInbox(db, owner)
      const at = (nowMs: number) => kindOf(send(inboxId, { limits, nowMs }))
      assert.deepEqual(
        [await at(NOW_MS + aheadMs), await at(NOW_MS + aheadMs)],
        ['queued', 'queued'],
      )
      assert.equal(await at(NOW_MS), kind, `${aheadMs} ms ahead`)
    }
    const inboxId = await addInbox(db, owner)
    const at = (nowMs: number) => kindOf(send(inboxId, { limits, nowMs }))
    await at(NOW_MS + 3 * DAY_MS)
    await at(NOW_MS + 3 * DAY_MS)
    assert.deepEqual([await at(NOW_MS), await at(NOW_MS)], ['queued', 'queued'])
    assert.equal(await at(NOW_MS), 'too_many')
  })

  test(`figures of the windows say at any time whether the next send is refused, whatever the clock does, seed ${SEED}`, async () => {
    const inboxId = await addInbox(db, owner)
    const limits = { ...UNLIMITED, perMinute: 4, perDay: 9 }
    const steps = [0, 1, 1, 7_000, 20_000, MINUTE_MS, 3 * HOUR_MS, -20_000, -DAY_MS]
    let nowMs = NOW_MS
    const dice = seededDice(SEED)
    let refused = 0
    for (let step = 0; step < STEPS; step++) {
      nowMs += steps[dice(steps.length)] ?? 0
      const { accountId } = owner
      const shown = await readUsedLimits(db, { accountId, inboxId, limits, nowMs })
      const outcome = await send(inboxId, { limits, nowMs })
      const windows = [shown?.sendsPerMinute, shown?.sendsPerDay]
      const full = windows.filter((one) => one !== undefined && one.limit === one.used)
      assert.equal(outcome.kind, full.length === 0 ? 'queued' : 'too_many', `step ${step}`)
      if (outcome.kind !== 'too_many') continue
      refused += 1
      assert.equal(outcome.retryAtMs, Math.max(...full.map((one) => one?.resetsAtMs ?? 0)))
    }
    assert.ok(refused > STEPS / 10 && refused < STEPS * 0.9, `${refused} were refused`)
  })

  test('an inbox that sends for years keeps only the sends that limits need', async () => {
    const inboxId = await addInbox(db, owner)
    const limits = { perMinute: 10, perDay: 20 }
    for (let step = 0; step < 50; step++) {
      const nowMs = NOW_MS + step * DAY_MS
      assert.equal(await kindOf(send(inboxId, { limits, nowMs })), 'queued')
    }
    assert.equal((await stampsOf(inboxId)).length, 20)
  })
})
