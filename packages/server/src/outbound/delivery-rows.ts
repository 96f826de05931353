// Deliveries, to and from rows: one for each recipient of a message that was sent.

import { statement } from '#platform/db/statement.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { Delivery, DeliveryStatus } from './delivery.ts'

export type NewDelivery = Pick<
  NewRow<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'inbox_id'
  | 'message_id'
  | 'raw_id'
  | 'size_bytes'
  | 'needs_smtputf8'
  | 'recipient'
  | 'return_path'
  | 'lane'
  | 'next_attempt_at'
  | 'expires_at'
  | 'created_at'
>

/** Deliveries of a message, in the order of its recipients. The caller has found the message. */
export async function listDeliveries(
  db: ReadDb,
  input: { accountId: string; messageId: string; limit: number; offset: number },
): Promise<{ deliveries: Delivery[]; total: number }> {
  const rows = await db.read
    .selectFrom('deliveries')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('message_id', '=', input.messageId)
    .orderBy('id')
    .execute()
  const page = rows.slice(input.offset, input.offset + input.limit)
  return { deliveries: page.map(toDelivery), total: rows.length }
}

/** A message that was sent, as far as a report may speak of it. */
export type SentMessage = {
  accountId: string
  inboxId: string
  messageId: string
  deliveries: { id: string; recipient: string }[]
}

/** The message of a delivery, or null. The delivery's id comes from a return path of the service. */
export async function findSentByDelivery(db: ReadDb, id: string): Promise<SentMessage | null> {
  const [row] = await selectMessageId(db.reading, { id })
  return row === undefined ? null : findSent(db, row.message_id)
}

/** A message that was sent, by its id, which whoever got the message knows; or null. */
export async function findSent(db: ReadDb, messageId: string): Promise<SentMessage | null> {
  const rows = await selectRecipients(db.reading, { messageId })
  const [first] = rows
  if (first === undefined) return null
  const deliveries = rows.map(({ id, recipient }) => ({ id, recipient }))
  return { accountId: first.account_id, inboxId: first.inbox_id, messageId, deliveries }
}

/** A row that nobody holds and anybody may take. */
function toDelivery(row: Row<'deliveries'>): Delivery {
  return {
    id: row.id,
    recipient: row.recipient,
    status: row.status as DeliveryStatus,
    attempts: row.attempts,
    lastAttemptAtMs: row.last_attempt_at,
    nextAttemptAtMs: row.next_attempt_at,
    host: row.host,
    tls: row.tls,
    responseCode: row.response_code,
    enhancedCode: row.enhanced_code,
    response: row.response,
    bounceClass: row.bounce_class as Delivery['bounceClass'],
  }
}

/** Puts the recipients of a message into the queue, ready at once. */
export async function insertDeliveries(tx: Tx, deliveries: NewDelivery[]): Promise<void> {
  const [only] = deliveries
  // Most messages have one recipient; where a statement costs a round trip, many must share it.
  const traced = { trace_parent: tx.traceParent ?? null }
  if (deliveries.length === 1 && only !== undefined)
    await insertDelivery(tx, { ...only, ...traced })
  else {
    const rows = deliveries.map((delivery) => ({ ...delivery, ...traced, ...QUEUED }))
    await tx.query.insertInto('deliveries').values(rows).execute()
  }
}

const QUEUED = {
  queue_state: 'ready',
  status: 'queued',
  attempts: 0,
  ambiguous_attempts: 0,
  last_attempt_at: null,
  leased_by: null,
  lease_until: null,
  host: null,
  tls: null,
  response_code: null,
  enhanced_code: null,
  response: null,
  bounce_class: null,
} as const

const selectMessageId = statement<Tables, { id: string }, { message_id: string }>((query, place) =>
  query.selectFrom('deliveries').select('message_id').where('id', '=', place('id')),
)

const selectRecipients = statement<
  Tables,
  { messageId: string },
  Pick<Row<'deliveries'>, 'id' | 'account_id' | 'inbox_id' | 'recipient'>
>((query, place) =>
  query
    .selectFrom('deliveries')
    .select(['id', 'account_id', 'inbox_id', 'recipient'])
    .where('message_id', '=', place('messageId'))
    .orderBy('id'),
)

const insertDelivery = statement<Tables, NewDelivery & { trace_parent: string | null }, never>(
  (query, place) =>
    query.insertInto('deliveries').values({
      id: place('id'),
      account_id: place('account_id'),
      inbox_id: place('inbox_id'),
      message_id: place('message_id'),
      raw_id: place('raw_id'),
      size_bytes: place('size_bytes'),
      needs_smtputf8: place('needs_smtputf8'),
      recipient: place('recipient'),
      return_path: place('return_path'),
      lane: place('lane'),
      next_attempt_at: place('next_attempt_at'),
      expires_at: place('expires_at'),
      created_at: place('created_at'),
      trace_parent: place('trace_parent'),
      ...QUEUED,
    }),
)
