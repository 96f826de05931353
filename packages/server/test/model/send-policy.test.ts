import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coldAccountLimit, isYoung } from '#outbound/send/store/check-send.ts'
import { DAY_MS } from '#platform/units.ts'

test('the limits on strangers of an account depend on its plan and age', () => {
  const table = [
    ['free', 30, 100],
    ['developer', 150, 500],
    ['launch', 500, 2_000],
  ] as const
  for (const [plan, young, grown] of table) {
    assert.deepEqual([coldAccountLimit(plan, true), coldAccountLimit(plan, false)], [young, grown])
  }
})

test('an inbox or an account is young for thirty days to the millisecond', () => {
  assert.equal(isYoung(1_000, 1_000 + 30 * DAY_MS - 1), true)
  assert.equal(isYoung(1_000, 1_000 + 30 * DAY_MS), false)
  assert.equal(isYoung(1_000, 0), true)
})
