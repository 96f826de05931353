import { sql } from 'kysely'
import { EVENTS, type TracedEvent } from '#events/store/append.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { rowInsert, rowUpdate, together } from '#platform/db/statement.ts'
import type { NewRow, Row, Tables, Tx } from '#store/tables.ts'

export type MessageContent = Pick<
  Row<'messages'>,
  | 'rfc_message_id'
  | 'message_key'
  | 'receipt_key'
  | 'from_addr'
  | 'header_to'
  | 'cc'
  | 'bcc'
  | 'reply_to'
  | 'recipient_names'
  | 'reference_ids'
  | 'in_reply_to'
  | 'subject'
  | 'body_length'
  | 'body_text'
  | 'body_html'
  | 'extracted_text'
  | 'attachments'
  | 'authentication'
  | 'automatic_reason'
  | 'category'
  | 'judgement'
  | 'invites'
  | 'defects'
>

/** Columns that are read before a message is added and written afterwards. */
const THREAD_STATE = [
  'is_read',
  'message_count',
  'unread_count',
  'read_arrival',
  'last_message_at',
  'participants',
  'snippet',
  'category',
] as const

export type ThreadState = Pick<Row<'threads'>, 'id' | 'facet_count' | (typeof THREAD_STATE)[number]>

export const THREAD_STATE_COLUMNS = [
  'threads.id',
  'threads.facet_count',
  ...THREAD_STATE.map((column) => `threads.${column}` as const),
] as const

const NEW_THREAD_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'subject',
  'created_at',
  ...THREAD_STATE,
] as const

export type NewThread = Pick<Row<'threads'>, (typeof NEW_THREAD_COLUMNS)[number]>

const NEW_MESSAGE_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'thread_id',
  'raw_id',
  'direction',
  'arrival',
  'status',
  'rfc_message_id',
  'message_key',
  'receipt_key',
  'from_addr',
  'to_addr',
  'to_addrs',
  'recipient',
  'header_to',
  'delivery_role',
  'cc',
  'bcc',
  'reply_to',
  'recipient_names',
  'reference_ids',
  'in_reply_to',
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
  'failure_reason',
  'invites',
  'defects',
  'scheduled_at',
  'is_imported',
  'created_at',
] as const

export type NewMessage = Pick<Row<'messages'>, (typeof NEW_MESSAGE_COLUMNS)[number]>

/** Amounts to add to an inbox's totals. Each added message takes the next arrival number. */
export type CounterChange = Pick<
  Row<'inbox_counters'>,
  | 'inbox_id'
  | 'inbound_count'
  | 'outbound_count'
  | 'send_count'
  | 'thread_count'
  | 'unread_thread_count'
  | 'quarantined_count'
  | 'quarantined_bytes'
  | 'stored_bytes'
>

export const NO_CHANGE: Omit<CounterChange, 'inbox_id'> = {
  inbound_count: 0,
  outbound_count: 0,
  send_count: 0,
  thread_count: 0,
  unread_thread_count: 0,
  quarantined_count: 0,
  quarantined_bytes: 0,
  stored_bytes: 0,
}

/** Facets repeat the thread's time, because lists are ordered by it. */
type FacetTime = Pick<Row<'thread_facets'>, 'thread_id' | 'last_message_at'>

/** The caller must have locked the counters before it read the threads. */
export const changeInboxes = together<
  Tables,
  { counters: CounterChange; threads: ThreadState; facets: FacetTime }
>({
  counters: rowUpdate<Tables, CounterChange>('inbox_counters', (query, given) =>
    query
      .updateTable('inbox_counters as counters')
      .set(({ eb, ref }) => {
        const plus = (column: Exclude<keyof CounterChange, 'inbox_id'>) =>
          eb(ref(`counters.${column}`), '+', given(column))
        return {
          inbound_count: plus('inbound_count'),
          outbound_count: plus('outbound_count'),
          last_arrival: sql<number>`counters.last_arrival + ${given('inbound_count')} + ${given('outbound_count')}`,
          send_count: plus('send_count'),
          thread_count: plus('thread_count'),
          unread_thread_count: plus('unread_thread_count'),
          quarantined_count: plus('quarantined_count'),
          quarantined_bytes: plus('quarantined_bytes'),
          stored_bytes: plus('stored_bytes'),
        }
      })
      .where('counters.inbox_id', '=', given('inbox_id')),
  ),
  threads: rowUpdate<Tables, ThreadState>('threads', (query, given) =>
    query
      .updateTable('threads')
      .set(({ ref }) => ({
        ...Object.fromEntries(THREAD_STATE.map((column) => [column, given(column)])),
        // Received mail ends a snooze.
        snoozed_until: sql<number | null>`case when ${given('is_read')} = 0 then null
          else ${ref('threads.snoozed_until')} end`,
      }))
      .where('threads.id', '=', given('id')),
  ),
  facets: rowUpdate<Tables, FacetTime>('thread_facets', (query, given) =>
    query
      .updateTable('thread_facets')
      .set({ last_message_at: given('last_message_at') })
      .where('thread_facets.thread_id', '=', given('thread_id')),
  ),
})

export type NewRows = {
  threads: NewThread[]
  messages: NewMessage[]
  /** There is one row for each address and inbox. */
  correspondents: Row<'correspondents'>[]
  quarantined: NewRow<'quarantined_messages'>[]
  events: TracedEvent[]
  raws: NewRow<'raw_messages'>[]
}

const insertSmall = together<Tables, { [Kind in keyof NewRows]: NewRows[Kind][number] }>({
  threads: rowInsert('threads', NEW_THREAD_COLUMNS),
  messages: rowInsert('messages', NEW_MESSAGE_COLUMNS),
  // An upsert keeps a correspondent's first message and best proof.
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

/** Large raw bytes are inserted one by one, because as JSON they would be three times as long. */
export async function insertMessages(
  tx: Tx,
  { raws = [], ...rows }: Partial<NewRows>,
): Promise<void> {
  const isLarge = ({ content }: NewRow<'raw_messages'>) =>
    content != null && content.length > ROW_BLOB_BYTES_MAX
  for (const raw of raws.filter(isLarge)) {
    await tx.query.insertInto('raw_messages').values(raw).execute()
  }
  await insertSmall(tx, {
    ...rows,
    raws: raws.filter((raw) => !isLarge(raw)).map((raw) => ({ is_marked: 0, ...raw })),
  })
}

/** The limit is in UTF-16 units. Longer bodies are stored once per raw message. */
export const ROW_BODY_LENGTH_MAX = 64 * 1024

export function bodiesForRow<Content extends Pick<MessageContent, 'body_length'>>(
  content: Content,
): Content {
  if (!isLong(content)) return content
  return { ...content, body_text: '', body_html: '', extracted_text: null }
}

/** Short bodies and bodies that are already stored are skipped. */
export async function insertLongBodies(tx: Tx, rawId: string, content: Bodies): Promise<void> {
  const row = longBodyOf(rawId, content)
  if (row === null) return
  await tx.query
    .insertInto('long_bodies')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

type Bodies = Pick<MessageContent, 'body_length' | 'body_text' | 'body_html' | 'extracted_text'>

export function longBodyOf(rawId: string, content: Bodies): NewRow<'long_bodies'> | null {
  if (!isLong(content)) return null
  const { body_text, body_html, extracted_text } = content
  return { raw_id: rawId, body_text, body_html, extracted_text }
}

function isLong(content: Pick<MessageContent, 'body_length'>): boolean {
  return content.body_length > ROW_BODY_LENGTH_MAX
}
