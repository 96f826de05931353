// The port to where large raw messages lie. Ids are the service's own, never text from outside.

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
