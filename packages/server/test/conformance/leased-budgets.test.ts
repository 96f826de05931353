// Limits over several processes on one PostgreSQL: each test has its own processes, which know of each other only
// through the database.

import assert from 'node:assert/strict'
import { after, afterEach, before, suite, test } from 'node:test'
import { silentLog } from '#platform/log.ts'
import type { Allowance, Budgets, RateWindow } from '#rate-limits/budgets.ts'
import {
  BUDGET_IDLE_MS,
  BUDGET_LEASE_MS,
  BUDGET_SLICES,
  openLeasedBudgets,
} from '#rate-limits/leased-budgets.ts'
import { BUDGET_RECORD_MS, exchangeBudgets } from '#rate-limits/rate-limits-rows.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import type { Db } from '#schema/tables.ts'
import { makeId, openDatabase, type TestDatabase } from '#test/conformance/open-database.ts'
import { type TestClock, testClock } from '#test/world.ts'

type Process = {
  readonly db: Db
  readonly clock: TestClock
  readonly budgets: Budgets
  /** Transactions that it made on the record. */
  exchanges: number
  /** It no longer reaches the database. */
  kill(): Promise<unknown>
}

const STEP_MS = 5_000
/** For a limit of a hundred. */
const SLICE = 100 / BUDGET_SLICES

/** Its clock moves only on demand, however slow the machine is. */
function stillClock(): TestClock {
  let ms = Date.now()
  const now = () => ms
  const advance = (byMs: number) => {
    ms += byMs
  }
  return { now, monotonic: now, steady: now, advance, step: () => {} }
}

suite('limits over processes (postgres)', () => {
  let database: TestDatabase
  const opened: Process[] = []
  before(async () => {
    database = await openDatabase('postgres')
  })
  // Processes of another test have another clock and would take these for dead.
  afterEach(async () => {
    const ended = opened.splice(0)
    await Promise.all(ended.map(({ budgets }) => budgets.close()))
    await Promise.all(ended.map((process) => process.kill()))
  })
  after(() => database.close())

  async function openProcess(clock: TestClock): Promise<Process> {
    const db = await database.openAgain()
    const queueClock = { now: clock.steady, check: () => Promise.resolve() }
    const process: Process = {
      db,
      clock,
      exchanges: 0,
      budgets: openLeasedBudgets({
        clock,
        queueClock,
        makeId,
        log: silentLog,
        db: {
          ...db,
          write: (transaction, input) => {
            if (transaction.name === exchangeBudgets.name) process.exchanges += 1
            return db.write(transaction, input)
          },
        },
      }),
      kill: () => db.close(),
    }
    opened.push(process)
    return process
  }

  async function openTwo(
    clock = testClock(),
  ): Promise<{ clock: TestClock; two: [Process, Process] }> {
    return { clock, two: [await openProcess(clock), await openProcess(clock)] }
  }

  /** Advances the time, and lets each process do its periodic work. */
  async function pass(clock: TestClock, ms: number, processes: readonly Process[]): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
      clock.advance(Math.min(leftMs, STEP_MS))
      await Promise.all(processes.map(({ budgets }) => budgets.maintain()))
    }
  }

  let names = 0
  /** One window at each of the processes. */
  function windowsAt<Processes extends readonly Process[]>(
    processes: Processes,
    limit: number,
    windowMs = 60_000,
  ): { [Index in keyof Processes]: RateWindow } {
    const name = `window ${++names}`
    return processes.map(({ budgets }) => budgets.openWindow({ name, limit, windowMs })) as {
      [Index in keyof Processes]: RateWindow
    }
  }

  const takeMany = (windows: readonly RateWindow[], count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, index): Promise<Allowance> => {
        const window = windows[index % windows.length]
        assert.ok(window !== undefined)
        return window.take('a')
      }),
    )
  const allowed = (answers: readonly Allowance[]) => answers.filter((one) => one.isAllowed).length

  for (const limit of [1, 7, 100]) {
    test(`exactly ${limit} of two hundred at once at two processes are allowed, and again a minute later`, async () => {
      const { clock, two } = await openTwo(stillClock())
      const windows = windowsAt(two, limit)
      for (let round = 0; round < 2; round++) {
        const answers = await takeMany(windows, 200)
        assert.equal(allowed(answers), limit)
        for (const { isAllowed, resetSeconds } of answers) {
          if (!isAllowed) assert.ok(resetSeconds === 60 || resetSeconds === 61)
        }
        await pass(clock, 60_400, two)
      }
    })
  }

  test('a process is refused at most one slice early, and may use everything that the other returned', async () => {
    const { clock, two } = await openTwo()
    const windows = windowsAt(two, 100)
    assert.equal((await windows[0].take('a')).remaining, 99)
    assert.equal(allowed(await takeMany([windows[1]], 120)), 99 - SLICE)
    await pass(clock, BUDGET_IDLE_MS, two)
    assert.equal(allowed(await takeMany([windows[1]], 120)), SLICE)
  })

  test('the minute slides over processes: returned uses keep their time', async () => {
    const { clock, two } = await openTwo(stillClock())
    const [first, second] = windowsAt(two, 20)
    assert.equal(allowed(await takeMany([first], 12)), 12)
    await pass(clock, 20_000, two)
    assert.equal(allowed(await takeMany([second], 20)), 8)
    await pass(clock, 20_000, two)
    const [refused] = await takeMany([first], 1)
    assert.equal(refused?.isAllowed, false)
    assert.ok(refused !== undefined && Math.abs(refused.resetSeconds - 20) <= 1)
    await pass(clock, (refused.resetSeconds - 1) * 1_000, two)
    assert.equal(allowed(await takeMany([first, second], 30)), 0)
    clock.advance(1_400)
    assert.equal(allowed(await takeMany([second, first], 30)), 12)
  })

  test('requests seldom access the record, and count down exactly', async () => {
    const { two } = await openTwo()
    const [window] = windowsAt([two[0]] as const, 1_000)
    let waited = 0
    for (let left = 999; left >= 400; left--) {
      const answer = window.take('a')
      if (answer instanceof Promise) waited += 1
      const { isAllowed, remaining } = await answer
      assert.deepEqual({ isAllowed, remaining }, { isAllowed: true, remaining: left })
      // As between two requests of a client.
      if (left % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    assert.ok(waited <= 20, `${waited} of 600 requests waited`)
    assert.ok(two[0].exchanges <= 40, `${two[0].exchanges} exchanges for 600 requests`)
  })

  test('a flood beyond the limit seldom accesses the record', async () => {
    const { two } = await openTwo()
    const windows = windowsAt(two, 10)
    for (let round = 0; round < 50; round++) await takeMany(windows, 40)
    const exchanges = two[0].exchanges + two[1].exchanges
    assert.ok(exchanges <= 30, `${exchanges} exchanges for 2,000 requests`)
  })

  test('an unused lease is returned, with the time of each use', async () => {
    const { clock, two } = await openTwo(stillClock())
    const [first, second] = windowsAt(two, 100)
    assert.equal(allowed(await takeMany([first], 3)), 3)
    await pass(clock, BUDGET_IDLE_MS, two)
    assert.equal(allowed(await takeMany([second], 120)), 97)
    await pass(clock, 60_400 - BUDGET_IDLE_MS, two)
    assert.equal(allowed(await takeMany([second], 120)), 3)
  })

  test('the lease of a dead process counts as used when it has ended', async () => {
    const { clock, two } = await openTwo()
    const [first, second] = windowsAt(two, 100)
    assert.equal((await first.take('a')).isAllowed, true)
    await two[0].kill()
    const early = await takeMany([second], 120)
    assert.equal(allowed(early), 99 - SLICE)
    await pass(clock, 60_400, [two[1]])
    assert.equal(allowed(await takeMany([second], 120)), 100 - SLICE)
    await pass(clock, 60_400, [two[1]])
    assert.equal(allowed(await takeMany([second], 120)), 100)
  })

  test('a process that was wrongly taken for dead uses nothing that it leased', async () => {
    const clocks = [testClock(), testClock()] as const
    const two = [await openProcess(clocks[0]), await openProcess(clocks[1])] as const
    const [slow, other] = windowsAt(two, 100)
    assert.equal((await slow.take('a')).isAllowed, true)
    // The time of the other advances, and it leases the rest.
    clocks[1].advance(BUDGET_LEASE_MS + 60_400)
    assert.equal(allowed(await takeMany([other], 100)), 100 - SLICE)
    clocks[0].advance(BUDGET_LEASE_MS + 60_400)
    assert.equal(allowed(await takeMany([slow], 10)), 0)
  })

  test('a process whose machine was suspended uses nothing that others took over', async () => {
    const clocks = [testClock(), testClock()] as const
    const two = [await openProcess(clocks[0]), await openProcess(clocks[1])] as const
    const [slow, other] = windowsAt(two, 100)
    assert.equal((await slow.take('a')).isAllowed, true)
    clocks[1].advance(BUDGET_LEASE_MS + 60_400)
    assert.equal(allowed(await takeMany([other], 100)), 100 - SLICE)
    // Only the wall clock shows it.
    clocks[0].step(BUDGET_LEASE_MS + 60_400)
    assert.equal(allowed(await takeMany([slow], 10)), 0)
  })

  test('a flood of keys of one limit delays no other limit', async () => {
    const { two } = await openTwo()
    const [flooded, other] = [
      windowsAt([two[0]] as const, 10)[0],
      windowsAt([two[0]] as const, 10)[0],
    ]
    let isOver = false
    const flood = Array.from({ length: 5_000 }, async (_, index) => flooded.take(`k${index}`))
    const all = Promise.all(flood).then(() => {
      isOver = true
    })
    assert.equal((await other.take('a')).isAllowed, true)
    assert.equal(isOver, false)
    await all
  })

  test('expired records are removed, however many', async () => {
    const { clock, two } = await openTwo()
    const ask = { limit: 1, windowMs: 0, kept: 0, unused: 0, usedAgoMs: [], need: 0, ahead: 0 }
    await database.db.write(exchangeBudgets, {
      holder: 'nobody',
      nowMs: clock.steady(),
      asks: Array.from({ length: 2 * PURGE_STEP_ROWS + 1 }, (_, index) => ({
        ...ask,
        name: `old:${index}`,
      })),
    })
    clock.advance(2 * BUDGET_RECORD_MS)
    await two[0].budgets.maintain()
    const left = database.db.read
      .selectFrom('budgets')
      .select('name')
      .where('name', 'like', 'old:%')
    assert.deepEqual(await left.execute(), [])
  })

  test('while the database is down, a process allows what it has leased and refuses the rest as unavailable', async () => {
    const { two } = await openTwo()
    const [window] = windowsAt([two[0]] as const, 100)
    await window.take('a')
    await two[0].kill()
    assert.equal(allowed(await takeMany([window], SLICE)), SLICE)
    await assert.rejects(Promise.resolve(window.take('a')), /storage of the service/)
    await assert.rejects(Promise.resolve(window.take('b')), /storage of the service/)
  })

  test('ten places are ten over two processes, and a returned one is free for either', async () => {
    const { two } = await openTwo()
    const opened = two.map(({ budgets }) => budgets.openSlots({ name: 'places', limit: 10 }))
    const take = async (index: number) => opened[index % 2]?.take('a')
    const places = await Promise.all(Array.from({ length: 25 }, (_, index) => take(index)))
    const got = places.filter((place) => place !== null)
    assert.equal(got.length, 10)
    for (const index of [0, 1]) {
      got[index]?.release()
      got[index]?.release()
      assert.notEqual(await take(index + 1), null)
      assert.equal(await take(index), null)
    }
  })

  test('places of a dead process become free with its lease, those of a living one stay', async () => {
    const { clock, two } = await openTwo()
    const [first, second] = two.map(({ budgets }) => budgets.openSlots({ name: 'more', limit: 2 }))
    assert.notEqual(await first?.take('a'), null)
    assert.notEqual(await second?.take('a'), null)
    assert.equal(await second?.take('a'), null)
    await two[0].kill()
    clock.advance(BUDGET_LEASE_MS)
    assert.notEqual(await second?.take('a'), null)
    assert.equal(await second?.take('a'), null)
  })
})
