import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DELIVERY_MS_MAX } from '#outbound/send/sender.ts'
import { MINUTE_MS } from '#platform/units.ts'
import {
  BACKOFF_MS_MAX,
  nextAttemptAt,
  nextWebhookAttemptAt,
  WEBHOOK_WAIT_MS_MAX,
} from '#queue/retry-schedules.ts'

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

test('the waits are 1, 5 and 15 minutes, 1, 3 and 6 hours, then 8 until the end of 48', () => {
  const { minutes, lastMs } = waits(0)
  const whole = [1, 5, 15, 60, 180, 360, 480, 480, 480, 480]
  const rest = 48 * 60 - whole.reduce((sum, wait) => sum + wait, 0)
  assert.deepEqual(minutes, [...whole, rest])
  assert.equal(lastMs, DELIVERY_MS_MAX)
})

test('however long attempts take, the last one begins at the end of the time', () => {
  for (const attemptMs of [1, 999, 20 * MINUTE_MS]) {
    assert.equal(waits(attemptMs).lastMs, DELIVERY_MS_MAX)
  }
})

test('at its end and after it a delivery fails, a millisecond before it is tried at the end', () => {
  const at = (nowMs: number, attempts = 11) =>
    nextAttemptAt({ attempts, nowMs, expiresAtMs: 5_000 })
  assert.deepEqual([at(5_000), at(5_001), at(90_000)], [null, null, null])
  assert.equal(at(4_999), 5_000)
  assert.equal(at(4_999, 1), 5_000)
})

test('an impossible count of attempts is read as the nearest possible one', () => {
  const at = (attempts: number) =>
    nextAttemptAt({ attempts, nowMs: 0, expiresAtMs: DELIVERY_MS_MAX })
  assert.equal(at(0), MINUTE_MS)
  assert.equal(at(-1), MINUTE_MS)
  assert.equal(at(1_000), BACKOFF_MS_MAX)
})

test('for a webhook nine waits follow the first attempt, the last of them a day', () => {
  const seconds: number[] = []
  for (let attempts = 1; ; attempts++) {
    const nextMs = nextWebhookAttemptAt({ attempts, nowMs: 1_000 })
    if (nextMs === null) break
    seconds.push((nextMs - 1_000) / 1_000)
  }
  assert.deepEqual(seconds, [30, 60, 120, 240, 900, 3_600, 14_400, 43_200, 86_400])
  assert.equal(WEBHOOK_WAIT_MS_MAX, 86_400_000)
  assert.equal(nextWebhookAttemptAt({ attempts: 1_000, nowMs: 1_000 }), null)
})
