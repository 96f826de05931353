import assert from 'node:assert/strict'
import { beforeEach, suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { addJobs, leaseJobs, releaseJobs } from '#queue/jobs.ts'
import { openTasks, type Task, type Tasks } from '#queue/periodic-tasks.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import { makeId, openDatabase, storeOn } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { opened, prepared, type TestClock, testClock } from '#test/world.ts'

const LEASE_MS = 1_200
const leading = { leaseMs: LEASE_MS, checkMs: 50 }

type Process = { tasks: Tasks; clock: TestClock; name: string }

suite('periodic tasks', () => {
  const database = opened(() => openDatabase('postgres'))
  const db = prepared(() => database.db)
  beforeEach(async () => void (await runSql(database, 'delete from jobs')))

  const start = async (
    t: TestContext,
    name: string,
    { aheadMs = 0, ...task }: Partial<Task> & { aheadMs?: number },
  ): Promise<Process> => {
    const clock = testClock()
    clock.step(aheadMs)
    const queueClock = await openQueueClock({ db, clock })
    const makeWorker = () => `${name} ${makeId('job')}`
    const deps = { ...storeOn(db, clock), queueClock, makeWorker }
    const run = () => Promise.resolve()
    const usual = { name: 'figures', everyMs: 20, by: 'leader', run, ...task } as const
    const tasks = openTasks(deps, { tasks: [usual], isShared: true, leading })
    t.after(() => tasks.close())
    return { tasks, clock, name }
  }
  const leadersOf = (processes: readonly Process[]) =>
    processes.filter(({ tasks }) => tasks.led().length > 0).map(({ name }) => name)
  const leads = ({ tasks }: Process) => until(async () => tasks.led().length > 0)

  test('exactly one of several processes that start at once leads a task, and keeps it', async (t) => {
    const did = new Set<string>()
    const all = await Promise.all(
      ['one', 'two', 'three'].map((name) =>
        start(t, name, { run: () => Promise.resolve(void did.add(name)) }),
      ),
    )
    await until(async () => did.size > 0)
    const first = leadersOf(all)
    assert.equal(first.length, 1)
    await sleep(1.5 * LEASE_MS)
    assert.deepEqual(leadersOf(all), first)
    assert.deepEqual([...did], first)
  })

  test('the task of a dead process is taken over once its lease has expired', async (t) => {
    const job = { kind: 'task', key: 'figures', due_at: 0, account_id: '' }
    await db.write(addJobs, { jobs: [job] })
    const nowMs = Date.now()
    const lease = { kind: 'task', limit: 1, afterAccount: '', nowMs, leaseMs: LEASE_MS }
    await db.write(leaseJobs, { ...lease, worker: 'dead job_1' })
    await leads(await start(t, 'alive', {}))
    assert.ok(Date.now() - nowMs >= LEASE_MS - 300, `after ${Date.now() - nowMs} ms`)
  })

  test('a start takes back the tasks of its former run at once', async (t) => {
    const job = { kind: 'task', key: 'figures', due_at: 0, account_id: '' }
    await db.write(addJobs, { jobs: [job] })
    const lease = { kind: 'task', limit: 1, afterAccount: '', nowMs: Date.now(), leaseMs: DAY_MS }
    await db.write(leaseJobs, { ...lease, worker: 'server job_1' })
    await db.write(releaseJobs, { instance: 'server' })
    await leads(await start(t, 'server', {}))
  })

  test('a process that ends releases its tasks at once', async (t) => {
    const first = await start(t, 'first', {})
    await leads(first)
    const second = await start(t, 'second', {})
    assert.deepEqual(leadersOf([first, second]), ['first'])
    await first.tasks.close()
    const startMs = performance.now()
    await leads(second)
    assert.ok(performance.now() - startMs < LEASE_MS)
  })

  test('a scheduled task runs once an hour, whichever process leads it, even with differing clocks', async (t) => {
    let runs = 0
    const task = {
      everyMs: HOUR_MS,
      by: 'schedule',
      run: async () => void runs++,
    } as const
    const all: Process[] = []
    for (const aheadMs of [0, -3 * DAY_MS, 2 * DAY_MS]) {
      all.push(await start(t, `ahead ${aheadMs}`, { ...task, aheadMs }))
    }
    await until(async () => runs === 1)
    const pass = async (ms: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += 5 * MINUTE_MS) {
        for (const { clock } of all) clock.advance(5 * MINUTE_MS)
        // A lease that the clock has passed by is taken again.
        await sleep(80)
      }
    }
    await pass(50 * MINUTE_MS)
    assert.equal(runs, 1)
    await all.shift()?.tasks.close()
    await pass(15 * MINUTE_MS)
    await until(async () => runs === 2)
    await pass(50 * MINUTE_MS)
    assert.equal(runs, 2)
  })

  test('a scheduled task that fails is retried after a minute, not at each check', async (t) => {
    let tries = 0
    const run = async () => {
      tries += 1
      throw new Error('It is broken.')
    }
    const process = await start(t, 'one', { everyMs: HOUR_MS, by: 'schedule', run })
    await until(async () => tries === 1)
    await sleep(10 * leading.checkMs)
    assert.equal(tries, 1)
    process.clock.advance(MINUTE_MS)
    await until(async () => tries === 2)
  })

  test('a running task is aborted when its lease is lost', async (t) => {
    const running = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    await start(t, 'holder', {
      async run(signal) {
        running.resolve()
        signal.addEventListener('abort', () => aborted.resolve())
        await aborted.promise
      },
    })
    await running.promise
    const stolen = "update jobs set leased_by = 'thief job_1', due_at = due_at + 100000000"
    await runSql(database, stolen)
    await aborted.promise
  })
})

test('a process that is alone runs every task itself', async () => {
  const done = new Set<string>()
  const tasks = (['leader', 'schedule', 'each process'] as const).map((by) => ({
    name: by,
    everyMs: HOUR_MS,
    by,
    run: () => Promise.resolve(void done.add(by)),
  }))
  const queueClock = { now: () => 0, check: () => Promise.resolve() }
  const deps = { ...storeOn({} as never), queueClock }
  const opened = openTasks({ ...deps, makeWorker: () => 'test 1' }, { tasks, isShared: false })
  await until(async () => done.size === 3)
  await opened.close()
})
