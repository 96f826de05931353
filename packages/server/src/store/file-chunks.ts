// Files of exports, imports and uploads, in chunks of up to a mebibyte in the blob store or else in
// the database, so that every process can read them.

import { statement } from '#platform/db/statement.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { Store } from './store.ts'
import type { ReadDb, Row, Tables, Tx } from './tables.ts'
import { noteUnreferenced } from './unreferenced-blobs.ts'

export const CHUNK_BYTES = 1024 * 1024

/** `content` is null if it is in the blob store under `id`. */
export type NewChunk = Omit<Row<'transfer_chunks'>, 'transfer_id'>

/** Makes chunks of CHUNK_BYTES; the last may be shorter. */
export async function* inChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let length = 0
  for await (const part of parts) {
    held.push(part)
    length += part.length
    if (length < CHUNK_BYTES) continue
    const all = Buffer.concat(held)
    for (; length >= CHUNK_BYTES; length -= CHUNK_BYTES) {
      yield all.subarray(all.length - length, all.length - length + CHUNK_BYTES)
    }
    held = [Buffer.from(all.subarray(all.length - length))]
  }
  if (length > 0) yield Buffer.concat(held)
}

/** The caller must write the returned chunks with the progress of the file. */
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

export async function insertChunks(
  tx: Tx,
  fileId: string,
  chunks: readonly NewChunk[],
): Promise<void> {
  for (const chunk of chunks) {
    await tx.query
      .insertInto('transfer_chunks')
      .values({ transfer_id: fileId, ...chunk })
      .execute()
  }
}

/** Returns the ids that have blobs. */
export async function removeChunks(tx: Tx, chunks: readonly { id: string }[]): Promise<string[]> {
  if (chunks.length === 0) return []
  const ids = chunks.map(({ id }) => id)
  const removed = await tx.query
    .deleteFrom('transfer_chunks')
    .where('id', 'in', ids)
    .returning((row) => ['id', row('content', 'is', null).as('is_blob')])
    .execute()
  const blobIds = removed.filter(({ is_blob }) => Boolean(is_blob)).map(({ id }) => id)
  await noteUnreferenced(tx, blobIds)
  return blobIds
}

export async function* readChunks(
  { db, blobs }: Pick<Store, 'db' | 'blobs'>,
  { fileId, start, end }: { fileId: string; start: number; end: number },
): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const chunk = await findChunk(db, { fileId, startBytes: at })
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

function rethrow(error: unknown): never {
  throw error
}

/** Finds the last chunk that begins at or before `startBytes`, or null. */
async function findChunk(
  db: ReadDb,
  input: { fileId: string; startBytes: number },
): Promise<NewChunk | null> {
  const [chunk = null] = await selectChunk(db.reading, input)
  return chunk
}

const selectChunk = statement<Tables, { fileId: string; startBytes: number }, NewChunk>(
  (query, given) =>
    query
      .selectFrom('transfer_chunks')
      .select(['id', 'start_bytes', 'size_bytes', 'content'])
      .where('transfer_id', '=', given('fileId'))
      .where('start_bytes', '<=', given('startBytes'))
      .orderBy('start_bytes', 'desc')
      .limit(1),
)

/** Returns the ids that exist. Blobs of the other ids are orphans. */
export async function existingChunkIds(db: ReadDb, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('transfer_chunks')
    .select('id')
    .where('id', 'in', ids)
    .execute()
  return new Set(rows.map(({ id }) => id))
}
