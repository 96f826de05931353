import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { slidingWindow } from '#limits/budgets.ts'

const WINDOW_MS = 60_000

function windowAt(limit: number, entriesMax = 100) {
  const time = { ms: 0 }
  const clock = { now: () => time.ms, monotonic: () => time.ms, steady: () => time.ms }
  return { time, window: slidingWindow({ limit, windowMs: WINDOW_MS, entriesMax, clock }) }
}

test('no interval of a window’s length ever has more than the limit', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), steps, (limit, delays) => {
      const { time, window } = windowAt(limit)
      const taken: number[] = []
      for (const delayMs of delays) {
        time.ms += delayMs
        const recent = taken.filter((at) => at > time.ms - WINDOW_MS).length
        const { isAllowed, remaining } = window.take('a')
        assert.equal(isAllowed, recent < limit)
        assert.equal(remaining, limit - recent - (isAllowed ? 1 : 0))
        if (isAllowed) taken.push(time.ms)
      }
    }),
  )
})

test('a request after the stated wait is allowed, and a second earlier it is not', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 5 }), (delays) => {
      const { time, window } = windowAt(5)
      for (const delayMs of delays) {
        time.ms += delayMs
        const { isAllowed, resetSeconds } = window.take('a')
        if (isAllowed) continue
        const startMs = time.ms
        time.ms = startMs + (resetSeconds - 1) * 1_000
        assert.equal(window.take('a').isAllowed, false)
        time.ms = startMs + resetSeconds * 1_000
        assert.equal(window.take('a').isAllowed, true)
      }
    }),
  )
})

test('beyond the limit of keys the least recently used one is forgotten', () => {
  const { window } = windowAt(1, 2)
  window.take('a')
  window.take('b')
  window.take('a')
  window.take('c')
  assert.equal(window.take('a').isAllowed, false)
  assert.equal(window.take('b').isAllowed, true)
})

test('a window with a limit of zero allows nothing', () => {
  const { window } = windowAt(0)
  assert.deepEqual(window.take('a'), {
    isAllowed: false,
    limit: 0,
    remaining: 0,
    resetSeconds: WINDOW_MS / 1_000,
  })
})
