// Mail to the postmaster of the service, to and from rows; only operators read it.

import type { NewRow, ReadDb, Row, Tx } from './tables.ts'

export type PostmasterPage = {
  messages: Row<'postmaster_messages'>[]
  /** Pass it as `before` to get the messages that follow; null at the end. */
  next: string | null
}

/**
 * Adds a message; false, and nothing is added, when the same one (by its receipt key) is there
 * already, as when a peer lost our answer.
 */
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

/** Up to `limit` messages, newest first; from the one after `before` when that is given. */
export async function listPostmasterMessages(
  db: ReadDb,
  input: { limit: number; before: string | null },
): Promise<PostmasterPage> {
  // Ids of raw messages are made in the order of time.
  let query = db.read.selectFrom('postmaster_messages').selectAll().orderBy('raw_id', 'desc')
  if (input.before !== null) query = query.where('raw_id', '<', input.before)
  const rows = await query.limit(input.limit + 1).execute()
  const messages = rows.slice(0, input.limit)
  return { messages, next: rows.length > input.limit ? (messages.at(-1)?.raw_id ?? null) : null }
}

/** The message with this id, or null. */
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
