// What a reply has to know of its thread: the newest message, the identifiers before it, and who
// copied the inbox.

import { REFERENCES_SENT_MAX, THREAD_COPIES_LOOKED_AT_MAX } from '#base/limits.ts'
import type { Message } from '#model/message.ts'
import { findMessage } from './message.ts'
import type { ReadDb } from './tables.ts'

type Place = { accountId: string; threadId: string }

/** The newest message of the thread; null when it is gone. */
export async function findLastMessage(
  db: ReadDb,
  { accountId, threadId }: Place,
): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .orderBy('thread_position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : findMessage(db, accountId, row.id)
}

/**
 * Message-IDs in the thread, oldest first, of a long thread the first and the newest: one for each
 * message, so that the last names the newest even where an earlier one has the same.
 */
export async function listThreadIds(db: ReadDb, { accountId, threadId }: Place): Promise<string[]> {
  const inThread = db.read
    .selectFrom('messages')
    .select(['rfc_message_id', 'thread_position'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
  const newest = await inThread
    .orderBy('thread_position', 'desc')
    .limit(REFERENCES_SENT_MAX)
    .execute()
  const isWhole = newest.at(-1)?.thread_position === 1
  const first = isWhole ? [] : await inThread.where('thread_position', '=', 1).execute()
  return [...first, ...newest.reverse()]
    .map((row) => row.rfc_message_id)
    .filter((id) => id !== null)
}

/**
 * The From of the first message that copied the inbox; null where none did. Of a very long thread only
 * the beginning is looked at.
 */
export async function findCopiedFrom(
  db: ReadDb,
  { accountId, threadId }: Place,
): Promise<string | null> {
  const row = await db.read
    .selectFrom('messages')
    .select('from_addr')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where('thread_position', '<=', THREAD_COPIES_LOOKED_AT_MAX)
    .where('delivery_role', '=', 'cc')
    .orderBy('thread_position')
    .limit(1)
    .executeTakeFirst()
  return row?.from_addr ?? null
}
