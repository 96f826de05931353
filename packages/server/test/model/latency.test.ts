import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addLatencies,
  type Latencies,
  latencyAt,
  latencyClass,
} from '#platform/telemetry/latency.ts'

function keep(times: readonly number[]): Latencies {
  return times.reduce<Latencies>((all, ms) => addLatencies(all, { [latencyClass(ms)]: 1 }), {})
}

test('a percentile is within ten percent of the exact one', () => {
  const times = fc.array(fc.integer({ min: 2, max: 170_000_000 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 1), (list, share) => {
      const sorted = [...list].sort((a, b) => a - b)
      const exact = sorted[Math.max(0, Math.ceil(share * list.length) - 1)] ?? 0
      const read = latencyAt(keep(list), share) ?? 0
      assert.ok(Math.abs(read - exact) <= 0.1 * exact + 1, `${read} for ${exact}`)
    }),
  )
})

test('without times there is no percentile, and impossible times count among the shortest', () => {
  assert.equal(latencyAt({}, 0.5), null)
  assert.equal(latencyAt(keep([-5, 0, 1]), 0.5), 1)
  assert.equal(latencyClass(Number.MAX_SAFE_INTEGER), latencyClass(2 ** 40))
})
