// The store of large raw messages. The service generates the ids; they never come from outside.

import { raceAbort } from '#platform/abort.ts'
import { storageErrorKind } from '#platform/problem.ts'

/** Raw messages up to this size are stored in the database, in the message's transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * 1024
export const BLOBS_AT_ONCE_MAX = 8

export type BlobStore = {
  /** Resolves once the bytes are durable. After a rejection they may be stored or not. */
  put(id: string, content: Uint8Array): Promise<void>
  get(id: string): Promise<Uint8Array | null>
  /** Ignores absent ids. */
  remove(ids: readonly string[]): Promise<void>
  /** Time between two sweeps; longer for a store where listing everything is expensive. */
  readonly sweepEveryMs: number
  list(): AsyncIterable<StoredBlob[]>
  /** Aborts pending calls and refuses later ones. */
  close(): Promise<void>
}

export type StoredBlob = {
  /** Other programs may have stored objects under other names. */
  readonly id: string
  /** The age by the store's clock; 0 if unknown. */
  readAgeMs(): Promise<number>
}

/** The blob's path on disk and in a bucket. Throws if the id itself could be a path. */
export function blobName(id: string): string {
  if (!/^[a-z0-9_]{5,64}$/.test(id))
    throw new Error('A blob id is letters, digits and underscores.')
  // Ids begin with a time and end with random characters, so the folders fill evenly.
  return `${id.slice(-2)}/${id}`
}

/** Short, because a sender, a deletion, a leased job or the shutdown waits for it. */
const WAIT_MS = 5_000

/** Continues in the background after `waitMs`. If removals fail, the sweep repeats them. */
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
