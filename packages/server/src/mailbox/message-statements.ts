// The rows of received and sent messages, and the statements that write them.

import { type RawBuilder, sql } from 'kysely'
import { EVENTS, type TracedEvent } from '#events/events-rows.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { rowInsert, rowUpdate, together } from '#platform/db/statement.ts'
import type { NewRow, Row, Tables, Tx } from '#schema/tables.ts'
import { RANGES, type RangeChange, sumChanges } from './thread-range-rows.ts'

/** The columns that are the same for every inbox that has the message. */
export type MessageContent = Required<
  Pick<NewRow<'messages'>, 'bcc' | 'category' | 'judgement' | 'invites'>
> &
  Pick<
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
  last_message_at: number
  last_position: number
  participants: string | null
  summary_count: number
  read_count: number
  category: string | null
  /** Missing for a new thread. */
  mark_count?: number
}

/** The columns of a `ParentThread`. */
export const PARENT_COLUMNS = [
  'threads.id',
  'threads.is_read',
  'threads.message_count',
  'threads.last_message_at',
  'threads.last_position',
  'threads.participants',
  'threads.summary_count',
  'threads.read_count',
  'threads.category',
  'threads.mark_count',
] as const

/** See thread-summary-rows.ts. */
export type SummaryColumns = Required<
  Pick<NewRow<'threads'>, 'participants' | 'snippet' | 'summary_count' | 'read_count' | 'category'>
>

export type NewThread = Pick<
  Row<'threads'>,
  | 'id'
  | 'account_id'
  | 'inbox_id'
  | 'subject'
  | 'is_read'
  | 'message_count'
  | 'last_message_at'
  | 'last_position'
  | 'created_at'
> &
  SummaryColumns

type NewMessage = MessageContent &
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
    | 'recipient'
    | 'delivery_role'
    | 'created_at'
  >

/** Numbers to add to the totals of an inbox; `stored_bytes` counts the added messages. */
export type CounterChange = Pick<
  Row<'inbox_counters'>,
  | 'inbox_id'
  | 'inbound_count'
  | 'outbound_count'
  | 'thread_count'
  | 'unread_thread_count'
  | 'quarantined_count'
  | 'quarantined_bytes'
  | 'stored_bytes'
>

export const NO_CHANGE: Omit<CounterChange, 'inbox_id'> = {
  inbound_count: 0,
  outbound_count: 0,
  thread_count: 0,
  unread_thread_count: 0,
  quarantined_count: 0,
  quarantined_bytes: 0,
  stored_bytes: 0,
}

/** A thread after `message_count` messages are added to it. */
export type ThreadChange = SummaryColumns &
  Pick<NewThread, 'id' | 'is_read' | 'message_count' | 'last_message_at' | 'last_position'> &
  Pick<ParentThread, 'mark_count'>

/** The caller has locked the counters before it read anything. */
export function changeInboxes(
  tx: Tx,
  { counters, threads = [] }: { counters: CounterChange[]; threads?: ThreadChange[] },
): Promise<void> {
  const marks = threads.filter(({ mark_count = 0 }) => mark_count > 0)
  return change(tx, { counters, threads, marks: marks.map(movedMarks) })
}

function movedMarks({ id, last_position }: ThreadChange): MovedMarks {
  return { thread_id: id, last_position }
}

type MovedMarks = Pick<Row<'thread_marks'>, 'thread_id' | 'last_position'>

const change = together<
  Tables,
  { counters: CounterChange; threads: ThreadChange; marks: MovedMarks }
>({
  counters: rowUpdate<Tables, CounterChange>('inbox_counters', (query, given) =>
    query
      .updateTable('inbox_counters as counters')
      .set(({ eb, ref }) => {
        const plus = (column: Exclude<keyof CounterChange, 'inbox_id'>) =>
          eb(ref(`counters.${column}`), '+', given(column))
        // When older messages are not counted yet, these are counted later with them.
        const ifCounted = (change: RawBuilder<number>) =>
          sql<number>`case when counters.counted_position = counters.inbound_count + counters.outbound_count
            then ${change} else 0 end`
        return {
          inbound_count: plus('inbound_count'),
          outbound_count: plus('outbound_count'),
          thread_count: plus('thread_count'),
          unread_thread_count: plus('unread_thread_count'),
          quarantined_count: plus('quarantined_count'),
          quarantined_bytes: plus('quarantined_bytes'),
          // The same for recipients: see written-to-rows.ts of sending.
          noted_count: sql<number>`counters.noted_count + case when counters.noted_count = counters.outbound_count
            then ${given('outbound_count')} else 0 end`,
          stored_bytes: eb(ref('counters.stored_bytes'), '+', ifCounted(given('stored_bytes'))),
          counted_position: eb(
            ref('counters.counted_position'),
            '+',
            ifCounted(sql`${given('inbound_count')} + ${given('outbound_count')}`),
          ),
        }
      })
      .where('counters.inbox_id', '=', given('inbox_id')),
  ),
  threads: rowUpdate<Tables, ThreadChange>('threads', (query, given) =>
    query
      .updateTable('threads')
      .set(({ eb, ref }) => ({
        is_read: given('is_read'),
        message_count: eb(ref('threads.message_count'), '+', given('message_count')),
        last_message_at: given('last_message_at'),
        last_position: given('last_position'),
        participants: given('participants'),
        snippet: given('snippet'),
        summary_count: given('summary_count'),
        read_count: given('read_count'),
        category: given('category'),
        // Received mail ends the pause of its thread.
        snoozed_until: sql<number | null>`case when ${given('is_read')} = 0 then null
          else ${ref('threads.snoozed_until')} end`,
      }))
      .where('threads.id', '=', given('id')),
  ),
  marks: rowUpdate<Tables, MovedMarks>('thread_marks', (query, given) =>
    query
      .updateTable('thread_marks')
      .set({ last_position: given('last_position') })
      .where('thread_marks.thread_id', '=', given('thread_id')),
  ),
})

/** Rows of new messages, and the other rows that they need. */
export type NewMessages = {
  threads: NewThread[]
  ranges: RangeChange[]
  messages: NewMessage[]
  /** Each address of an inbox once. */
  correspondents: Row<'correspondents'>[]
  quarantined: NewRow<'quarantined_messages'>[]
  events: TracedEvent[]
  raws: NewRow<'raw_messages'>[]
}

const insertSmall = together<Tables, { [Kind in keyof NewMessages]: NewMessages[Kind][number] }>({
  threads: rowInsert('threads', [
    'id',
    'account_id',
    'inbox_id',
    'subject',
    'is_read',
    'message_count',
    'last_message_at',
    'last_position',
    'created_at',
    'participants',
    'snippet',
    'summary_count',
    'read_count',
    'category',
  ]),
  ranges: RANGES,
  messages: rowInsert('messages', [
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
    'recipient',
    'header_to',
    'delivery_role',
    'cc',
    'bcc',
    'reply_to',
    'reference_ids',
    'subject',
    'body_length',
    'body_text',
    'body_html',
    'extracted_text',
    'attachments',
    'authentication',
    'automatic_reason',
    'category',
    'judgement',
    'invites',
    'defects',
    'created_at',
  ]),
  // The first message of an address to an inbox stays noted, and the best proof.
  correspondents: rowInsert(
    'correspondents',
    ['inbox_id', 'address_key', 'first_message_id', 'proof'],
    `on conflict (inbox_id, address_key) do update set proof = excluded.proof
     where correspondents.proof < excluded.proof`,
  ),
  quarantined: rowInsert('quarantined_messages', [
    'id',
    'account_id',
    'pod_id',
    'inbox_id',
    'raw_id',
    'receipt_key',
    'reason',
    'rule_id',
    'from_addr',
    'to_addr',
    'recipient',
    'delivery_role',
    'subject',
    'reverse_path',
    'authentication',
    'size_bytes',
    'category',
    'judgement',
    'created_at',
  ]),
  events: EVENTS,
  raws: rowInsert('raw_messages', [
    'id',
    'sha256',
    'size_bytes',
    'content',
    'reference_count',
    'reverse_path',
    'client_address',
    'helo',
    'tls',
    'origin',
    'is_marked',
    'created_at',
  ]),
})

/** Large raw bytes without a blob store are inserted one by one: as JSON they would be three times as long. */
export async function insertMessages(
  tx: Tx,
  { raws = [], ranges = [], ...rows }: Partial<NewMessages>,
): Promise<void> {
  const isLarge = ({ content }: NewRow<'raw_messages'>) =>
    content != null && content.length > ROW_BLOB_BYTES_MAX
  for (const raw of raws.filter(isLarge)) {
    await tx.query.insertInto('raw_messages').values(raw).execute()
  }
  await insertSmall(tx, {
    ...rows,
    ranges: sumChanges(ranges),
    raws: raws.filter((raw) => !isLarge(raw)).map((raw) => ({ is_marked: 0, ...raw })),
  })
}

/** Text and HTML longer than this, in UTF-16 units, are stored once for the raw message, not in each recipient's row. */
export const ROW_BODY_LENGTH_MAX = 64 * 1024

/** The content for a message's row, without long bodies. */
export function bodiesForRow(content: MessageContent): MessageContent {
  if (!isLong(content)) return content
  return { ...content, body_text: '', body_html: '', extracted_text: null }
}

/** Stores the bodies of a raw message if they are long and not stored yet. */
export async function insertLongBodies(
  tx: Tx,
  rawId: string,
  content: MessageContent,
): Promise<void> {
  const row = longBodyOf(rawId, content)
  if (row === null) return
  await tx.query
    .insertInto('long_bodies')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Null when the bodies are short. */
export function longBodyOf(rawId: string, content: MessageContent): NewRow<'long_bodies'> | null {
  if (!isLong(content)) return null
  const { body_text, body_html, extracted_text } = content
  return { raw_id: rawId, body_text, body_html, extracted_text }
}

function isLong(content: MessageContent): boolean {
  return content.body_length > ROW_BODY_LENGTH_MAX
}
