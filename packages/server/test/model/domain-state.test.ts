import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DomainStatus, nextCheckAt, nextStatus } from '#domains/model.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const CREATED = Date.parse('2026-11-01T00:00:00.000Z')

const state = (status: DomainStatus, degradedAtMs: number | null = null) => ({
  status,
  createdAtMs: CREATED,
  degradedAtMs,
})

test('a domain with correct records is verified, whatever its state was', () => {
  for (const status of ['pending', 'verified', 'degraded', 'failed'] as const) {
    for (const age of [0, 100 * DAY]) {
      const nowMs = CREATED + age
      assert.equal(
        nextStatus(state(status, CREATED), { isRight: true, isSure: true, nowMs }),
        'verified',
      )
    }
  }
})

test('verified becomes degraded, however old it is, and degraded fails after 72 hours', () => {
  const nowMs = CREATED + 400 * DAY
  assert.equal(nextStatus(state('verified'), { isRight: false, isSure: true, nowMs }), 'degraded')
  const after = (ms: number) =>
    nextStatus(state('degraded', nowMs), { isRight: false, isSure: true, nowMs: nowMs + ms })
  assert.equal(after(0), 'degraded')
  assert.equal(after(72 * HOUR - 1), 'degraded')
  assert.equal(after(72 * HOUR), 'failed')
})

test('a domain is checked every 6 hours, a new one every 10 minutes in its first day', () => {
  const at = (status: DomainStatus, age: number, degradedAtMs: number | null = null) =>
    nextCheckAt(state(status, degradedAtMs), CREATED + age) - CREATED - age
  assert.equal(at('pending', 0), 10 * MINUTE)
  assert.equal(at('pending', DAY - 1), 10 * MINUTE)
  assert.equal(at('pending', DAY), 6 * HOUR)
  assert.equal(at('verified', 0), 6 * HOUR)
  assert.equal(at('verified', 500 * DAY), 6 * HOUR)
  assert.equal(at('degraded', 2 * DAY, CREATED + 2 * DAY), 6 * HOUR)
  assert.equal(at('failed', 20 * DAY), 6 * HOUR)
})

test('a check is due when the domain would fail, not up to six hours later', () => {
  const pending = nextCheckAt(state('pending'), CREATED + 14 * DAY - HOUR)
  assert.equal(pending, CREATED + 14 * DAY)
  const degraded = nextCheckAt(state('degraded', CREATED), CREATED + 71 * HOUR)
  assert.equal(degraded, CREATED + 72 * HOUR)
})

test('conflicting answers change nothing, but a state still ends at its deadline', () => {
  const at = (status: DomainStatus, age: number, isRight: boolean) =>
    nextStatus(state(status, CREATED), { isRight, isSure: false, nowMs: CREATED + age })
  for (const isRight of [true, false]) {
    assert.equal(at('pending', DAY, isRight), 'pending')
    assert.equal(at('verified', 100 * DAY, isRight), 'verified')
    assert.equal(at('degraded', 71 * HOUR, isRight), 'degraded')
    assert.equal(at('failed', 100 * DAY, isRight), 'failed')
    assert.equal(at('pending', 14 * DAY, isRight), 'failed')
    assert.equal(at('degraded', 72 * HOUR, isRight), 'failed')
  }
})

test('no check is scheduled in the past', () => {
  for (const status of ['pending', 'degraded'] as const) {
    const nowMs = CREATED + 20 * DAY
    assert.equal(nextCheckAt(state(status, CREATED), nowMs), nowMs + 6 * HOUR)
  }
})
