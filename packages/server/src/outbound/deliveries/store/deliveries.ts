import type { BounceClass, DeliveryStatus } from '@mailroom/contract/vocabulary.ts'
import { forEachRow, rowInsert, statement } from '#platform/db/statement.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'

export type Delivery = {
  id: string
  recipient: string
  status: DeliveryStatus
  attempts: number
  lastAttemptAtMs: number | null
  nextAttemptAtMs: number | null
  host: string | null
  /** The TLS version of the last attempt, or null if it was not encrypted. */
  tls: string | null
  responseCode: number | null
  enhancedCode: string | null
  response: string | null
  bounceClass: BounceClass | null
}

const NEW_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'message_id',
  'raw_id',
  'size_bytes',
  'needs_smtputf8',
  'recipient',
  'return_path',
  'lane',
  'next_attempt_at',
  'expires_at',
  'created_at',
] as const

export type NewDelivery = Pick<NewRow<'deliveries'>, (typeof NEW_COLUMNS)[number]>

export async function insertDeliveries(tx: Tx, deliveries: NewDelivery[]): Promise<void> {
  const queued = { queue_state: 'ready', status: 'queued', attempts: 0, ambiguous_attempts: 0 }
  const trace_parent = tx.traceParent ?? null
  await insertRows(
    tx,
    deliveries.map((delivery) => ({ ...delivery, ...queued, trace_parent })),
  )
}

const insertRows = forEachRow(
  rowInsert<Tables, NewRow<'deliveries'>>('deliveries', [
    ...NEW_COLUMNS,
    'queue_state',
    'status',
    'attempts',
    'ambiguous_attempts',
    'trace_parent',
  ]),
)

/** The caller must have checked the account. */
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
    bounceClass: row.bounce_class as BounceClass | null,
  }
}

export type SentMessage = {
  accountId: string
  inboxId: string
  messageId: string
  deliveries: { id: string; recipient: string }[]
}

/** The account is not checked, because the id comes from a return path of the service. */
export async function findSentByDelivery(db: ReadDb, id: string): Promise<SentMessage | null> {
  const [row] = await selectMessageId(db.reading, { id })
  return row === undefined ? null : findSent(db, row.message_id)
}

/** The account is not checked, because every recipient knows the message's id. */
export async function findSent(db: ReadDb, messageId: string): Promise<SentMessage | null> {
  const rows = await selectRecipients(db.reading, { messageId })
  const [first] = rows
  if (first === undefined) return null
  const deliveries = rows.map(({ id, recipient }) => ({ id, recipient }))
  return { accountId: first.account_id, inboxId: first.inbox_id, messageId, deliveries }
}

const selectMessageId = statement<Tables, { id: string }, { message_id: string }>((query, given) =>
  query.selectFrom('deliveries').select('message_id').where('id', '=', given('id')),
)

const selectRecipients = statement<
  Tables,
  { messageId: string },
  Pick<Row<'deliveries'>, 'id' | 'account_id' | 'inbox_id' | 'recipient'>
>((query, given) =>
  query
    .selectFrom('deliveries')
    .select(['id', 'account_id', 'inbox_id', 'recipient'])
    .where('message_id', '=', given('messageId'))
    .orderBy('id'),
)
