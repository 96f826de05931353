// Removing what has outlived its time, and blobs that no message refers to.

import type { Deps } from '#actions/deps.ts'
import { raceAbort } from '#base/abort.ts'
import { isIdOf } from '#base/ids.ts'
import { ORPHAN_MS } from '#base/limits.ts'
import type { StoredBlob } from '#blobs/blob-store.ts'
import { existingRawIds } from '#store/raw-message.ts'
import { purgeExpiredStep } from '#store/retention.ts'
import { countStoredStep, findUncountedInbox } from '#store/stored-bytes.ts'
import { paced } from './paced.ts'
import { removeBlobs } from './remove-blobs.ts'

type RetentionDeps = Pick<Deps, 'db' | 'blobs' | 'clock'>

/**
 * Removes expired events, addresses and postmaster mail in small steps until none is left, and ends after
 * one of them when `signal` is aborted. Safe to run again.
 */
export async function purgeExpired(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  // Less expires meanwhile than a step removes.
  while (!signal.aborted) {
    const { isDone } = await paced(async () => {
      const removed = await deps.db.write(purgeExpiredStep, { nowMs: deps.clock.now() })
      await removeBlobs(deps, removed.blobIds)
      return removed
    }, signal)
    if (isDone) return
  }
}

/** Counts what accounts store, of before it was counted, in small steps until nothing is left. */
export async function countOldStored({ db }: Pick<Deps, 'db'>, signal: AbortSignal): Promise<void> {
  let from = ''
  while (!signal.aborted) {
    const inboxId = await findUncountedInbox(db, from)
    if (inboxId === null) return
    from = inboxId
    await paced(async () => {
      await db.write(countStoredStep, { inboxId })
      return { isDone: false }
    }, signal)
  }
}

/**
 * Removes blobs that no message refers to, and says how many: of crashes, of commits that failed, of
 * removals while the store was away. A blob is stored before its message commits, maybe by another
 * process, so only one that has been there for `orphanMs` by the clock of the store is an orphan: the
 * clocks of processes, from which its id is made, may differ. Ends when `signal` is aborted, and waits for
 * nothing then: what was asked of the store is cut when that is closed.
 */
export async function sweepBlobs(
  { db, blobs }: Pick<Deps, 'db' | 'blobs'>,
  signal: AbortSignal,
  { orphanMs = ORPHAN_MS }: { orphanMs?: number } = {},
): Promise<number> {
  if (blobs === null) return 0
  let removed = 0
  const batches = blobs.list()[Symbol.asyncIterator]()
  while (!signal.aborted) {
    const batch = await raceAbort(batches.next(), { signal })
    if (batch === null || batch.done === true) break
    const stored = batch.value
    const ours = stored.filter(({ id }) => isIdOf('raw', id))
    // Looked up first: of files the age is asked one by one.
    const known = await existingRawIds(db, idsOf(ours))
    const orphans: string[] = []
    for (const { id, readAgeMs } of ours) {
      if (!known.has(id) && (await readAgeMs()) >= orphanMs) orphans.push(id)
    }
    const isDone = await raceAbort(
      blobs.remove(orphans).then(() => true),
      { signal },
    )
    if (isDone) removed += orphans.length
  }
  return removed
}

function idsOf(stored: readonly StoredBlob[]): string[] {
  return stored.map(({ id }) => id)
}
