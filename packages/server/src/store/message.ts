// Messages, from rows. Lists are ranges of positions, so a page costs the same wherever it lies.

import { sql } from 'kysely'
import { PAGE_BODY_LENGTH_MAX, PAGE_SIZE_MAX } from '#base/limits.ts'
import type { ParsedAttachment } from '#mail/parsed-message.ts'
import type { DeliveryRole, Direction, Message, MessageStatus } from '#model/message.ts'
import type { ReadDb, Row } from './tables.ts'

/**
 * Messages in order: at hand, or read one by one as they are asked for where some are so long that
 * together they could fill the memory.
 */
export type Messages = Message[] | AsyncIterable<Message>

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
): Promise<{ messages: Messages; total: number } | null> {
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
  const column = input.direction === null ? 'position' : 'direction_position'
  let query = selectForPage(db)
    .where('inbox_id', '=', input.inboxId)
    .where(column, '<=', newest)
    .where(column, '>', newest - input.limit)
    .orderBy(column, 'desc')
  if (input.direction !== null) query = query.where('direction', '=', input.direction)
  const rows = newest > 0 ? await query.execute() : []
  return { messages: completed(db, rows), total }
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
  input: { accountId: string; threadId: string; limit: number; offset: number },
): Promise<Messages> {
  const page = (from: number, to: number) =>
    selectForPage(db)
      .where('account_id', '=', input.accountId)
      .where('thread_id', '=', input.threadId)
      .where('thread_position', '>', from)
      .where('thread_position', '<=', to)
      .orderBy('thread_position')
      .execute()
  const { offset } = input
  const end = offset + input.limit
  if (input.limit <= PAGE_SIZE_MAX) return completed(db, await page(offset, end))
  return (async function* () {
    for (let from = offset; from < end; from += PAGE_SIZE_MAX) {
      yield* completed(db, await page(from, Math.min(from + PAGE_SIZE_MAX, end)))
    }
  })()
}

type PageRow = Omit<Row<'messages'>, 'body_text' | 'body_html' | 'extracted_text'> & {
  body_text: string | null
  body_html: string | null
  extracted_text: string | null
}

/** Rows of messages, with null for the bodies of long ones. */
function selectForPage(db: ReadDb) {
  const unlessLong = (column: 'body_text' | 'body_html' | 'extracted_text') =>
    sql<
      string | null
    >`case when body_length <= ${sql.lit(PAGE_BODY_LENGTH_MAX)} then ${sql.ref(column)} end`.as(
      column,
    )
  return db.read
    .selectFrom('messages')
    .select(LIGHT_COLUMNS)
    .select([unlessLong('body_text'), unlessLong('body_html'), unlessLong('extracted_text')])
}

function completed(db: ReadDb, rows: PageRow[]): Messages {
  if (rows.every((row) => row.body_length <= PAGE_BODY_LENGTH_MAX)) return rows.map(toMessage)
  return (async function* () {
    for (const row of rows) {
      if (row.body_length <= PAGE_BODY_LENGTH_MAX) yield toMessage(row)
      else {
        const bodies = await db.read
          .selectFrom('messages')
          .select(['body_text', 'body_html', 'extracted_text'])
          .where('account_id', '=', row.account_id)
          .where('id', '=', row.id)
          .executeTakeFirst()
        // Gone when its inbox was deleted since.
        if (bodies !== undefined) yield toMessage({ ...row, ...bodies })
      }
    }
  })()
}

const LIGHT_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'thread_id',
  'raw_id',
  'direction',
  'position',
  'direction_position',
  'thread_position',
  'status',
  'rfc_message_id',
  'message_key',
  'receipt_key',
  'from_addr',
  'to_addr',
  'header_to',
  'delivery_role',
  'cc',
  'reply_to',
  'reference_ids',
  'subject',
  'body_length',
  'attachments',
  'authentication',
  'automatic_reason',
  'failure_reason',
  'defects',
  'created_at',
] as const

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

function toMessage(row: PageRow): Message {
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
    bodyText: row.body_text ?? '',
    bodyHtml: row.body_html ?? '',
    extractedText: row.extracted_text ?? row.body_text ?? '',
    attachments: JSON.parse(row.attachments) as ParsedAttachment[],
    authentication: row.authentication === null ? null : JSON.parse(row.authentication),
    automaticReason: row.automatic_reason,
    failureReason: row.failure_reason,
    defects: JSON.parse(row.defects) as string[],
    createdAtMs: row.created_at,
  }
}
