// Messages, from rows. Lists are ranges of positions, so a page costs the same wherever it lies.

import type { ParsedAttachment } from '#mail/parsed-message.ts'
import type { DeliveryRole, Direction, Message, MessageStatus } from '#model/message.ts'
import type { ReadDb, Row } from './tables.ts'

/** Messages of an inbox, newest first; null when the account has no such inbox. */
export async function listMessages(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    limit: number
    offset: number
  },
): Promise<{ messages: Message[]; total: number } | null> {
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  const { inbound_count, outbound_count } = counters
  const total =
    input.direction === null
      ? inbound_count + outbound_count
      : input.direction === 'inbound'
        ? inbound_count
        : outbound_count
  const newest = total - input.offset
  if (newest <= 0) return { messages: [], total }
  const all = db.read.selectFrom('messages').selectAll().where('inbox_id', '=', input.inboxId)
  const rows =
    input.direction === null
      ? all
          .where('position', '<=', newest)
          .where('position', '>', newest - input.limit)
          .orderBy('position', 'desc')
      : all
          .where('direction', '=', input.direction)
          .where('direction_position', '<=', newest)
          .where('direction_position', '>', newest - input.limit)
          .orderBy('direction_position', 'desc')
  return { messages: (await rows.execute()).map(toMessage), total }
}

/** A message of the account, or null; also null once its inbox is deleted. */
export async function findMessage(
  db: ReadDb,
  accountId: string,
  messageId: string,
): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .selectAll('messages')
    .where('messages.id', '=', messageId)
    .where('messages.account_id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : toMessage(row)
}

/** A message of whichever account, for a caller who proved the right to it by a signature. */
export async function findSignedMessage(db: ReadDb, messageId: string): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .selectAll('messages')
    .where('messages.id', '=', messageId)
    .executeTakeFirst()
  return row === undefined ? null : toMessage(row)
}

/** Messages of a thread, oldest first. The caller has found the thread in its account. */
export async function listThreadMessages(
  db: ReadDb,
  input: { accountId: string; threadId: string; limit: number | null; offset: number },
): Promise<Message[]> {
  let query = db.read
    .selectFrom('messages')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('thread_id', '=', input.threadId)
    .where('thread_position', '>', input.offset)
    .orderBy('thread_position')
  if (input.limit !== null) query = query.limit(input.limit)
  return (await query.execute()).map(toMessage)
}

/** An inbox's totals, or null when the account has no such inbox. */
export async function readCounters(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<Row<'inbox_counters'> | null> {
  const row = await db.read
    .selectFrom('inbox_counters')
    .innerJoin('inboxes', 'inboxes.id', 'inbox_counters.inbox_id')
    .selectAll('inbox_counters')
    .where('inboxes.id', '=', inboxId)
    .where('inboxes.account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? null
}

function toMessage(row: Row<'messages'>): Message {
  return {
    id: row.id,
    threadId: row.thread_id,
    inboxId: row.inbox_id,
    rawId: row.raw_id,
    direction: row.direction as Direction,
    status: row.status as MessageStatus,
    rfcMessageId: row.rfc_message_id,
    fromAddr: row.from_addr,
    toAddr: row.to_addr,
    headerTo: row.header_to,
    deliveryRole: row.delivery_role as DeliveryRole | null,
    cc: JSON.parse(row.cc) as string[],
    replyTo: row.reply_to,
    references: JSON.parse(row.reference_ids) as string[],
    subject: row.subject,
    bodyText: row.body_text,
    bodyHtml: row.body_html,
    extractedText: row.extracted_text ?? row.body_text,
    attachments: JSON.parse(row.attachments) as ParsedAttachment[],
    authentication: row.authentication === null ? null : JSON.parse(row.authentication),
    automaticReason: row.automatic_reason,
    failureReason: row.failure_reason,
    defects: JSON.parse(row.defects) as string[],
    createdAtMs: row.created_at,
  }
}
