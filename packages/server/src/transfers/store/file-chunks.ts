import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Tables } from '#store/tables.ts'
import type { NewChunk } from './transfers.ts'

/** Finds the last chunk that begins at or before `startBytes`, or null. */
export async function findChunk(
  db: ReadDb,
  input: { transferId: string; startBytes: number },
): Promise<NewChunk | null> {
  const [chunk = null] = await selectChunk(db.reading, input)
  return chunk
}

const selectChunk = statement<Tables, { transferId: string; startBytes: number }, NewChunk>(
  (query, given) =>
    query
      .selectFrom('transfer_chunks')
      .select(['id', 'start_bytes', 'size_bytes', 'content'])
      .where('transfer_id', '=', given('transferId'))
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
