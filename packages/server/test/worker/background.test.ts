import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { silentLog } from '#platform/log.ts'
import { HOUR_MS } from '#platform/units.ts'
import { openBackground, openOwnTasks } from '#queue/periodic-tasks.ts'
import { closeSharedS3, onEachBlobStore, openBlobPlace } from '#test/conformance/blob-places.ts'

after(closeSharedS3)

onEachBlobStore('upkeep', (kind) => {
  test('expired rows are removed every hour; blobs are swept as often as their store says', async (t) => {
    const place = await openBlobPlace(kind)
    t.after(() => place.close())
    const done = { purges: 0, sweeps: 0 }
    mock.timers.enable({ apis: ['setInterval'] })
    t.after(() => mock.timers.reset())
    const nothing = () => Promise.resolve(false)
    const background = openBackground({
      workJobs: nothing,
      workTransfers: nothing,
      transfersAtOnce: 1,
      workErasures: nothing,
      readAttachments: nothing,
      purgeExpired: async () => {
        done.purges += 1
      },
      sweepBlobs: async () => {
        done.sweeps += 1
        return 0
      },
      sweepEveryMs: place.blobs.sweepEveryMs,
      checkDomains: nothing,
      rotateKeys: () => Promise.resolve(),
      indexSearch: nothing,
      countHours: nothing,
      countDays: nothing,
      releaseSends: nothing,
      expireClaims: async () => false,
      mailReviews: nothing,
      expire: nothing,
      tasks: openOwnTasks(),
      log: silentLog,
    })
    for (let hour = 0; hour < 48; hour++) {
      await new Promise(setImmediate)
      mock.timers.tick(HOUR_MS)
    }
    await background.close()
    assert.deepEqual(done, { purges: 49, sweeps: kind === 's3' ? 3 : 49 })
  })
})
