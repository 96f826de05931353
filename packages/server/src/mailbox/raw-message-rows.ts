// Raw messages: the bytes as they came, kept while anything refers to them.

import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

export type RawMessage = {
  id: string
  sizeBytes: number
  sha256: Uint8Array
  reversePath: string
  /** Null when the bytes lie in the blob store, under the raw message's id. */
  content: Uint8Array | null
}

/** The raw message with this id, or null. Ids come from rows of an account, never from a caller. */
export async function findRawMessage(db: ReadDb, rawId: string): Promise<RawMessage | null> {
  const [row] = await selectRaw(db.reading, { id: rawId })
  if (row === undefined) return null
  return {
    id: row.id,
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
    reversePath: row.reverse_path,
    content: row.content,
  }
}

const selectRaw = statement<
  Tables,
  { id: string },
  Pick<Row<'raw_messages'>, 'id' | 'size_bytes' | 'sha256' | 'reverse_path' | 'content'>
>((query, place) =>
  query
    .selectFrom('raw_messages')
    .select(['id', 'size_bytes', 'sha256', 'reverse_path', 'content'])
    .where('id', '=', place('id')),
)

/** Of these ids, the ones that a raw message still has: the others are orphans of the blob store. */
export async function existingRawIds(db: ReadDb, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('raw_messages')
    .select('id')
    .where('id', 'in', ids)
    .execute()
  return new Set(rows.map((row) => row.id))
}

/**
 * Takes one reference from each of these raw messages, from one that is named twice two, and removes
 * those that nobody refers to any more. Returns the ids of the removed ones whose bytes lie in the
 * blob store.
 */
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
  return removed.filter((row) => Boolean(row.is_blob)).map((row) => row.id)
}

/** The same without the first of each. */
function repeatedOf(ids: string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.size === seen.add(id).size)
}
