import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DELIVERY_MS_MAX } from '#outbound/send-message.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { BACKOFF_MS_MAX, nextAttemptAt } from '#queue/retry-schedules.ts'

const START_MS = 1_000_000

/** Waits between attempts, in minutes, when each attempt takes `attemptMs`. */
function waits(attemptMs: number): { minutes: number[]; lastMs: number } {
  const expiresAtMs = START_MS + DELIVERY_MS_MAX
  const minutes: number[] = []
  let nowMs = START_MS
  for (let attempts = 1; attempts < 50; attempts++) {
    nowMs += attemptMs
    const next = nextAttemptAt({ attempts, nowMs, expiresAtMs })
    if (next === null) break
    assert.ok(next - nowMs <= BACKOFF_MS_MAX)
    minutes.push((next - nowMs) / MINUTE_MS)
    nowMs = next
  }
  return { minutes, lastMs: nowMs - attemptMs - START_MS }
}

test('however long attempts take, the last one begins at the end of the time and none after it', () => {
  for (const attemptMs of [1, 999, 20 * MINUTE_MS]) {
    assert.equal(waits(attemptMs).lastMs, DELIVERY_MS_MAX)
  }
})

test('at its end and after it a delivery is given up, a millisecond before it is tried at the end', () => {
  const at = (nowMs: number, attempts = 11) =>
    nextAttemptAt({ attempts, nowMs, expiresAtMs: 5_000 })
  assert.deepEqual([at(5_000), at(5_001), at(90_000)], [null, null, null])
  assert.equal(at(4_999), 5_000)
  assert.equal(at(4_999, 1), 5_000)
})
