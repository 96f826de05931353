import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  openStorePressure,
  STORE_FAILURES_MAX,
  STORE_PROBE_MS,
  STRAINED_WRITE_MS,
  STRAINED_WRITES_MIN,
  type WriteLoad,
} from '#platform/db/paced-db.ts'

const IDLE: WriteLoad = { waiting: 0, oldestMs: 0, endedLately: 0, failures: 0 }

function openPressure(all: Partial<WriteLoad>, own: Partial<WriteLoad> = all) {
  const time = { nowMs: 0 }
  const load = { ...IDLE, ...all }
  const pressure = openStorePressure({
    loads: {
      load: () => load,
      loadOf: () => ({ ...IDLE, ...own }),
      isSlowForSeveral: (ms) => load.oldestMs >= ms,
    },
    clock: { monotonic: () => time.nowMs },
  })
  return { ...pressure, time }
}

test('a burst of any size is accepted while no write has waited for long', () => {
  const { mayTake, mayTakeOf } = openPressure({ waiting: 2_000, oldestMs: STRAINED_WRITE_MS - 1 })
  assert.ok(mayTake(2_000) && mayTakeOf('a'))
})

test('a slow store gets as many writes as it completes, and no more', () => {
  const oldestMs = STRAINED_WRITE_MS
  const few = openPressure({ waiting: STRAINED_WRITES_MIN - 1, oldestMs })
  assert.ok(few.mayTake() && few.mayTakeOf('a') && few.isStrained())
  assert.ok(!few.mayTake(STRAINED_WRITES_MIN), 'what comes in counts, too')
  assert.ok(!few.mayContinue(STRAINED_WRITES_MIN))
  const many = openPressure({ waiting: STRAINED_WRITES_MIN, oldestMs })
  assert.ok(!many.mayTake() && !many.mayTakeOf('a'))
  assert.throws(() => many.requireRoom(), /too busy/)
  const quick = openPressure({ waiting: 400, oldestMs, endedLately: 500 })
  assert.ok(quick.mayTake() && quick.mayTakeOf('a'))
})

test('a store that is down gets a trial now and then', () => {
  const { mayTake, mayTakeOf, time } = openPressure({ failures: STORE_FAILURES_MAX })
  assert.ok(mayTake())
  assert.ok(mayTakeOf('a'), 'it goes on with what it was let through for')
  assert.ok(!mayTake())
  time.nowMs += STORE_PROBE_MS
  assert.ok(mayTake())
  assert.ok(!mayTake())
})

test('an account whose own writes fail is deferred alone', () => {
  const { mayTake, mayTakeOf } = openPressure({}, { failures: STORE_FAILURES_MAX })
  assert.ok(mayTakeOf('a'))
  assert.ok(!mayTakeOf('a'))
  assert.ok(mayTake())
})
