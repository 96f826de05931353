// The port to where large raw messages lie. Ids are the service's own, never text from outside.

export type BlobStore = {
  /** Resolves when the bytes are on disk, under their name, for good. */
  put(id: string, content: Uint8Array): Promise<void>
  /** Null when there is no such blob. */
  get(id: string): Promise<Uint8Array | null>
  /** Removes what is there; an absent id is no error. */
  remove(ids: readonly string[]): Promise<void>
  /** Every id, in batches, for the sweep that removes orphans. */
  list(): AsyncIterable<string[]>
}
