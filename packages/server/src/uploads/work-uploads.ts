import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import { inSteps } from '#store/purge-steps.ts'
import type { Store } from '#store/store.ts'
import { purgeUploadsStep } from '#uploads/store/uploads.ts'

export function uploadWork(deps: Store): FeatureWork {
  const name = 'expired uploads'
  return {
    tasks: [
      { name, everyMs: HOUR_MS, by: 'schedule', run: (signal) => purgeUploads(deps, signal) },
    ],
  }
}

/** This is safe to repeat. */
export async function purgeUploads(deps: Store, signal: AbortSignal): Promise<void> {
  await inSteps({ signal }, async () => {
    const step = await deps.db.write(purgeUploadsStep, { nowMs: deps.clock.now() })
    await removeBlobs(deps, step.blobIds)
    return step
  })
}
