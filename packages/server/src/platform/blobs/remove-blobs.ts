// Removing bytes that nothing refers to any more, after the transaction that said so.

import { raceAbort } from '#platform/abort.ts'
import { storageTrouble } from '#platform/storage-trouble.ts'
import type { BlobStore } from './blob-store.ts'

/** Somebody waits: a sender, whoever deletes, the lease of a job, the end of the service. */
const WAIT_MS = 5_000

/**
 * Removes what it can, and waits for no longer than `waitMs`, 5 seconds: what is under way then goes on. What a store
 * in trouble keeps is an orphan from now on, which the sweep removes: the transaction before it has happened,
 * and is not told as failed.
 */
export async function removeBlobs(
  { blobs }: { blobs: BlobStore | null },
  ids: readonly string[],
  { waitMs = WAIT_MS }: { waitMs?: number } = {},
): Promise<void> {
  if (blobs === null || ids.length === 0) return
  try {
    await raceAbort(blobs.remove(ids), { timeoutMs: waitMs })
  } catch (error) {
    if (storageTrouble(error) === null) throw error
  }
}
