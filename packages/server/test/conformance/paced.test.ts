import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { insertPod } from '#accounts/store/pods.ts'
import { transaction } from '#platform/db/db.ts'
import { measureWrites, STORE_AWAY_MS } from '#platform/db/paced-db.ts'
import { COMMIT_GROUP_MAX } from '#platform/db/sqlite-writer.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { purgeExpired, purgeInbox } from '#removal/removal.ts'
import { PURGE_PAUSE_MS_MAX } from '#store/purge-steps.ts'
import type { Db, Tx } from '#store/tables.ts'
import {
  addAccount,
  makeId,
  type Owner,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { onBothEngines, opened } from '#test/world.ts'

const NEVER = AbortSignal.any([])
const STEPS = 6
const STEP_MS = 100

/** A store whose steps take this long; when each began and ended. */
function openSlow(stepMs: number) {
  const spans: { from: number; to: number }[] = []
  const write = async () => {
    const from = performance.now()
    await pause(stepMs)
    spans.push({ from, to: performance.now() })
    return { isDone: spans.length === STEPS, blobIds: [] }
  }
  const db: Partial<Db> = { write: write as Db['write'] }
  return { spans, deps: storeOn(db as Db) }
}

const mayContinue = () => Promise.resolve(true)
type Slow = ReturnType<typeof openSlow>['deps']
const purges: [string, (deps: Slow) => Promise<unknown>][] = [
  ['an inbox', (deps) => purgeInbox(deps, { inboxId: 'inb_1', mayContinue })],
  ['what has expired', (deps) => purgeExpired(deps, NEVER)],
]
/** How long it ran after its last step; the shortest of several, because a busy machine may delay one. */
async function restMs(run: () => Promise<number>, dueMs: number): Promise<number> {
  let leastMs = await run()
  for (let tries = 1; tries < 8 && leastMs >= dueMs; tries++) {
    leastMs = Math.min(leastMs, await run())
  }
  return leastMs
}

for (const [name, purge] of purges) {
  test(`the removal of ${name} has a quarter of the writer's time`, async () => {
    const run = async () => {
      const { spans, deps } = openSlow(STEP_MS)
      await purge(deps)
      const endMs = performance.now()
      assert.equal(spans.length, STEPS)
      const last = spans.at(-1) ?? { from: 0, to: 0 }
      const busyMs = spans.slice(0, -1).map(({ from, to }) => to - from)
      const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)
      const freeMs = last.from - (spans[0]?.from ?? 0) - sum(busyMs)
      // If the machine makes a step long, the pause after it is bounded.
      const dueMs = sum(busyMs.map((tookMs) => Math.min(2.5 * tookMs, 0.8 * PURGE_PAUSE_MS_MAX)))
      assert.ok(freeMs >= dueMs, `free for ${freeMs} ms, busy for ${busyMs.join(', ')} ms`)
      return endMs - last.to
    }
    assert.ok((await restMs(run, 2.5 * STEP_MS)) < 2.5 * STEP_MS, 'nobody waits after the last')
  })
}

test('steps for which a client waits follow each other at once', async () => {
  const { spans, deps } = openSlow(50)
  await purgeInbox(deps, { inboxId: 'inb_1', stepsMax: 99 })
  const pausesMs = spans.slice(1).map(({ from }, index) => from - (spans[index]?.to ?? 0))
  assert.ok(Math.min(...pausesMs) < 125)
})

test('the end of the service does not wait for a pause', async () => {
  const run = async () => {
    const ending = new AbortController()
    // Its pause is the longest possible.
    const { spans, deps } = openSlow(PURGE_PAUSE_MS_MAX / 2)
    const purged = purgeExpired(deps, ending.signal)
    while (spans.length === 0) await pause(5)
    const startMs = performance.now()
    ending.abort()
    await purged
    assert.equal(spans.length, 1)
    return performance.now() - startMs
  }
  const dueMs = PURGE_PAUSE_MS_MAX / 2
  assert.ok((await restMs(run, dueMs)) < dueMs)
})

type Gate = PromiseWithResolvers<unknown>

/** A database whose writes end on demand. */
function openMeasured(monotonic: () => number) {
  const gates: Gate[] = []
  const write = () => {
    const gate = Promise.withResolvers<unknown>()
    gates.push(gate)
    return gate.promise
  }
  // A database has more methods than these tests need.
  const measured = measureWrites({ write } as never as Db, { monotonic })
  return { measured, gates, write: (accountId: string) => measured.db.write(any, { accountId }) }
}

const any = transaction({
  name: 'any',
  accountOf: ({ accountId }) => accountId,
  run: async (_: Tx, _input: { accountId: string | null }): Promise<unknown> => null,
})

onBothEngines('a flood of one account', (engine) => {
  const database = opened(() => openDatabase(engine))

  test('leaves room for the writes of others', async () => {
    const { db } = database
    const [large, small] = [await addAccount(db), await addAccount(db)]
    const ended: string[] = []
    const write = async (owner: Owner) => {
      const pod = { podId: makeId('pod'), clientId: null, name: null, nowMs: 1 }
      await db.write(insertPod, { ...owner, ...pod })
      ended.push(owner.accountId)
    }
    await Promise.all([...Array<Owner>(1_000).fill(large), small].map(write))
    const before = ended.indexOf(small.accountId)
    assert.ok(before <= 4 * COMMIT_GROUP_MAX, `${before} before it`)
  })
})

test('measured writes report the age of the oldest and consecutive failures', async () => {
  let nowMs = 0
  const { measured, gates, write } = openMeasured(() => nowMs)
  const { load } = measured
  const first = write('a')
  nowMs = 400
  const second = write('b')
  assert.deepEqual(load(), { waiting: 2, oldestMs: 400, endedLately: 0, failures: 0 })
  assert.equal(measured.isSlowForSeveral(400), false)
  nowMs = 800
  assert.equal(measured.isSlowForSeveral(400), true)
  assert.deepEqual(measured.loadOf('b'), { ...load(), waiting: 1, oldestMs: 400 })
  gates[0]?.resolve(1)
  assert.equal(await first, 1)
  assert.equal(measured.loadOf('a').waiting, 0)
  assert.equal(measured.isSlowForSeveral(400), false, 'one alone says nothing')
  nowMs = 900
  assert.deepEqual(load(), { waiting: 1, oldestMs: 500, endedLately: 1, failures: 0 })
  gates[1]?.reject(new StorageError('busy', 'locked'))
  await assert.rejects(second, /locked/)
  assert.equal(load().failures, 0, 'one account alone says nothing of the others')
  assert.equal(measured.loadOf('b').failures, 1)
  const mine = write('a')
  gates[2]?.reject(new StorageError('unavailable', 'away'))
  await assert.rejects(mine, /away/)
  assert.equal(load().failures, 2)
  nowMs += STORE_AWAY_MS
  assert.equal(load().failures, 0, 'nobody tried for long')
  const [third, fourth] = [write('a'), write('a')]
  gates[3]?.reject(new Error('a fault'))
  await assert.rejects(third, /a fault/)
  assert.equal(load().failures, 0, 'the store answered')
  gates[4]?.resolve(1)
  await fourth
  nowMs += 7_000
  assert.deepEqual(load(), { waiting: 0, oldestMs: 0, endedLately: 0, failures: 0 })
})
