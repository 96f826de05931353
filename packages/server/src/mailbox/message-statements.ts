// The SQL that every message costs, compiled once: what `receive-message.ts` runs for each recipient
// and `send-message.ts` for each send.

import { type Place, statement } from '#platform/db/statement.ts'
import type { NewRow, Tables, Tx } from '#schema/tables.ts'

/** Messages of an inbox under one Message-ID that an arriving one is compared with. */
export const SAME_ID_LOOKED_AT_MAX = 100

/** What the message says, alike for everybody who has it. */
export type MessageContent = Pick<
  NewRow<'messages'>,
  | 'rfc_message_id'
  | 'message_key'
  | 'receipt_key'
  | 'from_addr'
  | 'header_to'
  | 'cc'
  | 'reply_to'
  | 'reference_ids'
  | 'subject'
  | 'body_length'
  | 'body_text'
  | 'body_html'
  | 'extracted_text'
  | 'attachments'
  | 'authentication'
  | 'automatic_reason'
  | 'defects'
>

export type ParentThread = {
  id: string
  is_read: number
  message_count: number
  last_position: number
  participants: string | null
  summary_count: number
  read_count: number
}

/** The columns of a `ParentThread`. */
export const PARENT_COLUMNS = [
  'threads.id',
  'threads.is_read',
  'threads.message_count',
  'threads.last_position',
  'threads.participants',
  'threads.summary_count',
  'threads.read_count',
] as const

export const selectReceipts = statement<
  Tables,
  { inboxId: string; messageKey: string },
  { id: string; receipt_key: Uint8Array }
>((query, place) =>
  query
    .selectFrom('messages')
    .select(['id', 'receipt_key'])
    .where('inbox_id', '=', place('inboxId'))
    .where('message_key', '=', place('messageKey'))
    .where('receipt_key', 'is not', null)
    .orderBy('position', 'desc')
    .limit(SAME_ID_LOOKED_AT_MAX)
    .$narrowType<{ receipt_key: Uint8Array }>(),
)

export const selectParent = statement<Tables, { inboxId: string; key: string }, ParentThread>(
  (query, place) =>
    query
      .selectFrom('messages')
      .innerJoin('threads', 'threads.id', 'messages.thread_id')
      .select(PARENT_COLUMNS)
      .where('messages.inbox_id', '=', place('inboxId'))
      .where('messages.message_key', '=', place('key'))
      .orderBy('messages.position')
      .limit(1),
)

/** Of a thread that begins now, with one message. */
export function insertThread(
  tx: Tx,
  {
    now,
    position,
    ...thread
  }: Pick<NewThread, 'id' | 'account_id' | 'inbox_id' | 'subject' | 'is_read'> &
    SummaryColumns & {
      now: number
      position: number
    },
): Promise<never[]> {
  const last = { message_count: 1, last_message_at: now, last_position: position }
  return insertThreadRow(tx, { ...thread, ...last, created_at: now })
}

/** What is kept for lists of threads: see thread-summary.ts. */
export type SummaryColumns = Required<
  Pick<NewRow<'threads'>, 'participants' | 'snippet' | 'summary_count' | 'read_count'>
>

export type NewThread = Omit<
  NewRow<'threads'>,
  'automatic_sends' | 'loop_suspected_at' | keyof SummaryColumns
> &
  SummaryColumns

/** The columns that are written, for a statement. */
export const threadRow = (place: Place<NewThread>) => ({
  id: place('id'),
  account_id: place('account_id'),
  inbox_id: place('inbox_id'),
  subject: place('subject'),
  is_read: place('is_read'),
  message_count: place('message_count'),
  last_message_at: place('last_message_at'),
  last_position: place('last_position'),
  created_at: place('created_at'),
  participants: place('participants'),
  snippet: place('snippet'),
  summary_count: place('summary_count'),
  read_count: place('read_count'),
})

const insertThreadRow = statement<Tables, NewThread, never>((query, place) =>
  query.insertInto('threads').values(threadRow(place)),
)

export const updateThread = statement<
  Tables,
  { id: string; isRead: number; now: number; position: number } & SummaryColumns,
  never
>((query, place) =>
  query
    .updateTable('threads')
    .set((row) => ({
      is_read: place('isRead'),
      message_count: row('message_count', '+', 1),
      last_message_at: place('now'),
      last_position: place('position'),
      participants: place('participants'),
      snippet: place('snippet'),
      summary_count: place('summary_count'),
      read_count: place('read_count'),
    }))
    .where('id', '=', place('id')),
)

export type NewMessage = MessageContent &
  Pick<
    NewRow<'messages'>,
    | 'id'
    | 'account_id'
    | 'inbox_id'
    | 'thread_id'
    | 'raw_id'
    | 'position'
    | 'direction'
    | 'direction_position'
    | 'thread_position'
    | 'status'
    | 'to_addr'
    | 'delivery_role'
    | 'created_at'
  >

/** The columns that are written, for a statement. */
export const messageRow = (place: Place<NewMessage>) => ({
  id: place('id'),
  account_id: place('account_id'),
  inbox_id: place('inbox_id'),
  thread_id: place('thread_id'),
  raw_id: place('raw_id'),
  direction: place('direction'),
  position: place('position'),
  direction_position: place('direction_position'),
  thread_position: place('thread_position'),
  status: place('status'),
  rfc_message_id: place('rfc_message_id'),
  message_key: place('message_key'),
  receipt_key: place('receipt_key'),
  from_addr: place('from_addr'),
  to_addr: place('to_addr'),
  header_to: place('header_to'),
  delivery_role: place('delivery_role'),
  cc: place('cc'),
  reply_to: place('reply_to'),
  reference_ids: place('reference_ids'),
  subject: place('subject'),
  body_length: place('body_length'),
  body_text: place('body_text'),
  body_html: place('body_html'),
  extracted_text: place('extracted_text'),
  attachments: place('attachments'),
  authentication: place('authentication'),
  automatic_reason: place('automatic_reason'),
  failure_reason: null,
  defects: place('defects'),
  created_at: place('created_at'),
})

export const insertMessage = statement<Tables, NewMessage, never>((query, place) =>
  query.insertInto('messages').values(messageRow(place)),
)

export const addToCounters = statement<
  Tables,
  { inboxId: string; inbound: number; outbound: number; threads: number; unread: number },
  { inbound_count: number; outbound_count: number }
>((query, place) =>
  query
    .updateTable('inbox_counters')
    .set((row) => ({
      inbound_count: row('inbound_count', '+', place('inbound')),
      outbound_count: row('outbound_count', '+', place('outbound')),
      thread_count: row('thread_count', '+', place('threads')),
      unread_thread_count: row('unread_thread_count', '+', place('unread')),
    }))
    .where('inbox_id', '=', place('inboxId'))
    .returning(['inbound_count', 'outbound_count']),
)

/** The columns that are written, for a statement. */
export const rawRow = (place: Place<NewRow<'raw_messages'>>) => ({
  id: place('id'),
  sha256: place('sha256'),
  size_bytes: place('size_bytes'),
  content: place('content'),
  reference_count: place('reference_count'),
  reverse_path: place('reverse_path'),
  client_address: place('client_address'),
  helo: place('helo'),
  tls: place('tls'),
  origin: place('origin'),
  created_at: place('created_at'),
})

export const insertRaw = statement<Tables, NewRow<'raw_messages'>, never>((query, place) =>
  query.insertInto('raw_messages').values(rawRow(place)),
)

/** The columns that are written, for a statement. */
export const correspondentRow = (place: Place<NewRow<'correspondents'>>) => ({
  inbox_id: place('inbox_id'),
  address_key: place('address_key'),
  first_message_id: place('first_message_id'),
})

/** Notes that an address has written to an inbox; of several messages the first stays noted. */
export const insertCorrespondent = statement<Tables, NewRow<'correspondents'>, never>(
  (query, place) =>
    query
      .insertInto('correspondents')
      .values(correspondentRow(place))
      .onConflict((conflict) => conflict.doNothing()),
)
