import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coldAccountLimit, endOfUtcDay, isYoung, utcDay, YOUNG_MS } from '#outbound/send-policy.ts'
import { DAY_MS } from '#platform/units.ts'

test('the caps on strangers of an account are those of its plan and its age', () => {
  const table = [
    ['free', 30, 100],
    ['developer', 150, 500],
    ['launch', 500, 2_000],
  ] as const
  for (const [plan, young, grown] of table) {
    assert.deepEqual([coldAccountLimit(plan, true), coldAccountLimit(plan, false)], [young, grown])
  }
})

test('an inbox is young for thirty days to the millisecond', () => {
  assert.equal(YOUNG_MS, 30 * DAY_MS)
  assert.equal(isYoung(1_000, 1_000 + 30 * DAY_MS - 1), true)
  assert.equal(isYoung(1_000, 1_000 + 30 * DAY_MS), false)
  assert.equal(isYoung(1_000, 0), true)
})

test('a day of UTC begins and ends at midnight', () => {
  const midnight = Date.UTC(2026, 10, 21)
  const day = utcDay(midnight)
  assert.equal(utcDay(midnight - 1), day - 1)
  assert.equal(utcDay(midnight + DAY_MS - 1), day)
  assert.equal(endOfUtcDay(day), midnight + DAY_MS)
  assert.equal(endOfUtcDay(utcDay(midnight - 1)), midnight)
})
