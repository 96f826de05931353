// What a reply has to know of its thread: the newest message, the identifiers before it, and who
// copied the inbox.

import type { ReadDb } from '#schema/tables.ts'
import type { Message } from './message.ts'
import { findMessage } from './message-rows.ts'

/** Messages of a thread among which the one that copied the inbox is looked for. */
const THREAD_COPIES_LOOKED_AT_MAX = 1_000

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
 * Message-IDs in the thread, oldest first: one for each message, so that the last names the newest even
 * where an earlier one has the same. Of a thread with more of them than `octetsMax` the first and the newest.
 */
export async function listThreadIds(
  db: ReadDb,
  { accountId, threadId, octetsMax }: Place & { readonly octetsMax: number },
): Promise<string[]> {
  const inThread = db.read
    .selectFrom('messages')
    .select(['rfc_message_id', 'thread_position'])
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
  const ids: (string | null)[] = []
  let octets = 0
  let before = Number.MAX_SAFE_INTEGER
  for (let page = 0; page < PAGES_MAX && octets <= octetsMax && before !== 1; page++) {
    const rows = await inThread
      .where('thread_position', '<', before)
      .orderBy('thread_position', 'desc')
      .limit(PAGE_MESSAGES)
      .execute()
    for (const { rfc_message_id: id } of rows) {
      ids.push(id)
      octets += id?.length ?? 0
    }
    before = rows.length < PAGE_MESSAGES ? 1 : (rows.at(-1)?.thread_position ?? 1)
  }
  if (before !== 1) {
    const first = await inThread.where('thread_position', '=', 1).executeTakeFirst()
    ids.push(first?.rfc_message_id ?? null)
  }
  return ids.reverse().filter((id) => id !== null)
}

/** Most threads end within the first; a header holds about as many as all together. */
const PAGE_MESSAGES = 500
const PAGES_MAX = 20

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
