// Blobs are listed when they lose their last reference, so that a crash never leaves one behind.

import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { transaction } from '#platform/db/db.ts'
import { PURGE_STEP_ROWS } from './purge-steps.ts'
import type { Db, Tx } from './tables.ts'

export async function noteUnreferenced(tx: Tx, blobIds: readonly string[]): Promise<void> {
  if (blobIds.length === 0) return
  await tx.query
    .insertInto('unreferenced_blobs')
    .values(blobIds.map((id) => ({ id })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

const forgetUnreferenced = transaction({
  name: 'forgetUnreferenced',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { ids }: { ids: string[] }): Promise<void> {
    await tx.query.deleteFrom('unreferenced_blobs').where('id', 'in', ids).execute()
  },
})

/** Removes listed blobs until the list is empty. Rejects if the store fails. Runs may overlap. */
export async function removeUnreferenced(
  { db, blobs }: { db: Db; blobs: BlobStore | null },
  signal: AbortSignal,
): Promise<void> {
  while (blobs !== null && !signal.aborted) {
    const noted = await db.read
      .selectFrom('unreferenced_blobs')
      .select('id')
      .limit(PURGE_STEP_ROWS)
      .execute()
    if (noted.length === 0) return
    const ids = noted.map(({ id }) => id)
    await blobs.remove(ids)
    await db.write(forgetUnreferenced, { ids })
  }
}
