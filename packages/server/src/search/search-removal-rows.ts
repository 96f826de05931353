// Out of the index of words: messages of deleted inboxes at once, and their words out of the file that
// the embedded engine keeps, which holds words of removed entries until it is rewritten.

import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { eraseTextStep, keepsRemovedText, removeTextEntries } from '#platform/db/text-index.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'
import { entryId } from './search-index-rows.ts'

/** Pages that a step of erasing deleted words writes, and how much of the time it may go on. */
const SEARCH_ERASE_STEP_PAGES = 64

/** Takes messages at these positions of a deleted inbox out of the index. */
export async function removeFromSearch(
  tx: Tx,
  { inboxId, positions }: { inboxId: string; positions: readonly number[] },
): Promise<void> {
  // Waits for whoever is indexing it just now; nobody begins any more.
  const inbox = await lockRows(
    tx,
    tx.query.selectFrom('search_inboxes').select('number').where('inbox_id', '=', inboxId),
  ).executeTakeFirst()
  if (inbox === undefined) return
  const ids = positions.map((position) => entryId(inbox.number, position))
  await removeTextEntries(tx, ids)
}

/** Nothing of a deleted inbox is in the index any more, but perhaps words that are still to be erased. */
export async function endSearchInbox(tx: Tx, inboxId: string): Promise<void> {
  if (keepsRemovedText(tx.engine)) {
    await tx.query
      .updateTable('search_inboxes')
      .set({ is_purged: 1 })
      .where('inbox_id', '=', inboxId)
      .where('position', '>', 0)
      .execute()
    await tx.query
      .deleteFrom('search_inboxes')
      .where('inbox_id', '=', inboxId)
      .where('position', '=', 0)
      .execute()
    return
  }
  await tx.query.deleteFrom('search_inboxes').where('inbox_id', '=', inboxId).execute()
}

/** The numbers of deleted inboxes whose words are still to be erased, some thousand of them. */
export async function listPurgedNumbers(db: ReadDb): Promise<number[]> {
  if (!keepsRemovedText(db.reading.engine)) return []
  const rows = await db.read
    .selectFrom('search_inboxes')
    .select('number')
    .where('is_purged', '=', sql.lit(1))
    .orderBy('number')
    .limit(PURGED_MAX)
    .execute()
  return rows.map(({ number }) => number)
}

const PURGED_MAX = 5_000

/**
 * A step of a round that erases the words of all that was removed before its first step; true when they
 * are gone. A round that was broken off is begun again.
 */
export const eraseSearchStep = transaction({
  name: 'eraseSearchStep',
  accountOf: () => null,
  async run(tx: Tx, { isFirst }: { isFirst: boolean }): Promise<boolean> {
    return eraseTextStep(tx, { pages: SEARCH_ERASE_STEP_PAGES, isFirst })
  },
})

/** Forgets deleted inboxes whose words are erased. */
export const forgetPurgedSearch = transaction({
  name: 'forgetPurgedSearch',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { numbers }: { numbers: number[] }): Promise<void> {
    await tx.query
      .deleteFrom('search_inboxes')
      .where('number', 'in', numbers)
      .where('is_purged', '=', 1)
      .execute()
  },
})
