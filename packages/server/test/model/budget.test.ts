import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { slidingWindow } from '#rate-limits/budgets.ts'
import {
  type BudgetAsk,
  type BudgetState,
  settleBudget,
  UNUSED_BUDGET,
} from '#rate-limits/rate-limits-rows.ts'

const WINDOW_MS = 60_000
/** Used tokens return a little later with several processes, whose clocks differ. */
const SPARE_MS = 400
const CLOCKS_APART_MS = 250

function openRecord(limit: number, windowMs = WINDOW_MS) {
  const nothing = { limit, windowMs, kept: 0, unused: 0, usedAgoMs: [], need: 0, ahead: 0 }
  const record = {
    state: UNUSED_BUDGET as BudgetState,
    nowMs: 1_000,
    living: new Set<string>(),
    exchange(holder: string, ask: Partial<BudgetAsk>) {
      record.living.add(holder)
      const settled = settleBudget(record.state, { ...nothing, ...ask, holder }, record)
      record.state = settled.state
      return settled.answer
    },
  }
  return record
}

type Process = { name: string; left: number; usedAtMs: number[] }

const action = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom(
    'take',
    'take',
    'use',
    'use',
    'return',
    'lose an ask',
    'lose an answer',
    'die',
  ),
  count: fc.integer({ min: 1, max: 8 }),
  ahead: fc.integer({ min: 0, max: 5 }),
  delayMs: fc.constantFrom(0, 0, 1, 100, 1_000, 15_000, WINDOW_MS - 200, WINDOW_MS),
})

test('no interval of a window’s length ever has more than the limit, whichever processes return, fail or end', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(action, { maxLength: 60, size: 'max' }),
      (limit, actions) => {
        const record = openRecord(limit)
        const uses: number[] = []
        let born = 0
        const begin = (): Process => ({ name: `p${born++}`, left: 0, usedAtMs: [] })
        const processes = [begin(), begin(), begin()]
        let nowMs = record.nowMs
        for (const { who, what, count, ahead, delayMs } of actions) {
          nowMs += delayMs
          record.nowMs = nowMs + (who * CLOCKS_APART_MS) / 2
          const process = processes[who]
          assert.ok(process !== undefined)
          const usedAgoMs = () => process.usedAtMs.splice(0).map((atMs) => nowMs - atMs)
          const { name, left: kept } = process
          if (what === 'die') {
            record.living.delete(name)
            processes[who] = begin()
          } else if (what === 'lose an ask') {
            usedAgoMs()
          } else if (what === 'lose an answer') {
            record.exchange(name, { kept, usedAgoMs: usedAgoMs(), need: count, ahead })
          } else if (what === 'return') {
            process.left = 0
            const { held } = record.exchange(name, { unused: kept, usedAgoMs: usedAgoMs() })
            assert.equal(held, 0)
          } else if (what === 'use') {
            const used = Array.from({ length: Math.min(count, kept) }, () => nowMs)
            process.left -= used.length
            process.usedAtMs.push(...used)
            uses.push(...used)
          } else {
            const ask = { kept, usedAgoMs: usedAgoMs(), need: count, ahead }
            const { granted, held } = record.exchange(name, ask)
            process.left = held
            uses.push(...Array.from({ length: granted }, () => nowMs))
          }
          const recent = uses.filter((atMs) => atMs > nowMs - WINDOW_MS)
          assert.ok(recent.length <= limit, `${recent.length} of ${limit}`)
        }
        // After all processes have ended the whole limit is available again.
        record.living.clear()
        record.nowMs = nowMs + CLOCKS_APART_MS
        record.exchange('last', {})
        record.nowMs += WINDOW_MS + SPARE_MS
        assert.equal(record.exchange('last', { need: limit }).granted, limit)
      },
    ),
    { numRuns: 1_000 },
  )
})

test('a token that another process used is returned with the time at which it is free', () => {
  const record = openRecord(10)
  record.exchange('a', { need: 4 })
  record.nowMs += 30_000
  record.exchange('a', { need: 6 })
  const { granted, nextInMs, isShared } = record.exchange('b', { need: 1 })
  assert.deepEqual({ granted, isShared }, { granted: 0, isShared: false })
  assert.ok(nextInMs !== null && nextInMs >= 30_000 && nextInMs <= 30_000 + SPARE_MS)
  record.nowMs += nextInMs
  assert.equal(record.exchange('b', { need: 10 }).granted, 4)
})

test('a single process has each token again a window after its use', () => {
  const record = openRecord(1)
  record.exchange('a', { need: 1 })
  record.nowMs += WINDOW_MS - 1
  assert.equal(record.exchange('a', { need: 1 }).granted, 0)
  record.nowMs += 1
  assert.equal(record.exchange('a', { need: 1 }).granted, 1)
})

test('a record stays small however many times a limit is used', () => {
  const record = openRecord(100_000)
  for (let count = 0; count < 5_000; count++) {
    record.nowMs += 1
    record.exchange('a', { need: 1 })
  }
  assert.ok(JSON.stringify(record.state).length < 10_000)
  assert.equal(record.exchange('a', {}).room, 95_000)
})

test('a process that is not on record holds no tokens, whatever it claims', () => {
  const record = openRecord(10)
  const { held, room } = record.exchange('stranger', { kept: 7, unused: 3 })
  assert.deepEqual({ held, room }, { held: 0, room: 10 })
})

test('places become free at once, also when a process ends, and those in use count beyond the limit', () => {
  const record = openRecord(2, 0)
  assert.equal(record.exchange('a', { need: 2 }).granted, 2)
  assert.equal(record.exchange('b', { need: 1 }).granted, 0)
  assert.equal(record.exchange('a', { kept: 1 }).held, 1)
  assert.equal(record.exchange('b', { need: 1 }).granted, 1)
  record.living.delete('a')
  assert.equal(record.exchange('c', { need: 1 }).granted, 1)
  assert.equal(record.exchange('d', { kept: 3 }).held, 3)
  assert.equal(record.exchange('e', { need: 1 }).granted, 0)
})

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
