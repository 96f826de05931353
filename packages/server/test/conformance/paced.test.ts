import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '#platform/clock.ts'
import { purgeExpired, purgeInbox, purgeWebhook } from '#removal/purge.ts'
import { PURGE_PAUSE_MS_MAX } from '#schema/purge-steps.ts'
import type { Db } from '#schema/tables.ts'

const NEVER = AbortSignal.any([])
const STEPS = 6
const STEP_MS = 100

/** A store whose steps take so long; when each began and ended. */
function openSlow(stepMs: number) {
  const spans: { from: number; to: number }[] = []
  const write = async () => {
    const from = performance.now()
    await pause(stepMs)
    spans.push({ from, to: performance.now() })
    return { isDone: spans.length === STEPS, blobIds: [] }
  }
  const db: Partial<Db> = { write: write as Db['write'] }
  return { spans, deps: { db: db as Db, blobs: null, clock: systemClock } }
}

const lease = { mayGoOn: () => Promise.resolve(true) }
type Slow = ReturnType<typeof openSlow>['deps']
const purges: [string, (deps: Slow) => Promise<unknown>][] = [
  ['a webhook', (deps) => purgeWebhook(deps, { webhookId: 'whk_1', stepsMax: 99, lease })],
  ['an inbox', (deps) => purgeInbox(deps, { inboxId: 'inb_1', stepsMax: 99, lease })],
  ['what has expired', (deps) => purgeExpired(deps, NEVER)],
]
/** How long it went on after its last step; the shortest of some, for a busy machine makes one late. */
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
      // Where the machine makes a step long, the pause after it has its bound.
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
    // Its pause is as long as one may be.
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
