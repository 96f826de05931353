// The store of large raw messages. Ids are the service's own, never text from outside.

import { raceAbort } from '#platform/abort.ts'
import { storageErrorKind } from '#platform/problem.ts'

/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * 1024
/** Blobs removed, or copied for a backup, at once. */
export const BLOBS_AT_ONCE_MAX = 8

export type BlobStore = {
  /**
   * Resolves when the bytes are stored durably. Rejects with a `StorageError`; the bytes may be stored even
   * then.
   */
  put(id: string, content: Uint8Array): Promise<void>
  get(id: string): Promise<Uint8Array | null>
  /** Ignores absent ids. */
  remove(ids: readonly string[]): Promise<void>
  /** Time between two sweeps, by the cost of listing everything. */
  readonly sweepEveryMs: number
  /** Lists everything in batches, for the sweep of orphans. */
  list(): AsyncIterable<StoredBlob[]>
  /** Aborts calls under way; later calls are refused. */
  close(): Promise<void>
}

export type StoredBlob = {
  /** The name of the blob. Other programs may have stored things, too. */
  readonly id: string
  /** Milliseconds since it was stored, by the clock of the store; 0 when unknown. */
  readAgeMs(): Promise<number>
}

/**
 * The path of a blob, on disk and in a bucket: a folder, a slash and the id. Throws when the id could be a
 * path.
 */
export function blobName(id: string): string {
  if (!/^[a-z0-9_]{5,64}$/.test(id))
    throw new Error('A blob id is letters, digits and underscores.')
  // Ids begin with a time and end with random characters, so the folders fill evenly.
  return `${id.slice(-2)}/${id}`
}

/** Callers wait: a sender, a deletion, the lease of a job, the end of the service. */
const WAIT_MS = 5_000

/**
 * Removes blobs that nothing refers to, after the transaction that deleted the references. Waits for at most
 * `waitMs`; the removal continues. Blobs that a failing store keeps are orphans, which the sweep removes: the
 * caller's transaction has succeeded.
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
    if (storageErrorKind(error) === null) throw error
  }
}
