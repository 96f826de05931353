import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { systemClock } from '#platform/clock.ts'
import { HOUR_MS } from '#platform/units.ts'
import { openTasks } from '#queue/periodic-tasks.ts'
import { removalWork } from '#removal/removal.ts'
import { closeSharedS3, onEachBlobStore, openBlobPlace } from '#test/conformance/blob-places.ts'
import { storeOn } from '#test/conformance/open-database.ts'

after(closeSharedS3)

onEachBlobStore('upkeep', (kind) => {
  test('expired rows are removed every hour; blobs are swept as often as their store says', async (t) => {
    const place = await openBlobPlace(kind)
    t.after(() => place.close())
    const done: Record<string, number> = {}
    mock.timers.enable({ apis: ['setInterval'] })
    t.after(() => mock.timers.reset())
    const deps = { blobs: place.blobs } as Parameters<typeof removalWork>[0]
    const { tasks = [] } = removalWork(deps, { blobStore: 'disk' })
    const counted = tasks.map((task) => ({
      ...task,
      async run() {
        done[task.name] = (done[task.name] ?? 0) + 1
      },
    }))
    const queueClock = { now: systemClock.steady, check: () => Promise.resolve() }
    const own = { ...storeOn({} as never), queueClock, makeWorker: () => 'test 1' }
    const opened = openTasks(own, { tasks: counted, isShared: false })
    for (let hour = 0; hour < 48; hour++) {
      await new Promise(setImmediate)
      mock.timers.tick(HOUR_MS)
    }
    await opened.close()
    assert.deepEqual([done.retention, done['blob sweep']], [49, kind === 's3' ? 3 : 49])
  })
})
