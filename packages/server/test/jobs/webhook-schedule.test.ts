import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextWebhookAttemptAt, WEBHOOK_WAIT_MS_MAX } from '#queue/retry-schedules.ts'

test('nine waits follow the first attempt, the last of them a day', () => {
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
