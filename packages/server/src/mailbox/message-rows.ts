// Messages, from rows. Lists are ranges of positions, so a page costs the same wherever it lies.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables } from '#schema/tables.ts'
import type { DeliveryRole, Direction, Message, MessageStatus } from './message.ts'

/** How much of a body that is too long for a row is read, and what is waited for before it is. */
export type LongBodies = {
  /** In characters; all of it when left out. */
  readonly lengthMax?: number
  /** Called before a long body is read; what it rejects with is passed on. */
  readonly before?: () => Promise<void>
}

/**
 * Messages of an inbox, newest first, long bodies read one by one as they are asked for; null when the
 * account has no such inbox.
 */
export async function listMessages(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    limit: number
    offset: number
    bodyLengthMax: number
  },
): Promise<{ messages: AsyncIterable<Message>; total: number } | null> {
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
  let query = db.read
    .selectFrom('messages')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where(column, '<=', newest)
    .where(column, '>', newest - input.limit)
    .orderBy(column, 'desc')
  if (input.direction !== null) query = query.where('direction', '=', input.direction)
  const rows = newest > 0 ? await query.execute() : []
  return { messages: completed(db, rows, input.bodyLengthMax), total }
}

/** A message of the account, or null; also null once its inbox is deleted. */
export async function findMessage(
  db: ReadDb,
  accountId: string,
  messageId: string,
  longBodies: LongBodies = {},
): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .selectAll('messages')
    .where('messages.id', '=', messageId)
    .where('messages.account_id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : complete(db, row, longBodies)
}

/** A message of whichever account, for a caller who proved the right to it by a signature. */
export async function findSignedMessage(
  db: ReadDb,
  messageId: string,
  longBodies: LongBodies = {},
): Promise<Message | null> {
  const row = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .selectAll('messages')
    .where('messages.id', '=', messageId)
    .executeTakeFirst()
  return row === undefined ? null : complete(db, row, longBodies)
}

/**
 * Those of the messages that exist, each with its place in its inbox, in no order. Of bodies too long
 * for a row the first `bodyLengthMax` characters are read, of one message at a time.
 */
export async function* findMessagesCut(
  db: ReadDb,
  input: { accountIds: readonly string[]; messageIds: readonly string[]; bodyLengthMax: number },
): AsyncGenerator<{ message: Message; accountId: string; position: number }> {
  const rows = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .selectAll('messages')
    .where('messages.id', 'in', input.messageIds)
    .where('messages.account_id', 'in', input.accountIds)
    .execute()
  for (const row of rows) {
    const message = await complete(db, row, { lengthMax: input.bodyLengthMax })
    if (message === null) continue
    yield { message, accountId: row.account_id, position: row.position }
  }
}

/** What a search goes by, without the bodies. */
export type MessageHead = {
  id: string
  position: number
  threadId: string
  fromAddr: string
  subject: string
  direction: Direction
}

type HeadsAfter = {
  accountId: string
  inboxId: string
  direction: Direction
  after: number
  limit: number
}

/** Messages of an inbox behind a position, in order: what was received, or sent with a known outcome. */
export async function listMessageHeads(db: ReadDb, input: HeadsAfter): Promise<MessageHead[]> {
  return (await selectHeadsAfter(db.reading, input)).map(toHead)
}

const selectHeadsAfter = statement<Tables, HeadsAfter, HeadRow>((query, place) =>
  selectHeads(query)
    .where('account_id', '=', place('accountId'))
    .where('inbox_id', '=', place('inboxId'))
    .where('direction', '=', place('direction'))
    .where('status', '!=', 'pending')
    .where('position', '>', place('after'))
    .orderBy('position')
    .limit(place('limit')),
)

/** Of these messages of an inbox, those that exist, in no order. */
export async function findMessageHeads(
  db: ReadDb,
  input: { accountId: string; inboxId: string; messageIds: readonly string[] },
): Promise<MessageHead[]> {
  if (input.messageIds.length === 0) return []
  const rows = await selectHeads(db.read)
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('id', 'in', input.messageIds)
    .execute()
  return rows.map(toHead)
}

type HeadRow = Pick<
  Row<'messages'>,
  'id' | 'position' | 'thread_id' | 'from_addr' | 'subject' | 'direction'
>

function selectHeads(query: ReadDb['read']) {
  return query
    .selectFrom('messages')
    .select(['id', 'position', 'thread_id', 'from_addr', 'subject', 'direction'])
}

function toHead(row: HeadRow): MessageHead {
  return {
    id: row.id,
    position: row.position,
    threadId: row.thread_id,
    fromAddr: row.from_addr,
    subject: row.subject,
    direction: row.direction as Direction,
  }
}

/** Messages of one page, whose rows are read at once. */
const PAGE_MESSAGES = 100
/**
 * Messages of a longer thread that are read at once: so many rows, of up to 192 KiB each, are in memory while
 * a client takes its time.
 */
const THREAD_STEP_MESSAGES = 20

/**
 * Messages of a thread, oldest first, read step by step as they are asked for. The caller has found the
 * thread in its account.
 */
export async function* listThreadMessages(
  db: ReadDb,
  input: {
    accountId: string
    threadId: string
    limit: number
    offset: number
    bodyLengthMax: number
  },
): AsyncGenerator<Message> {
  const end = input.offset + input.limit
  const step = input.limit <= PAGE_MESSAGES ? input.limit : THREAD_STEP_MESSAGES
  for (let from = input.offset; from < end; from += step) {
    const rows = await db.read
      .selectFrom('messages')
      .selectAll()
      .where('account_id', '=', input.accountId)
      .where('thread_id', '=', input.threadId)
      .where('thread_position', '>', from)
      .where('thread_position', '<=', Math.min(from + step, end))
      .orderBy('thread_position')
      .execute()
    yield* completed(db, rows, input.bodyLengthMax)
  }
}

/** Rows as messages; the bodies of long ones are read when their turn comes. */
async function* completed(
  db: ReadDb,
  rows: Row<'messages'>[],
  lengthMax: number,
): AsyncGenerator<Message> {
  for (const row of rows) {
    // Each takes some 10 ms of SQLite, which runs in this thread: others have their turn in between.
    const message = await complete(db, row, { lengthMax, before: nextTurn })
    if (message !== null) yield message
  }
}

/** By what the row holds, not by today's limit: it was written under whatever limit stood then. */
function isLong(row: Row<'messages'>): boolean {
  return row.body_length > row.body_text.length + row.body_html.length
}

/** Null when the message was deleted since its row was read. */
async function complete(
  db: ReadDb,
  row: Row<'messages'>,
  { lengthMax, before }: LongBodies,
): Promise<Message | null> {
  if (!isLong(row)) return toMessage(row)
  await before?.()
  const whole = db.read.selectFrom('long_bodies').where('raw_id', '=', row.raw_id)
  const bodies =
    lengthMax === undefined
      ? await whole.select(['body_text', 'body_html', 'extracted_text']).executeTakeFirst()
      : await whole
          .select([
            sql<string>`substr(body_text, 1, ${lengthMax})`.as('body_text'),
            sql<string>`substr(body_html, 1, ${lengthMax})`.as('body_html'),
            sql<string | null>`substr(extracted_text, 1, ${lengthMax})`.as('extracted_text'),
          ])
          .executeTakeFirst()
  return bodies === undefined ? null : toMessage({ ...row, ...bodies })
}

/** An inbox's totals, or null when the account has no such inbox. */
export async function readCounters(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<Row<'inbox_counters'> | null> {
  const [row] = await selectCounters(db.reading, { accountId, inboxId })
  return row ?? null
}

const selectCounters = statement<
  Tables,
  { accountId: string; inboxId: string },
  Row<'inbox_counters'>
>((query, place) =>
  query
    .selectFrom('inbox_counters')
    .innerJoin('inboxes', 'inboxes.id', 'inbox_counters.inbox_id')
    .selectAll('inbox_counters')
    .where('inboxes.id', '=', place('inboxId'))
    .where('inboxes.account_id', '=', place('accountId')),
)

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
