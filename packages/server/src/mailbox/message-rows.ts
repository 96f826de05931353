// Messages, from rows. Lists are ranges of positions, so a page costs the same wherever it lies.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Invite, ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import { addressKey } from '#platform/email-address.ts'
import type { ReadDb, Row, Tables } from '#schema/tables.ts'
import { countUpTo, selectLabelled } from './labelled-message-rows.ts'
import { categoryOfRow, type KindFields, kindOfRow } from './message-kind.ts'
import { findStart, findThreadPosition, listIdOf, type ThreadExtent } from './removed-range-rows.ts'
import { labelsOf } from './thread-mark.ts'

/** Failure reason of a sent message that was cancelled. */
export const CANCELLED = 'cancelled'

export type Direction = 'inbound' | 'outbound'
type MessageStatus = 'pending' | 'sent' | 'received' | 'failed'
export type DeliveryRole = 'to' | 'cc'

export type Message = KindFields & {
  id: string
  threadId: string
  inboxId: string
  rawId: string
  direction: Direction
  status: MessageStatus
  rfcMessageId: string | null
  fromAddr: string
  toAddr: string
  /** Received: the addresses of the To field; sent: all recipients but those of cc and bcc. */
  to: string[]
  /** The address at RCPT, in the client's spelling; null for sent mail. */
  recipient: string | null
  headerTo: string | null
  deliveryRole: DeliveryRole | null
  cc: string[]
  /** Empty for received mail. */
  bcc: string[]
  replyTo: string | null
  references: string[]
  subject: string
  bodyText: string
  bodyHtml: string
  extractedText: string
  attachments: ParsedAttachment[]
  authentication: unknown
  automaticReason: string | null
  failureReason: string | null
  defects: string[]
  labels: string[]
  invites: Invite[]
  /** When it is to be sent, if a time was given. */
  scheduledAtMs: number | null
  createdAtMs: number
}

/** How bodies that are too long for a row are read. */
type LongBodies = {
  /** Characters of each body; all of it when left out. */
  readonly lengthMax?: number
  /** Awaited before a long body is read. */
  readonly before?: () => Promise<void>
}

/**
 * Messages of an inbox, newest first; long bodies are read one by one while the messages are iterated. Null when
 * the account has no such inbox.
 */
export async function listMessages(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    category?: MessageCategory | null
    /** All of them. */
    labels?: readonly string[]
    limit: number
    offset: number
    bodyLengthMax: number
  },
): Promise<{ messages: AsyncIterable<Message>; total: number } | null> {
  const { category = null, labels = [] } = input
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  if (labels.length > 0) {
    const { rows, total } = await selectLabelled(db, { ...input, category, labels })
    return { messages: completed(db, rows, input.bodyLengthMax), total }
  }
  if (category !== null) {
    const { rows, total } = await selectOfCategory(db, { ...input, category })
    return { messages: completed(db, rows, input.bodyLengthMax), total }
  }
  const { top, removed } = extentOf(counters, input.direction)
  const total = top - removed
  if (input.offset >= total) return { messages: completed(db, [], input.bodyLengthMax), total }
  const listId = listIdOf(input.inboxId, input.direction)
  const { positionMax, skip } = await findStart(db, { listId, top, removed, offset: input.offset })
  const column = input.direction === null ? 'position' : 'direction_position'
  let inList = db.read
    .selectFrom('messages')
    .where('inbox_id', '=', input.inboxId)
    .where(column, '>', 0)
    .orderBy(column, 'desc')
  if (input.direction !== null) inList = inList.where('direction', '=', input.direction)
  const places = inList.select(column).where(column, '<=', positionMax)
  let page = inList.selectAll().where('account_id', '=', input.accountId)
  // The index alone has what is skipped; in the page's own query each row would be read.
  page = page.where(column, '<=', skip > 0 ? places.limit(1).offset(skip) : positionMax)
  const rows = await page.limit(input.limit).execute()
  return { messages: completed(db, rows, input.bodyLengthMax), total }
}

/** The existing messages at these positions, newest first; long bodies are read while they are iterated. */
export async function findMessagesAt(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    positions: readonly number[]
    bodyLengthMax: number
  },
): Promise<AsyncIterable<Message>> {
  if (input.positions.length === 0) return completed(db, [], input.bodyLengthMax)
  const rows = await db.read
    .selectFrom('messages')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('position', 'in', input.positions)
    .orderBy('position', 'desc')
    .execute()
  return completed(db, rows, input.bodyLengthMax)
}

/** The last position given in the inbox or in a direction, and how many of the positions have no message. */
function extentOf(
  counters: Row<'inbox_counters'>,
  direction: Direction | null,
): { top: number; removed: number } {
  const inbound = { top: counters.inbound_count, removed: counters.removed_inbound }
  const outbound = { top: counters.outbound_count, removed: counters.removed_outbound }
  if (direction !== null) return direction === 'inbound' ? inbound : outbound
  return { top: inbound.top + outbound.top, removed: inbound.removed + outbound.removed }
}

/** By the index of categories: it alone has what is counted and skipped. Sent messages have no category. */
async function selectOfCategory(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    category: MessageCategory
    limit: number
    offset: number
  },
): Promise<{ rows: Row<'messages'>[]; total: number }> {
  if (input.direction === 'outbound') return { rows: [], total: 0 }
  const inList = db.read
    .selectFrom('messages')
    .where('inbox_id', '=', input.inboxId)
    .where('category', '=', input.category)
    // Those in the trash have negative ones.
    .where('position', '>', 0)
  const total = await countUpTo(db, inList.select('position'))
  const places = inList.select('position').orderBy('position', 'desc')
  const rows = await db.read
    .selectFrom('messages')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('position', 'in', (query) =>
      query
        .selectFrom(places.limit(input.limit).offset(input.offset).as('page'))
        .select('page.position'),
    )
    .orderBy('position', 'desc')
    .execute()
  return { rows, total }
}

/** Null also when its inbox was deleted. */
export async function findMessage(
  db: ReadDb,
  accountId: string,
  messageId: string,
  longBodies: LongBodies = {},
): Promise<Message | null> {
  const row = await selectMessage(db, messageId)
    .selectAll('messages')
    .where('messages.account_id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : complete(db, row, longBodies)
}

/** A message of any account, for a caller with a valid signature. */
export async function findSignedMessage(
  db: ReadDb,
  messageId: string,
  longBodies: LongBodies = {},
): Promise<Message | null> {
  const row = await selectMessage(db, messageId).selectAll('messages').executeTakeFirst()
  return row === undefined ? null : complete(db, row, longBodies)
}

/** The account of a message, for a caller with a valid signature. Null also once its inbox is deleted. */
export async function findMessageAccount(db: ReadDb, messageId: string): Promise<string | null> {
  const row = await selectMessage(db, messageId).select('messages.account_id').executeTakeFirst()
  return row?.account_id ?? null
}

function selectMessage(db: ReadDb, messageId: string) {
  return db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .where('messages.id', '=', messageId)
}

/**
 * The existing messages among these, each with its position in its inbox, in no order. Long bodies are read one
 * message at a time, up to `bodyLengthMax` characters.
 */
export async function* findMessagesCut(
  db: ReadDb,
  input: { accountIds: readonly string[]; messageIds: readonly string[]; bodyLengthMax: number },
): AsyncGenerator<{ message: Message; accountId: string; position: number; sentAtMs: number }> {
  const rows = await db.read
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .selectAll('messages')
    .select('raw_messages.created_at as raw_created_at')
    .where('messages.id', 'in', input.messageIds)
    .where('messages.account_id', 'in', input.accountIds)
    .execute()
  for (const row of rows) {
    const message = await complete(db, row, { lengthMax: input.bodyLengthMax })
    if (message === null) continue
    // The release of a message that waited writes its bytes anew, with their date.
    const sentAtMs = row.is_imported === null ? row.raw_created_at : row.created_at
    yield { message, accountId: row.account_id, position: row.position, sentAtMs }
  }
}

/** The fields that search and waits compare, without the bodies. */
export type MessageHead = {
  id: string
  position: number
  threadId: string
  fromAddr: string
  subject: string
  direction: Direction
  category: Message['category']
}

type HeadsAfter = {
  accountId: string
  inboxId: string
  direction: Direction
  after: number
  limit: number
}

/** Messages of an inbox after a position, in order, without pending and imported ones. */
export async function listMessageHeads(db: ReadDb, input: HeadsAfter): Promise<MessageHead[]> {
  return (await selectHeadsAfter(db.reading, input)).map(toHead)
}

const selectHeadsAfter = statement<Tables, HeadsAfter, HeadRow>((query, place) =>
  selectHeads(query)
    .where('account_id', '=', place('accountId'))
    .where('inbox_id', '=', place('inboxId'))
    .where('direction', '=', place('direction'))
    .where('status', '!=', 'pending')
    .where('is_imported', 'is', null)
    .where('position', '>', place('after'))
    .orderBy('position')
    .limit(place('limit')),
)

/** The existing ones among these messages of an inbox, in no order. */
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

/** The position of a removed message of the inbox, or null. */
export async function findRemoved(
  db: ReadDb,
  input: { accountId: string; inboxId: string; messageId: string },
): Promise<number | null> {
  const row = await db.read
    .selectFrom('removed_messages')
    .select('position')
    .where('id', '=', input.messageId)
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('position', '>', 0)
    .executeTakeFirst()
  return row?.position ?? null
}

const HEAD_COLUMNS = [
  'id',
  'position',
  'thread_id',
  'from_addr',
  'subject',
  'direction',
  'category',
  'automatic_reason',
] as const

type HeadRow = Pick<Row<'messages'>, (typeof HEAD_COLUMNS)[number]>

function selectHeads(query: ReadDb['read']) {
  return query.selectFrom('messages').select(HEAD_COLUMNS)
}

function toHead(row: HeadRow): MessageHead {
  return {
    id: row.id,
    position: row.position,
    threadId: row.thread_id,
    fromAddr: row.from_addr,
    subject: row.subject,
    direction: row.direction as Direction,
    category: categoryOfRow(row),
  }
}

/** A thread of up to so many messages is read by one query. */
const PAGE_MESSAGES = 100
/**
 * Messages of a longer thread that are read by one query: rows of up to 192 KiB each are in memory while a slow
 * client reads them.
 */
const THREAD_STEP_MESSAGES = 20

/**
 * Messages of a thread, oldest first, read step by step while they are iterated. The caller has found the thread
 * in its account.
 */
export async function* listThreadMessages(
  db: ReadDb,
  input: {
    accountId: string
    thread: ThreadExtent
    limit: number
    offset: number
    bodyLengthMax: number
  },
): AsyncGenerator<Message> {
  const { thread, bodyLengthMax } = input
  const step = input.limit <= PAGE_MESSAGES ? input.limit : THREAD_STEP_MESSAGES
  let from = await findThreadPosition(db, thread, input.offset)
  for (let left = input.limit; from !== null && left > 0; ) {
    const rows = await db.read
      .selectFrom('messages')
      .selectAll()
      .where('account_id', '=', input.accountId)
      .where('thread_id', '=', thread.threadId)
      .where('thread_position', '>=', from)
      .orderBy('thread_position')
      .limit(Math.min(step, left))
      .execute()
    yield* completed(db, rows, bodyLengthMax)
    left -= rows.length
    const last = rows.at(-1)
    from = last === undefined ? null : last.thread_position + 1
  }
}

/** Long bodies are read while the messages are iterated. */
async function* completed(
  db: ReadDb,
  rows: Row<'messages'>[],
  lengthMax: number,
): AsyncGenerator<Message> {
  for (const row of rows) {
    // SQLite takes some 10 ms for each in this thread: other requests are served in between.
    const message = await complete(db, row, { lengthMax, before: nextTurn })
    if (message !== null) yield message
  }
}

/** Decided by the row: the limit may have been another one when it was written. */
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

/** Null when the account has no such inbox. */
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
    to: toOf(row),
    recipient: row.recipient,
    headerTo: row.header_to,
    deliveryRole: row.delivery_role as DeliveryRole | null,
    cc: JSON.parse(row.cc) as string[],
    bcc: hiddenRecipientsOf(row),
    replyTo: row.reply_to,
    references: JSON.parse(row.reference_ids) as string[],
    subject: row.subject,
    bodyText: row.body_text,
    bodyHtml: row.body_html,
    extractedText: row.extracted_text ?? row.body_text,
    attachments: JSON.parse(row.attachments) as ParsedAttachment[],
    authentication: row.authentication === null ? null : JSON.parse(row.authentication),
    automaticReason: row.automatic_reason,
    ...kindOfRow(row),
    failureReason: row.failure_reason,
    defects: JSON.parse(row.defects) as string[],
    labels: labelsOf(row),
    invites: row.invites === null ? [] : (JSON.parse(row.invites) as Invite[]),
    scheduledAtMs: row.scheduled_at,
    createdAtMs: row.created_at,
  }
}

/** Of a sent message; the Bcc fields of a received one are for erasures. */
export function hiddenRecipientsOf({
  direction,
  bcc,
}: Pick<Row<'messages'>, 'direction' | 'bcc'>): string[] {
  return direction === 'outbound' && bcc !== null ? (JSON.parse(bcc) as string[]) : []
}

export function toOf({
  direction,
  to_addr,
  to_addrs,
  header_to,
}: Pick<Row<'messages'>, 'direction' | 'to_addr' | 'to_addrs' | 'header_to'>): string[] {
  if (direction === 'outbound') return to_addrs === null ? [to_addr] : JSON.parse(to_addrs)
  return parseAddressList(header_to ?? '').map(({ address }) => address)
}

export type StoredView = {
  readonly message: Message
  readonly inboxAddress: string
  /** Null when unknown: the message has no address, or arrived before first contacts were recorded. */
  readonly isFirstContact: boolean | null
}

/** A message as a view reads it. Null also once its inbox is deleted. */
export async function findViewedMessage(
  db: ReadDb,
  input: { accountId: string; messageId: string; bodyLengthMax: number },
): Promise<StoredView | null> {
  const [view] = await readViews(db, { ...input, messageIds: [input.messageId] })
  return view ?? null
}

/** Short bodies lie in the rows, so only a few rows are read by one query. */
const VIEW_STEP_MESSAGES = 10

/**
 * Up to `limit` messages of a thread after the first `after`, oldest first. `readLength` is called before each
 * step and bounds the characters of its bodies. The caller has found the thread in its account.
 */
export async function* listViewedMessages(
  db: ReadDb,
  input: {
    readonly accountId: string
    readonly thread: ThreadExtent
    readonly after: number
    readonly limit: number
    readLength(): number
  },
): AsyncGenerator<StoredView> {
  const { accountId, thread } = input
  const from = await findThreadPosition(db, thread, input.after)
  if (from === null) return
  const rows = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', thread.threadId)
    .where('thread_position', '>=', from)
    .orderBy('thread_position')
    .limit(input.limit)
    .execute()
  for (let at = 0; at < rows.length; at += VIEW_STEP_MESSAGES) {
    const messageIds = rows.slice(at, at + VIEW_STEP_MESSAGES).map(({ id }) => id)
    const bodyLengthMax = Math.max(1, input.readLength())
    yield* await readViews(db, { accountId, messageIds, bodyLengthMax })
  }
}

/** The `limit` messages of the thread directly before this one, oldest first. */
export async function listEarlierMessages(
  db: ReadDb,
  input: {
    readonly accountId: string
    readonly threadId: string
    readonly messageId: string
    readonly limit: number
    readonly bodyLengthMax: number
  },
): Promise<Message[]> {
  const { accountId, threadId, bodyLengthMax } = input
  const rows = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where('thread_position', '<', (query) =>
      query
        .selectFrom('messages')
        .select('thread_position')
        .where('account_id', '=', accountId)
        .where('id', '=', input.messageId),
    )
    .orderBy('thread_position', 'desc')
    .limit(input.limit)
    .execute()
  const messageIds = rows.map(({ id }) => id).reverse()
  return findInOrder(db, { accountId, messageIds, bodyLengthMax })
}

type Named = { accountId: string; messageIds: readonly string[]; bodyLengthMax: number }

async function readViews(db: ReadDb, named: Named): Promise<StoredView[]> {
  const views: StoredView[] = []
  for (const message of await findInOrder(db, named)) {
    views.push({ message, ...(await findContact(db, named.accountId, message)) })
  }
  return views
}

/** The messages that exist, in the order of the ids. */
async function findInOrder(
  db: ReadDb,
  { accountId, messageIds, bodyLengthMax }: Named,
): Promise<Message[]> {
  if (messageIds.length === 0) return []
  const found = new Map<string, Message>()
  const cut = findMessagesCut(db, { accountIds: [accountId], messageIds, bodyLengthMax })
  for await (const { message } of cut) found.set(message.id, message)
  return messageIds.map((id) => found.get(id)).filter((message) => message !== undefined)
}

async function findContact(
  db: ReadDb,
  accountId: string,
  { id, inboxId, fromAddr, direction }: Message,
): Promise<Omit<StoredView, 'message'>> {
  const key = addressKey(/<([^<>]*)>$/.exec(fromAddr)?.[1] ?? fromAddr)
  const row = await db.read
    .selectFrom('inboxes')
    .leftJoin('correspondents', (join) =>
      join
        .onRef('correspondents.inbox_id', '=', 'inboxes.id')
        .on('correspondents.address_key', '=', key),
    )
    .select(['inboxes.address', 'correspondents.first_message_id'])
    .where('inboxes.id', '=', inboxId)
    .where('inboxes.account_id', '=', accountId)
    .executeTakeFirst()
  const first = row?.first_message_id ?? null
  return {
    inboxAddress: row?.address ?? '',
    isFirstContact: direction === 'outbound' || first === null ? null : first === id,
  }
}
