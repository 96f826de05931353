// Whose a message is, for callers who proved the right to something of it by a signature.

import type { ReadDb } from '#schema/tables.ts'

/** Null when there is no such message, or its inbox is deleted. */
export async function findMessageAccount(db: ReadDb, messageId: string): Promise<string | null> {
  const row = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .select('messages.account_id')
    .where('messages.id', '=', messageId)
    .executeTakeFirst()
  return row?.account_id ?? null
}
