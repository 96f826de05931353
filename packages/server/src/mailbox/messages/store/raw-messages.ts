// Raw messages are stored byte for byte while any row refers to them.

import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Tables, Tx } from '#store/tables.ts'
import { noteUnreferenced } from '#store/unreferenced-blobs.ts'

export type RawMessage = {
  id: string
  sizeBytes: number
  sha256: Uint8Array
  reversePath: string
  /** The content is null if the bytes are in the blob store under this id. */
  content: Uint8Array | null
}

/** The caller must take `rawId` from a row of the account, never from a request. */
export async function findRawMessage(db: ReadDb, rawId: string): Promise<RawMessage | null> {
  const [raw = null] = await selectRaw(db.reading, { id: rawId })
  return raw
}

const selectRaw = statement<Tables, { id: string }, RawMessage>((query, given) =>
  query
    .selectFrom('raw_messages')
    .select(['id', 'size_bytes as sizeBytes', 'sha256', 'reverse_path as reversePath', 'content'])
    .where('id', '=', given('id')),
)

/** Returns the ids that exist. Blobs of the other ids are orphans. */
export async function existingRawIds(db: ReadDb, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('raw_messages')
    .select('id')
    .where('id', 'in', ids)
    .execute()
  return new Set(rows.map((row) => row.id))
}

/** Drops one reference for each occurrence of an id. Returns the removed ids that have blobs. */
export async function dropRawReferences(tx: Tx, rawIds: string[]): Promise<string[]> {
  if (rawIds.length === 0) return []
  for (let named = rawIds; named.length > 0; named = repeatedOf(named)) {
    await tx.query
      .updateTable('raw_messages')
      .set((row) => ({ reference_count: row('reference_count', '-', 1) }))
      .where('id', 'in', named)
      .execute()
  }
  const removed = await tx.query
    .deleteFrom('raw_messages')
    .where('id', 'in', rawIds)
    .where('reference_count', '<=', 0)
    .returning((row) => ['id', row('content', 'is', null).as('is_blob')])
    .execute()
  const ids = removed.map((row) => row.id)
  if (ids.length > 0) await tx.query.deleteFrom('long_bodies').where('raw_id', 'in', ids).execute()
  const blobIds = removed.filter((row) => Boolean(row.is_blob)).map((row) => row.id)
  await noteUnreferenced(tx, blobIds)
  return blobIds
}

function repeatedOf(ids: string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.size === seen.add(id).size)
}
