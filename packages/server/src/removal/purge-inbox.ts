// Removing the mail of a deleted inbox, a step at a time.

import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { removeBlobs } from '#platform/blobs/remove-blobs.ts'
import { paced } from '#platform/paced.ts'
import type { Lease } from '#queue/lease.ts'
import type { Db } from '#schema/tables.ts'
import { purgeInboxStep } from './retention-rows.ts'

/**
 * Runs up to `stepsMax` steps, as a job for as long as its lease lets it; true when nothing of the
 * inbox is left. Safe to run again.
 */
export async function purgeInbox(
  deps: { db: Db; blobs: BlobStore | null },
  input: { inboxId: string; stepsMax: number; lease?: Lease },
): Promise<boolean> {
  for (let step = 0; step < input.stepsMax; step++) {
    if (input.lease !== undefined && !(await input.lease.mayGoOn())) return false
    const remove = async () => {
      const removed = await deps.db.write(purgeInboxStep, { inboxId: input.inboxId })
      await removeBlobs(deps, removed.blobIds)
      return removed
    }
    // Whoever waits for the first steps is not kept waiting for more.
    const { isDone } = input.lease === undefined ? await remove() : await paced(remove)
    if (isDone) return true
  }
  return false
}
