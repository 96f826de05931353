// Stores mail to the service's postmaster, which only operators read.

import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { NewRow, ReadDb, Row, Tx } from '#store/tables.ts'

type PostmasterPage = {
  messages: Row<'postmaster_messages'>[]
  /** The `before` of the next page, or null at the end. */
  next: string | null
}

/** Returns false if the same message is already stored, as when a peer lost our reply. */
export async function addPostmasterMessage(
  tx: Tx,
  message: NewRow<'postmaster_messages'>,
): Promise<boolean> {
  const added = await tx.query
    .insertInto('postmaster_messages')
    .values(message)
    .onConflict((conflict) => conflict.doNothing())
    .returning('raw_id')
    .execute()
  return added.length > 0
}

/** The bound also limits the cost of a search. */
const POSTMASTER_MESSAGES_MAX = 1_000
/** The total is bounded because anyone may write to the postmaster. */
const POSTMASTER_BYTES_MAX = 100 * 1024 * 1024

/** `added` need not be stored yet. Returns the blobs that are no longer referenced. */
export async function dropOldestPostmasterMail(
  tx: Tx,
  added: { id: string; size_bytes: number },
): Promise<string[]> {
  const newest = await tx.query
    .selectFrom('postmaster_messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'postmaster_messages.raw_id')
    .select(['raw_id', 'size_bytes'])
    .where('raw_id', '!=', added.id)
    .orderBy('raw_id', 'desc')
    .limit(POSTMASTER_MESSAGES_MAX)
    .execute()
  let keptBytes = added.size_bytes
  const over = newest.find(({ size_bytes }, index) => {
    keptBytes += size_bytes
    return index + 1 >= POSTMASTER_MESSAGES_MAX || keptBytes > POSTMASTER_BYTES_MAX
  })
  if (over === undefined) return []
  const oldest = await tx.query
    .selectFrom('postmaster_messages')
    .select('raw_id')
    .where('raw_id', '<=', over.raw_id)
    .orderBy('raw_id')
    .limit(PURGE_STEP_ROWS)
    .execute()
  const ids = oldest.map((row) => row.raw_id)
  const removed = await tx.query
    .deleteFrom('postmaster_messages')
    .where('raw_id', 'in', ids)
    .returning('raw_id')
    .execute()
  return dropRawReferences(
    tx,
    removed.map((row) => row.raw_id),
  )
}

/** Lists messages newest first. */
export async function listPostmasterMessages(
  db: ReadDb,
  input: { limit: number; before: string | null },
): Promise<PostmasterPage> {
  // The ids of raw messages begin with their time.
  let query = db.read.selectFrom('postmaster_messages').selectAll().orderBy('raw_id', 'desc')
  if (input.before !== null) query = query.where('raw_id', '<', input.before)
  const rows = await query.limit(input.limit + 1).execute()
  const messages = rows.slice(0, input.limit)
  return { messages, next: rows.length > input.limit ? (messages.at(-1)?.raw_id ?? null) : null }
}

export async function findPostmasterMessage(
  db: ReadDb,
  rawId: string,
): Promise<Row<'postmaster_messages'> | null> {
  const row = await db.read
    .selectFrom('postmaster_messages')
    .selectAll()
    .where('raw_id', '=', rawId)
    .executeTakeFirst()
  return row ?? null
}
