// Removing what has outlived its time, and blobs that no message refers to.

import type { Deps } from '#actions/deps.ts'
import { idTimeMs, isIdOf } from '#base/ids.ts'
import { DAY_MS } from '#base/limits.ts'
import { existingRawIds } from '#store/raw-message.ts'
import { paced } from './paced.ts'

const STEPS_MAX = 1_000

type RetentionDeps = Pick<Deps, 'db' | 'blobs' | 'clock'>

/**
 * Removes expired events, addresses and postmaster mail in small steps, and ends after one of them
 * when `signal` is aborted. Safe to run again.
 */
export async function purgeExpired(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  for (let step = 0; step < STEPS_MAX && !signal.aborted; step++) {
    const { isDone } = await paced(async () => {
      const removed = await deps.db.write('purgeExpiredStep', { nowMs: deps.clock.now() })
      await deps.blobs?.remove(removed.blobIds)
      return removed
    }, signal)
    if (isDone) return
  }
}

/**
 * Removes blobs that a crash left without a message, and says how many. A blob is written before its
 * message commits, so only one that is still unknown a day after its id was made is an orphan.
 * Ends after a batch when `signal` is aborted.
 */
export async function sweepBlobs(deps: RetentionDeps, signal: AbortSignal): Promise<number> {
  if (deps.blobs === null) return 0
  let removed = 0
  for await (const ids of deps.blobs.list()) {
    if (signal.aborted) break
    const old = ids.filter((id) => isIdOf('raw', id) && deps.clock.now() - idTimeMs(id) > DAY_MS)
    const known = await existingRawIds(deps.db, old)
    const orphans = old.filter((id) => !known.has(id))
    await deps.blobs.remove(orphans)
    removed += orphans.length
  }
  return removed
}
