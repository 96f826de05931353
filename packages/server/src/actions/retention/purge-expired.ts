// Removing what has outlived its time, and blobs that no message refers to.

import type { Deps } from '#actions/deps.ts'
import { idTimeMs, isIdOf } from '#base/ids.ts'
import { DAY_MS } from '#base/limits.ts'
import { existingRawIds } from '#store/raw-message.ts'

const STEPS_MAX = 1_000

/** Removes expired events, addresses and postmaster mail in small steps. Safe to run again. */
export async function purgeExpired(deps: Pick<Deps, 'db' | 'blobs' | 'clock'>): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step++) {
    const { isDone, blobIds } = await deps.db.write('purgeExpiredStep', { nowMs: deps.clock.now() })
    await deps.blobs?.remove(blobIds)
    if (isDone) return
  }
}

/**
 * Removes blobs that a crash left without a message, and says how many. A blob is written before its
 * message commits, so only one that is still unknown a day after its id was made is an orphan.
 */
export async function sweepBlobs(deps: Pick<Deps, 'db' | 'blobs' | 'clock'>): Promise<number> {
  if (deps.blobs === null) return 0
  let removed = 0
  for await (const ids of deps.blobs.list()) {
    const old = ids.filter((id) => isIdOf('raw', id) && deps.clock.now() - idTimeMs(id) > DAY_MS)
    const known = await existingRawIds(deps.db, old)
    const orphans = old.filter((id) => !known.has(id))
    await deps.blobs.remove(orphans)
    removed += orphans.length
  }
  return removed
}
