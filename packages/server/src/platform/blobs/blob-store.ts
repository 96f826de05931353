// The port to where large raw messages lie. Ids are the service's own, never text from outside.

import { raceAbort } from '#platform/abort.ts'
import { storageTrouble } from '#platform/problem.ts'

/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * 1024
/** Blobs removed, or copied for a backup, at once. */
export const BLOBS_AT_ONCE_MAX = 8

export type BlobStore = {
  /**
   * Resolves when the bytes are stored under their name for good. Rejects with a `StorageError`; they
   * may be there all the same.
   */
  put(id: string, content: Uint8Array): Promise<void>
  /** Null when there is no such blob. */
  get(id: string): Promise<Uint8Array | null>
  /** Removes what is there; an absent id is no error. */
  remove(ids: readonly string[]): Promise<void>
  /** How long after one look at everything the next is due: as often as that may cost what it does. */
  readonly sweepEveryMs: number
  /** Everything, in batches, for the sweep that removes orphans. */
  list(): AsyncIterable<StoredBlob[]>
  /** Cuts what is under way; whatever is asked for later is refused. */
  close(): Promise<void>
}

export type StoredBlob = {
  /** What it is called; a stranger may have put things there, too. */
  readonly id: string
  /** Milliseconds since it was stored, by the clock of the store; 0 when that cannot be told. */
  readAgeMs(): Promise<number>
}

/**
 * The shelf of a blob and its name on it, with a slash between them: the same on disk and in a bucket.
 * Throws when the id could be a path.
 */
export function blobName(id: string): string {
  if (!/^[a-z0-9_]{5,64}$/.test(id))
    throw new Error('A blob id is letters, digits and underscores.')
  // The last characters are random, the first a time: so the shelves fill evenly.
  return `${id.slice(-2)}/${id}`
}

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
