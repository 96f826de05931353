import assert from 'node:assert/strict'
import { beforeEach, suite, type TestContext, test } from 'node:test'
import { silentLog } from '#platform/log.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { releaseTaskLeases } from '#queue/periodic-task-rows.ts'
import {
  LEADER_CHECK_MS,
  LEADER_LEASE_MS,
  openOwnTasks,
  openSharedTasks,
  type PeriodicTasks,
  type TaskName,
} from '#queue/periodic-tasks.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import { openDatabase } from '#test/conformance/open-database.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { opened, prepared, type TestClock, testClock } from '#test/world.ts'

const NAMES: readonly TaskName[] = ['retention', 'search index']
const NEVER = AbortSignal.any([])

type Process = { tasks: PeriodicTasks; clock: TestClock; name: string }

suite('periodic tasks', () => {
  const database = opened(() => openDatabase('postgres'))
  const db = prepared(() => database.db)
  beforeEach(async () => void (await db.read.deleteFrom('leases').execute()))

  const start = async (t: TestContext, name: string, aheadMs = 0): Promise<Process> => {
    const clock = testClock()
    clock.step(aheadMs)
    const queueClock = await openQueueClock({ db, clock })
    const worker = `${name} job_1`
    const tasks = openSharedTasks({ db, queueClock, log: silentLog }, { worker, names: NAMES })
    t.after(() => tasks.close())
    return { tasks, clock, name }
  }
  /** The processes that ran a task when all polled one after the other. */
  const whoDoes = async (processes: Process[], everyMs?: number) => {
    const did: string[] = []
    for (const { tasks, name } of processes) {
      const run = async () => did.push(name) > Number.POSITIVE_INFINITY
      const task = { name: 'retention', signal: NEVER, run } as const
      await tasks.perform(everyMs === undefined ? task : { ...task, everyMs })
    }
    return did
  }
  const pass = (processes: Process[], ms: number) => {
    for (const { clock } of processes) clock.advance(ms)
  }

  test('exactly one of several processes that start at once leads a task, and keeps it', async (t) => {
    const all = await Promise.all(['one', 'two', 'three'].map((name) => start(t, name)))
    const did: string[] = []
    const run = (name: string) => async () => did.push(name) > Number.POSITIVE_INFINITY
    await Promise.all(
      all.map(({ tasks, name }) =>
        tasks.perform({ name: 'retention', signal: NEVER, run: run(name) }),
      ),
    )
    const [first] = did
    assert.ok(first !== undefined)
    assert.deepEqual(did, [first])
    for (let look = 0; look < 20; look++) {
      pass(all, LEADER_CHECK_MS)
      assert.deepEqual(await whoDoes(all), [first])
    }
  })

  test('the task of a dead process is taken over within a minute', async (t) => {
    const [dead, alive] = [await start(t, 'dead'), await start(t, 'alive')]
    assert.deepEqual(await whoDoes([dead, alive]), ['dead'])
    let waitedMs = 0
    for (; (await whoDoes([alive])).length === 0; waitedMs += LEADER_CHECK_MS) {
      assert.ok(waitedMs < MINUTE_MS)
      pass([dead, alive], LEADER_CHECK_MS)
    }
    assert.ok(waitedMs >= LEADER_LEASE_MS - LEADER_CHECK_MS, `after ${waitedMs} ms`)
    // It was only paused for a while.
    assert.deepEqual(await whoDoes([dead, alive]), ['alive'])
  })

  test('a start takes back the tasks of its former run at once, and no other process may', async (t) => {
    const dead = await start(t, 'server')
    assert.deepEqual(await whoDoes([dead]), ['server'])
    await db.write(releaseTaskLeases, { instance: 'serve' })
    await db.write(releaseTaskLeases, { instance: 'server2' })
    assert.deepEqual(await whoDoes([await start(t, 'other')]), [])
    await db.write(releaseTaskLeases, { instance: 'server' })
    assert.deepEqual(await whoDoes([await start(t, 'server')]), ['server'])
  })

  test('a process that ends releases its tasks at once', async (t) => {
    const [first, second] = [await start(t, 'first'), await start(t, 'second')]
    assert.deepEqual(await whoDoes([first, second]), ['first'])
    await first.tasks.close()
    pass([second], LEADER_CHECK_MS)
    assert.deepEqual(await whoDoes([first, second]), ['second'])
  })

  test('a process that ends during a claim releases that task, too', async (t) => {
    const first = await start(t, 'first')
    const asking = whoDoes([first])
    await Promise.all([first.tasks.close(), asking])
    const held = await db.read.selectFrom('leases').where('holder', 'is not', null).selectAll()
    assert.deepEqual(await held.execute(), [])
  })

  test('an hourly task runs once an hour, whichever process leads it, even with differing clocks', async (t) => {
    const all = [
      await start(t, 'one'),
      await start(t, 'late', -3 * DAY_MS),
      await start(t, 'early', 2 * DAY_MS),
    ]
    assert.equal((await whoDoes(all, HOUR_MS)).length, 1)
    const done: number[] = []
    for (let minute = 5; minute <= 130; minute += 5) {
      pass(all, 5 * MINUTE_MS)
      // The leader may end at any time.
      if (minute === 30) await all.shift()?.tasks.close()
      done.push(...(await whoDoes(all, HOUR_MS)).map(() => minute))
    }
    const [first = 0, second = 0, ...more] = done
    assert.ok(first >= 60 && first <= 65, `after ${first} minutes`)
    assert.ok(second - first >= 60 && second - first <= 65, `then after ${second - first}`)
    assert.deepEqual(more, [])
  })

  test('a failed task is tried again after a minute, not at each poll', async (t) => {
    const process = await start(t, 'one')
    let tries = 0
    const run = async () => {
      tries += 1
      throw new Error('It is broken.')
    }
    const task = { name: 'retention', everyMs: HOUR_MS, signal: NEVER, run } as const
    await assert.rejects(process.tasks.perform(task), /broken/)
    await process.tasks.perform(task)
    assert.equal(tries, 1)
    pass([process], MINUTE_MS)
    await assert.rejects(process.tasks.perform(task), /broken/)
    assert.equal(tries, 2)
  })

  test('a long task is held while it runs, and is aborted when the lease is lost', async (t) => {
    const [holder, other] = [await start(t, 'holder'), await start(t, 'other')]
    const ended = Promise.withResolvers<void>()
    const running = Promise.withResolvers<void>()
    const run = async (signal: AbortSignal) => {
      running.resolve()
      signal.addEventListener('abort', () => ended.resolve())
      await ended.promise
      return true
    }
    const work = holder.tasks.perform({ name: 'retention', everyMs: 1, signal: NEVER, run })
    await running.promise
    for (let look = 0; look < 20; look++) {
      pass([holder, other], LEADER_CHECK_MS)
      // Each poll renews its leases; in a real process a timer does.
      await holder.tasks.perform({
        name: 'search index',
        signal: NEVER,
        run: () => Promise.resolve(false),
      })
      assert.deepEqual(await whoDoes([other]), [])
    }
    await db.write(releaseTaskLeases, { instance: 'holder' })
    pass([holder, other], LEADER_CHECK_MS)
    assert.deepEqual(await whoDoes([other]), ['other'])
    pass([holder, other], LEADER_LEASE_MS - 1_000)
    await holder.tasks.perform({ name: 'search index', signal: NEVER, run: async () => false })
    await work
    const [row] = await db.read
      .selectFrom('leases')
      .selectAll()
      .where('name', '=', 'retention')
      .execute()
    assert.equal(row?.done_at, null, 'it was cut, not done')
  })

  test('told to stop, it aborts running tasks and claims no more', async (t) => {
    const process = await start(t, 'one')
    const running = Promise.withResolvers<void>()
    const work = process.tasks.perform({
      name: 'search index',
      signal: NEVER,
      async run(signal) {
        running.resolve()
        await until(async () => signal.aborted)
        return true
      },
    })
    await running.promise
    process.tasks.stop()
    await work
    pass([process], MINUTE_MS)
    assert.deepEqual(await whoDoes([process]), [])
  })
})

test('a single process runs everything when its loops poll', async () => {
  const tasks = openOwnTasks()
  let done = 0
  const run = async () => ++done > 5
  for (let ask = 0; ask < 3; ask++) {
    await tasks.perform({ name: 'retention', everyMs: HOUR_MS, signal: NEVER, run })
  }
  assert.equal(done, 3)
  assert.equal(tasks.pollMs('retention', HOUR_MS), HOUR_MS)
})
