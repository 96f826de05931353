import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '#schema/tables.ts'
import { stillClock } from '#test/conformance/delivering.ts'
import {
  EVENT_TEXT_MS,
  EVENT_TEXTS_BYTES_MAX,
  type EventText,
  openEventTexts,
} from '#webhooks/deliver-webhooks.ts'

const named = (eventId: string, accountId = 'acc_1') => ({ accountId, eventId })

/** Each text is of so many characters; `found` says how often each event was looked for. */
function openTexts({ length = 1_000, fails = false } = {}) {
  const clock = stillClock(0)
  const found = new Map<string, number>()
  const options = { isGone: false, fails }
  const deps = { db: {} as Db, clock, readEventTexts: async () => [] }
  const findText = openEventTexts(deps, async ({ accountId, eventId }) => {
    const key = `${accountId} ${eventId}`
    found.set(key, (found.get(key) ?? 0) + 1)
    if (options.fails) throw new Error('The store is away.')
    const text: EventText = { render: () => 'x'.repeat(length) }
    return options.isGone ? null : text
  })
  return { clock, found, findText, options }
}

test('an event is read once for all that are told of it at the same time', async () => {
  const { found, findText, clock } = openTexts()
  const all = [findText(named('evt_1')), findText(named('evt_1'))]
  clock.advance(EVENT_TEXT_MS - 1)
  all.push(findText(named('evt_1')))
  const [first, ...others] = await Promise.all(all)
  for (const other of others) assert.equal(other, first)
  assert.deepEqual([...found.values()], [1])
})

test('it is read anew after a while, and for another account', async () => {
  const { found, findText, clock } = openTexts()
  await findText(named('evt_1'))
  await findText(named('evt_1', 'acc_2'))
  clock.advance(EVENT_TEXT_MS)
  await findText(named('evt_1'))
  assert.deepEqual(
    [...found],
    [
      ['acc_1 evt_1', 2],
      ['acc_2 evt_1', 1],
    ],
  )
})

test('what is gone, or could not be read, is looked for again', async () => {
  const { found, findText, options } = openTexts({ fails: true })
  await assert.rejects(findText(named('evt_1')))
  options.fails = false
  options.isGone = true
  assert.equal(await findText(named('evt_1')), null)
  options.isGone = false
  assert.notEqual(await findText(named('evt_1')), null)
  assert.deepEqual([...found.values()], [3])
})

test('of large ones as many are kept as there is room for, the newest', async () => {
  const room = 4
  const { found, findText } = openTexts({ length: EVENT_TEXTS_BYTES_MAX / 4 / room })
  for (let event = 0; event < room + 2; event++) await findText(named(`evt_${event}`))
  await findText(named('evt_5'))
  await findText(named('evt_2'))
  assert.deepEqual([found.get('acc_1 evt_5'), found.get('acc_1 evt_2')], [1, 1])
  await findText(named('evt_1'))
  assert.equal(found.get('acc_1 evt_1'), 2)
})
