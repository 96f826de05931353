import { CHUNK_BYTES, readChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'

/** Parts are small, because a client may be slow. */
const DOWNLOAD_PART_BYTES = 64 * 1024
/** A download uses the memory of the current chunk and parts of the previous one. */
export const DOWNLOAD_HOLDS_BYTES = 2 * CHUNK_BYTES

/** Parts are small, so that a stalled client uses little of the socket's buffer. */
export async function* readForClient(
  deps: Store,
  asked: { fileId: string; start: number; end: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of readChunks(deps, asked)) {
    for (let at = 0; at < piece.length; at += DOWNLOAD_PART_BYTES) {
      yield piece.subarray(at, at + DOWNLOAD_PART_BYTES)
    }
  }
}
