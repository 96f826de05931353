// Stores transfer files in chunks of up to a mebibyte, in the blob store or else in the database,
// so that every process can read them.

import { StorageError } from '#platform/db/storage-error.ts'
import type { Store } from '#store/store.ts'
import { findChunk } from '#transfers/store/file-chunks.ts'
import type { NewChunk } from '#transfers/store/transfers.ts'

export const CHUNK_BYTES = 1024 * 1024
/** Parts are small, because a client may be slow. */
const DOWNLOAD_PART_BYTES = 64 * 1024
/** A download uses the memory of the current chunk and parts of the previous one. */
export const DOWNLOAD_HOLDS_BYTES = 2 * CHUNK_BYTES

/** The caller must write the returned chunks with the progress of the transfer. */
export async function storeChunks(
  { blobs, makeId }: Store,
  bytes: Uint8Array,
  startBytes: number,
): Promise<NewChunk[]> {
  const chunks: NewChunk[] = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    // The chunk is copied, because the writer thread would get its entire buffer.
    const content = new Uint8Array(bytes.subarray(at, at + CHUNK_BYTES))
    const id = makeId('chk')
    if (blobs !== null) await blobs.put(id, content)
    chunks.push({
      id,
      start_bytes: startBytes + at,
      size_bytes: content.length,
      content: blobs === null ? content : null,
    })
  }
  return chunks
}

/** Returns the blobs of chunks that were not added. */
export function idsOfBlobs(chunks: readonly NewChunk[]): string[] {
  return chunks.flatMap(({ id, content }) => (content === null ? [id] : []))
}

export async function* readFile(
  { db, blobs }: Store,
  { transferId, start, end }: { transferId: string; start: number; end: number },
): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const chunk = await findChunk(db, { transferId, startBytes: at })
    const content = chunk?.content ?? (await blobs?.get(chunk?.id ?? '').catch(rethrow)) ?? null
    if (chunk === null || content === null || content.length !== chunk.size_bytes) {
      throw new StorageError('busy', 'A piece of the file is missing.')
    }
    const from = at - chunk.start_bytes
    if (from >= content.length) throw new StorageError('busy', 'A piece of the file is missing.')
    const piece = content.subarray(from, Math.min(content.length, end - chunk.start_bytes))
    yield piece
    at += piece.length
  }
}

/** Parts are small, so that a stalled client uses little of the socket's buffer. */
export async function* readForClient(
  deps: Store,
  asked: { transferId: string; start: number; end: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of readFile(deps, asked)) {
    for (let at = 0; at < piece.length; at += DOWNLOAD_PART_BYTES) {
      yield piece.subarray(at, at + DOWNLOAD_PART_BYTES)
    }
  }
}

function rethrow(error: unknown): never {
  throw error
}
