// A budget that processes share: whatever they exchange, and whoever ends, nobody uses a token that
// another may use, and none is lost for good.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  BUDGET_COOLING_STEP_MS,
  BUDGET_HANDOVER_MS,
  BUDGET_SHORT_MS,
  type BudgetAsk,
  type BudgetState,
  settleBudget,
  UNUSED_BUDGET,
} from '#rate-limits/budget.ts'

const WINDOW_MS = 60_000

/** Processes that use at once what they are given, and record when. */
function openRecord(limit: number) {
  const record = {
    state: UNUSED_BUDGET as BudgetState,
    nowMs: 1_000,
    goneAt: new Map<string, number>(),
    uses: [] as number[],
    exchange(holder: string, ask: Partial<BudgetAsk>) {
      const { state, answer } = settleBudget(
        record.state,
        { limit, windowMs: WINDOW_MS, kept: 0, unused: 0, used: [], need: 0, ...ask, holder },
        { nowMs: record.nowMs, goneAt: (name) => record.goneAt.get(name) ?? null },
      )
      record.state = state
      return answer
    },
  }
  return record
}

type Process = { name: string; held: number; usedAt: number[] }

const action = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom('take', 'take', 'take', 'give back', 'lose an answer', 'die'),
  need: fc.integer({ min: 1, max: 8 }),
  delayMs: fc.integer({ min: 0, max: 15_000 }),
})

test('no stretch of a window’s length ever holds more than the limit, whoever gives back, fails or ends', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(action, { maxLength: 120 }),
      (limit, actions) => {
        const record = openRecord(limit)
        let born = 0
        const begin = (): Process => ({ name: `p${born++}`, held: 0, usedAt: [] })
        const processes = [begin(), begin(), begin()]
        for (const { who, what, need, delayMs } of actions) {
          record.nowMs += delayMs
          const { nowMs } = record
          const process = processes[who]
          assert.ok(process !== undefined)
          process.usedAt = process.usedAt.filter((at) => at > nowMs - WINDOW_MS)
          if (what === 'die') {
            record.goneAt.set(process.name, nowMs)
            processes[who] = begin()
          } else if (what === 'lose an answer') {
            // What it was given it never hears of.
            record.exchange(process.name, { kept: process.held, need })
          } else if (what === 'give back') {
            const unused = Math.max(0, process.held - process.usedAt.length)
            const used = process.usedAt.map((at): [number, number] => [at + WINDOW_MS - nowMs, 1])
            process.held = record.exchange(process.name, { unused, used }).held
            process.usedAt = []
          } else {
            process.held = record.exchange(process.name, { kept: process.held, need }).held
            for (let left = need; left > 0 && process.usedAt.length < process.held; left--) {
              process.usedAt.push(nowMs)
              record.uses.push(nowMs)
            }
          }
          const recent = record.uses.filter((at) => at > nowMs - WINDOW_MS)
          assert.ok(recent.length <= limit, `${recent.length} of ${limit}`)
        }
        // After everybody has ended all of it can be had again.
        for (const { name } of processes) record.goneAt.set(name, record.nowMs)
        record.nowMs += WINDOW_MS + BUDGET_COOLING_STEP_MS + BUDGET_HANDOVER_MS
        assert.equal(record.exchange('last', { need: limit }).held, limit)
      },
    ),
  )
})

test('slices are large while there is much and one at the end, and after a shortage nothing goes in advance', () => {
  const record = openRecord(1_000)
  const given: number[] = []
  let kept = 0
  while (kept < 1_000) {
    const { held, room } = record.exchange('a', { kept, need: 1 })
    assert.equal(held + room, 1_000)
    given.push(held - kept)
    kept = held
  }
  assert.deepEqual(given.slice(0, 3), [500, 250, 125])
  assert.equal(given.at(-1), 1)
  assert.ok(given.length <= 12)
  assert.deepEqual(record.exchange('b', { need: 1 }), {
    turn: given.length + 1,
    held: 0,
    room: 0,
    nextInMs: WINDOW_MS,
    othersSince: 0,
  })
  record.exchange('a', { kept: 0, unused: 600, used: [[WINDOW_MS, 400]] })
  assert.equal(record.exchange('b', { need: 2 }).held, 2)
  record.nowMs += BUDGET_SHORT_MS
  assert.equal(record.exchange('b', { kept: 2, need: 1 }).held, 2 + 299)
})

test('what was used and given back is told with the time when it may be used again', () => {
  const record = openRecord(10)
  record.exchange('a', { need: 10 })
  record.exchange('a', {
    unused: 0,
    used: [
      [2_000, 4],
      [30_000, 6],
    ],
  })
  const { held, nextInMs, othersSince } = record.exchange('b', { need: 1 })
  assert.equal(held, 0)
  assert.equal(othersSince, null)
  assert.ok(nextInMs !== null && nextInMs >= 2_000 && nextInMs <= 2_350, String(nextInMs))
  record.nowMs += nextInMs
  assert.equal(record.exchange('b', { need: 10 }).held, 4)
})

test('who is not on record holds nothing, whatever it says', () => {
  const record = openRecord(10)
  const { held, room } = record.exchange('stranger', { kept: 7, unused: 3 })
  assert.deepEqual({ held, room }, { held: 0, room: 10 })
})

test('places come free at once, with the end of a process too, and those in use are counted past the limit', () => {
  const record = openRecord(2)
  const places = { windowMs: 0 }
  assert.equal(record.exchange('a', { ...places, need: 2 }).held, 2)
  assert.equal(record.exchange('b', { ...places, need: 1 }).held, 0)
  record.exchange('a', { ...places, kept: 1, unused: 1 })
  assert.equal(record.exchange('b', { ...places, need: 1 }).held, 1)
  record.goneAt.set('a', record.nowMs)
  assert.equal(record.exchange('c', { ...places, need: 1 }).held, 1)
  assert.equal(record.exchange('d', { ...places, need: 3, isInUse: true }).held, 3)
  assert.equal(record.exchange('e', { ...places, need: 1 }).held, 0)
})
