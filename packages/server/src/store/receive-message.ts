// The transaction behind every 250: one arriving message, written for each of its recipients with
// its thread, its totals and its event, or recognised as one that is already there.

import { sql } from 'kysely'
import { lockRows } from '#db/dialect.ts'
import { statement } from '#db/statement.ts'
import type { NewRow, Tables, Tx } from './tables.ts'

export type ReceivedRaw = Omit<NewRow<'raw_messages'>, 'reference_count'>

export type Receipt = {
  accountId: string
  podId: string
  inboxId: string
  messageId: string
  /** Id of the thread, should the message start one. */
  threadId: string
  eventId: string
  toAddr: string
  deliveryRole: 'to' | 'cc'
}

/** What the message says, alike for every recipient. */
export type ReceivedContent = Pick<
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
  | 'body_text'
  | 'body_html'
  | 'extracted_text'
  | 'attachments'
  | 'authentication'
  | 'automatic_reason'
  | 'defects'
>

export type ReceiveInput = {
  raw: ReceivedRaw
  content: ReceivedContent
  receipts: Receipt[]
  /** Mail to the service's postmaster, kept for the operator. */
  postmaster: { recipient: string } | null
  /** Keys of the messages that this one answers, in the order in which they decide its thread. */
  parentKeys: string[]
  nowMs: number
}

export type ReceiveOutcome = { stored: number; duplicates: number; gone: number }

/**
 * Writes the message for every recipient whose inbox still exists. The raw bytes are kept only when
 * somebody refers to them.
 */
export async function receiveMessage(tx: Tx, input: ReceiveInput): Promise<ReceiveOutcome> {
  const outcome: ReceiveOutcome = { stored: 0, duplicates: 0, gone: 0 }
  // In one order everywhere, so that two transactions never wait for each other's inboxes.
  const receipts = [...input.receipts].sort((a, b) => (a.inboxId < b.inboxId ? -1 : 1))
  for (const receipt of receipts) outcome[await receive(tx, input, receipt)] += 1
  let references = outcome.stored
  if (input.postmaster !== null) {
    references += 1
    await tx.query
      .insertInto('postmaster_messages')
      .values({
        raw_id: input.raw.id,
        recipient: input.postmaster.recipient,
        from_addr: input.content.from_addr,
        subject: input.content.subject,
        created_at: input.nowMs,
      })
      .execute()
  }
  if (references > 0) await insertRaw(tx, { ...input.raw, reference_count: references })
  return outcome
}

async function receive(
  tx: Tx,
  input: ReceiveInput,
  receipt: Receipt,
): Promise<'stored' | 'duplicates' | 'gone'> {
  const { content, nowMs } = input
  const [counters] = await selectCounters(tx, { inboxId: receipt.inboxId })
  if (counters === undefined) return 'gone'
  if (content.receipt_key != null) {
    const [same] = await selectReceipt(tx, {
      inboxId: receipt.inboxId,
      receiptKey: content.receipt_key,
    })
    if (same !== undefined) return 'duplicates'
  }
  const position = counters.inbound_count + counters.outbound_count + 1
  const parent = await findParentThread(tx, receipt.inboxId, input.parentKeys)
  const thread = parent ?? { id: receipt.threadId, is_read: 0, message_count: 0 }
  if (parent === null) {
    await insertThread(tx, {
      id: receipt.threadId,
      account_id: receipt.accountId,
      inbox_id: receipt.inboxId,
      subject: content.subject,
      now: nowMs,
      position,
    })
  } else {
    await updateThread(tx, { id: thread.id, now: nowMs, position })
  }
  await insertMessage(tx, {
    ...content,
    id: receipt.messageId,
    account_id: receipt.accountId,
    inbox_id: receipt.inboxId,
    thread_id: thread.id,
    raw_id: input.raw.id,
    position,
    direction_position: counters.inbound_count + 1,
    thread_position: thread.message_count + 1,
    to_addr: receipt.toAddr,
    delivery_role: receipt.deliveryRole,
    created_at: nowMs,
  })
  await updateCounters(tx, {
    inboxId: receipt.inboxId,
    threads: parent === null ? 1 : 0,
    unread: parent === null || parent.is_read === 1 ? 1 : 0,
  })
  await insertEvent(tx, {
    id: receipt.eventId,
    account_id: receipt.accountId,
    pod_id: receipt.podId,
    inbox_id: receipt.inboxId,
    thread_id: thread.id,
    message_id: receipt.messageId,
    occurred_at: nowMs,
  })
  return 'stored'
}

type ParentThread = { id: string; is_read: number; message_count: number }

/** The thread of the first key that names a message of this inbox; of several, the oldest one's. */
async function findParentThread(
  tx: Tx,
  inboxId: string,
  keys: string[],
): Promise<ParentThread | null> {
  for (const key of keys) {
    const [parent] = await selectParent(tx, { inboxId, key })
    if (parent !== undefined) return parent
  }
  return null
}

// The lock keeps positions dense: two messages for one inbox take their turns.
const selectCounters = statement<
  Tables,
  { inboxId: string },
  { inbound_count: number; outbound_count: number }
>((query, place, engine) =>
  lockRows(
    { engine, query },
    query
      .selectFrom('inbox_counters')
      .select(['inbound_count', 'outbound_count'])
      .where('inbox_id', '=', place('inboxId')),
  ),
)

const selectReceipt = statement<
  Tables,
  { inboxId: string; receiptKey: Uint8Array },
  { thread_id: string }
>((query, place) =>
  query
    .selectFrom('messages')
    .select('thread_id')
    .where('inbox_id', '=', place('inboxId'))
    .where('receipt_key', '=', place('receiptKey')),
)

const selectParent = statement<Tables, { inboxId: string; key: string }, ParentThread>(
  (query, place) =>
    query
      .selectFrom('messages')
      .innerJoin('threads', 'threads.id', 'messages.thread_id')
      .select(['threads.id', 'threads.is_read', 'threads.message_count'])
      .where('messages.inbox_id', '=', place('inboxId'))
      .where('messages.message_key', '=', place('key'))
      .orderBy('messages.position')
      .limit(1),
)

const insertThread = statement<
  Tables,
  Pick<NewRow<'threads'>, 'id' | 'account_id' | 'inbox_id' | 'subject'> & {
    now: number
    position: number
  },
  never
>((query, place) =>
  query.insertInto('threads').values({
    id: place('id'),
    account_id: place('account_id'),
    inbox_id: place('inbox_id'),
    subject: place('subject'),
    is_read: 0,
    message_count: 1,
    last_message_at: place('now'),
    last_position: place('position'),
    created_at: place('now'),
  }),
)

const updateThread = statement<Tables, { id: string; now: number; position: number }, never>(
  (query, place) =>
    query
      .updateTable('threads')
      .set((row) => ({
        is_read: 0,
        message_count: row('message_count', '+', 1),
        last_message_at: place('now'),
        last_position: place('position'),
      }))
      .where('id', '=', place('id')),
)

type NewMessage = ReceivedContent &
  Pick<
    NewRow<'messages'>,
    | 'id'
    | 'account_id'
    | 'inbox_id'
    | 'thread_id'
    | 'raw_id'
    | 'position'
    | 'direction_position'
    | 'thread_position'
    | 'to_addr'
    | 'delivery_role'
    | 'created_at'
  >

const insertMessage = statement<Tables, NewMessage, never>((query, place) =>
  query.insertInto('messages').values({
    id: place('id'),
    account_id: place('account_id'),
    inbox_id: place('inbox_id'),
    thread_id: place('thread_id'),
    raw_id: place('raw_id'),
    direction: sql.lit('inbound'),
    position: place('position'),
    direction_position: place('direction_position'),
    thread_position: place('thread_position'),
    status: sql.lit('received'),
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
    body_text: place('body_text'),
    body_html: place('body_html'),
    extracted_text: place('extracted_text'),
    attachments: place('attachments'),
    authentication: place('authentication'),
    automatic_reason: place('automatic_reason'),
    failure_reason: null,
    defects: place('defects'),
    created_at: place('created_at'),
  }),
)

const updateCounters = statement<
  Tables,
  { inboxId: string; threads: number; unread: number },
  never
>((query, place) =>
  query
    .updateTable('inbox_counters')
    .set((row) => ({
      inbound_count: row('inbound_count', '+', 1),
      thread_count: row('thread_count', '+', place('threads')),
      unread_thread_count: row('unread_thread_count', '+', place('unread')),
    }))
    .where('inbox_id', '=', place('inboxId')),
)

const insertEvent = statement<Tables, Omit<NewRow<'events'>, 'kind' | 'sequence'>, never>(
  (query, place) =>
    query.insertInto('events').values({
      id: place('id'),
      kind: sql.lit('message.received'),
      account_id: place('account_id'),
      pod_id: place('pod_id'),
      inbox_id: place('inbox_id'),
      thread_id: place('thread_id'),
      message_id: place('message_id'),
      occurred_at: place('occurred_at'),
    }),
)

const insertRaw = statement<Tables, NewRow<'raw_messages'>, never>((query, place) =>
  query.insertInto('raw_messages').values({
    id: place('id'),
    sha256: place('sha256'),
    size_bytes: place('size_bytes'),
    content: place('content'),
    reference_count: place('reference_count'),
    reverse_path: place('reverse_path'),
    client_address: place('client_address'),
    helo: place('helo'),
    tls: place('tls'),
    created_at: place('created_at'),
  }),
)
