// Reads messages from rows. Lists are ordered by time and use a covering index.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Invite, ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { type SqlBool, sql } from 'kysely'
import { labelsOf } from '#mailbox/labels/store/facets.ts'
import {
  countUpTo,
  isAnyTime,
  type Listed,
  labelledIn,
} from '#mailbox/labels/store/labelled-messages.ts'
import { statement } from '#platform/db/statement.ts'
import { addressKey, type Names } from '#platform/email-address.ts'
import type { ReadDb, Row, Tables } from '#store/tables.ts'
import { type KindFields, kindOfRow } from './message-kind.ts'
import { readNames } from './recipient-names.ts'

export const CANCELLED = 'cancelled'

export type Direction = 'inbound' | 'outbound'
type MessageStatus = 'pending' | 'sent' | 'received' | 'failed'
type DeliveryRole = 'to' | 'cc'

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
  /** The To addresses if received; all recipients except cc and bcc if sent. */
  to: string[]
  /** The address in RCPT as the client wrote it, or null for a sent message. */
  recipient: string | null
  headerTo: string | null
  deliveryRole: DeliveryRole | null
  cc: string[]
  bcc: string[]
  replyTo: string | null
  /** Display names of the addresses in `to`, `cc` and `replyTo`. */
  names: Names
  inReplyTo: string | null
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
  scheduledAtMs: number | null
  createdAtMs: number
}

type LongBodies = {
  readonly lengthMax?: number
  readonly before?: () => Promise<void>
}

/** Lists newest first; loads long bodies lazily. Returns null if there is no such inbox. */
export async function listMessages(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    direction: Direction | null
    category?: MessageCategory | null
    labels?: readonly string[]
    limit: number
    offset: number
    bodyLengthMax: number
  },
): Promise<{ messages: AsyncIterable<Message>; total: number } | null> {
  const { category = null, labels = [], direction } = input
  const counters = await readCounters(db, input.accountId, input.inboxId)
  if (counters === null) return null
  if (category !== null && direction === 'outbound') {
    return { messages: completed(db, [], input.bodyLengthMax), total: 0 }
  }
  const list =
    labels.length > 0
      ? await labelledIn(db, { ...input, category, labels })
      : messagesIn(db, { ...input, category })
  const total =
    labels.length > 0 || category !== null
      ? await countUpTo(db, list)
      : totalOf(counters, direction)
  if (input.offset >= total) return { messages: completed(db, [], input.bodyLengthMax), total }
  const page = list.limit(input.limit).offset(input.offset)
  const rows = await db.read
    .selectFrom(page.as('page'))
    .innerJoin('messages', 'messages.id', 'page.id')
    .selectAll('messages')
    .where('messages.account_id', '=', input.accountId)
    .orderBy('messages.created_at', 'desc')
    .orderBy('messages.id', 'desc')
    .execute()
  return { messages: completed(db, rows, input.bodyLengthMax), total }
}

/** Lists messages newest first and loads long bodies lazily. */
export async function findMessagesOf(
  db: ReadDb,
  input: { accountId: string; messageIds: readonly string[]; bodyLengthMax: number },
): Promise<AsyncIterable<Message>> {
  if (input.messageIds.length === 0) return completed(db, [], input.bodyLengthMax)
  const rows = await db.read
    .selectFrom('messages')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('id', 'in', input.messageIds)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  return completed(db, rows, input.bodyLengthMax)
}

/** The newest received message of each thread that has one. */
export async function findNewestReceived(
  db: ReadDb,
  input: { accountId: string; threadIds: readonly string[]; bodyLengthMax: number },
): Promise<AsyncIterable<Message>> {
  const rows = await db.read
    .selectFrom('threads')
    .innerJoin('messages', (join) =>
      join.on('messages.id', '=', ({ selectFrom }) =>
        selectFrom('messages as newest')
          .select('newest.id')
          .whereRef('newest.thread_id', '=', 'threads.id')
          .where('newest.direction', '=', 'inbound')
          .orderBy('newest.created_at', 'desc')
          .orderBy('newest.id', 'desc')
          .limit(1),
      ),
    )
    .selectAll('messages')
    .where('threads.account_id', '=', input.accountId)
    .where('threads.id', 'in', input.threadIds)
    .execute()
  return completed(db, rows, input.bodyLengthMax)
}

function totalOf(counters: Row<'inbox_counters'>, direction: Direction | null): number {
  const { inbound_count: inbound, outbound_count: outbound } = counters
  if (direction === null) return inbound + outbound
  return direction === 'inbound' ? inbound : outbound
}

function messagesIn(
  db: ReadDb,
  {
    inboxId,
    direction,
    category,
  }: { inboxId: string; direction: Direction | null; category: MessageCategory | null },
): Listed {
  const list = db.read
    .selectFrom('messages')
    .select('id')
    .where('inbox_id', '=', inboxId)
    // The partial indexes apply only if the value is a literal.
    .where('is_trashed', '=', sql.lit(0))
    .where(isAnyTime('messages.created_at'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
  if (category !== null) return list.where('category', '=', category)
  return direction === null ? list : list.where('direction', '=', direction)
}

/** Returns null also if the inbox was deleted. */
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

/** The caller must have verified a signature. */
export async function findSignedMessage(
  db: ReadDb,
  messageId: string,
  longBodies: LongBodies = {},
): Promise<Message | null> {
  const row = await selectMessage(db, messageId).selectAll('messages').executeTakeFirst()
  return row === undefined ? null : complete(db, row, longBodies)
}

/** The caller must have verified a signature. */
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

/** Omits missing ids, in no defined order. Long bodies are read one message at a time. */
export async function* findMessagesCut(
  db: ReadDb,
  input: { accountIds: readonly string[]; messageIds: readonly string[]; bodyLengthMax: number },
): AsyncGenerator<{
  message: Message
  accountId: string
  arrival: number
  isTrashed: boolean
  sentAtMs: number
}> {
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
    // A held message gets new raw bytes with a new date when it is released.
    const sentAtMs = row.is_imported === null ? row.raw_created_at : row.created_at
    const { account_id: accountId, arrival } = row
    yield { message, accountId, arrival, isTrashed: row.is_trashed === 1, sentAtMs }
  }
}

export type MessageHead = {
  id: string
  arrival: number
  isTrashed: boolean
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

/** The result omits pending and imported messages. */
export async function listMessageHeads(db: ReadDb, input: HeadsAfter): Promise<MessageHead[]> {
  return (await selectHeadsAfter(db.reading, input)).map(toHead)
}

const selectHeadsAfter = statement<Tables, HeadsAfter, HeadRow>((query, given) =>
  selectHeads(query)
    .where('account_id', '=', given('accountId'))
    .where('inbox_id', '=', given('inboxId'))
    .where('direction', '=', given('direction'))
    .where('status', '!=', 'pending')
    .where('is_imported', 'is', null)
    .where('arrival', '>', given('after'))
    .orderBy('arrival')
    .limit(given('limit')),
)

/** The result omits missing ids and has no defined order. */
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

export async function findRemoved(
  db: ReadDb,
  input: { accountId: string; inboxId: string; messageId: string },
): Promise<number | null> {
  const row = await db.read
    .selectFrom('removed_messages')
    .select('arrival')
    .where('id', '=', input.messageId)
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('arrival', '>', 0)
    .executeTakeFirst()
  return row?.arrival ?? null
}

const HEAD_COLUMNS = [
  'id',
  'arrival',
  'is_trashed',
  'thread_id',
  'from_addr',
  'subject',
  'direction',
  'category',
] as const

type HeadRow = Pick<Row<'messages'>, (typeof HEAD_COLUMNS)[number]>

function selectHeads(query: ReadDb['read']) {
  return query.selectFrom('messages').select(HEAD_COLUMNS)
}

function toHead(row: HeadRow): MessageHead {
  return {
    id: row.id,
    arrival: row.arrival,
    isTrashed: row.is_trashed === 1,
    threadId: row.thread_id,
    fromAddr: row.from_addr,
    subject: row.subject,
    direction: row.direction as Direction,
    category: row.category,
  }
}

const PAGE_MESSAGES = 100
/** Bounds the memory used while a slow client reads; a row may have 192 KiB. */
const THREAD_STEP_MESSAGES = 20

/** Lists messages oldest first, in batches. The caller has checked the account of the thread. */
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
  const step = input.limit <= PAGE_MESSAGES ? input.limit : THREAD_STEP_MESSAGES
  let last: Row<'messages'> | undefined
  for (let left = input.limit; left > 0; ) {
    const limit = Math.min(step, left)
    let next = messagesOf(db, input).selectAll().limit(limit)
    if (last === undefined) {
      const skipped = messagesOf(db, input).select('id').limit(limit).offset(input.offset)
      next = next.where('id', 'in', (query) =>
        query.selectFrom(skipped.as('page')).select('page.id'),
      )
    } else next = next.where(isAfter(last))
    const rows = await next.execute()
    yield* completed(db, rows, input.bodyLengthMax)
    left -= limit
    last = rows.at(-1)
    if (rows.length < limit) return
  }
}

function messagesOf(db: ReadDb, { accountId, threadId }: { accountId: string; threadId: string }) {
  return db.read
    .selectFrom('messages')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .orderBy('created_at')
    .orderBy('id')
}

type Moment = Pick<Row<'messages'>, 'created_at' | 'id'>

function isAfter({ created_at, id }: Moment) {
  return sql<SqlBool>`(created_at, id) > (${created_at}, ${id})`
}

async function* completed(
  db: ReadDb,
  rows: Row<'messages'>[],
  lengthMax: number,
): AsyncGenerator<Message> {
  for (const row of rows) {
    // SQLite blocks this thread for some 10 ms per message, so other requests run in between.
    const message = await complete(db, row, { lengthMax, before: nextTurn })
    if (message !== null) yield message
  }
}

/** The row decides, because the limit may have changed since it was written. */
function isLong(row: Row<'messages'>): boolean {
  return row.body_length > row.body_text.length + row.body_html.length
}

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
>((query, given) =>
  query
    .selectFrom('inbox_counters')
    .innerJoin('inboxes', 'inboxes.id', 'inbox_counters.inbox_id')
    .selectAll('inbox_counters')
    .where('inboxes.id', '=', given('inboxId'))
    .where('inboxes.account_id', '=', given('accountId')),
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
    names: readNames(row.recipient_names),
    references: JSON.parse(row.reference_ids) as string[],
    inReplyTo: row.in_reply_to,
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

/** Bcc fields of a received message are kept only for erasures. */
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
  /** Null for a sent message, or if the sender was not recorded. */
  readonly isFirstContact: boolean | null
}

export async function findViewedMessage(
  db: ReadDb,
  input: { accountId: string; messageId: string; bodyLengthMax: number },
): Promise<StoredView | null> {
  const [view] = await readViews(db, { ...input, messageIds: [input.messageId] })
  return view ?? null
}

/** Each query reads only a few rows, because they contain short bodies. */
const VIEW_STEP_MESSAGES = 10

/** Lists messages oldest first. `readLength` limits the characters of bodies read per step. */
export async function* listViewedMessages(
  db: ReadDb,
  input: {
    readonly accountId: string
    readonly threadId: string
    readonly after: number
    readonly limit: number
    readLength(): number
  },
): AsyncGenerator<StoredView> {
  const { accountId } = input
  const rows = await messagesOf(db, input)
    .select('id')
    .limit(input.limit)
    .offset(input.after)
    .execute()
  for (let at = 0; at < rows.length; at += VIEW_STEP_MESSAGES) {
    const messageIds = rows.slice(at, at + VIEW_STEP_MESSAGES).map(({ id }) => id)
    const bodyLengthMax = Math.max(1, input.readLength())
    yield* await readViews(db, { accountId, messageIds, bodyLengthMax })
  }
}

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
    .where(
      sql<SqlBool>`(created_at, id) < (
        (select created_at from messages where id = ${input.messageId} and account_id = ${accountId}), ${input.messageId})`,
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
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
