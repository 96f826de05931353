// What becomes of a sent message when a recipient of it is settled: its state and its events, within
// the transaction that settles.

import type { EventKind } from '#events/event.ts'
import { insertEvent } from '#events/event-rows.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'
import type { DeliveryStatus } from './delivery.ts'
import { messageStateOf } from './message-state.ts'

export type SettledMessage = Pick<
  Row<'messages'>,
  'id' | 'account_id' | 'inbox_id' | 'thread_id' | 'status' | 'failure_reason'
>

/**
 * Undefined when its inbox was deleted. To be called before deliveries are changed: of two transactions
 * that settle a message's last two recipients, one sees both.
 */
export async function lockSentMessage(tx: Tx, id: string): Promise<SettledMessage | undefined> {
  const [message] = await selectMessage(tx, { id })
  return message
}

/** Sets the message's state by what its deliveries are now; `eventId` is used should it change. */
export async function settleMessage(
  tx: Tx,
  message: SettledMessage,
  { eventId, nowMs }: { eventId: string; nowMs: number },
): Promise<void> {
  const change = changeOf(message, await selectStates(tx, { messageId: message.id }))
  if (change === null) return
  const { status, failure_reason, kind } = change
  await updateMessage(tx, { id: message.id, status, failure_reason })
  if (kind !== null) await addMessageEvent(tx, message, { id: eventId, kind, details: null, nowMs })
}

export type RecipientRow = Pick<
  Row<'deliveries'>,
  'recipient' | 'status' | 'response_code' | 'enhanced_code' | 'response'
>

/** What the states of all its recipients change of a message, and the event that tells of it; null: nothing. */
export function changeOf(
  message: SettledMessage,
  rows: readonly RecipientRow[],
): { status: string; failure_reason: string | null; kind: EventKind | null } | null {
  const { status, failureReason } = messageStateOf(
    rows.map((row) => ({
      recipient: row.recipient,
      status: row.status as DeliveryStatus,
      responseCode: row.response_code,
      enhancedCode: row.enhanced_code,
      response: row.response,
    })),
  )
  // Whoever complains has got it, though its server never said so: told as failed, it stays failed.
  if (message.status === 'failed' && status !== 'failed') return null
  if (status === message.status && failureReason === message.failure_reason) return null
  const isTold = status !== message.status && status !== 'pending'
  const kind = status === 'sent' ? 'message.sent' : 'message.failed'
  return { status, failure_reason: failureReason, kind: isTold ? kind : null }
}

/** `details` are what the event says that no other row does. */
export async function addMessageEvent(
  tx: Tx,
  message: SettledMessage,
  event: { id: string; kind: EventKind; details: Record<string, unknown> | null; nowMs: number },
): Promise<void> {
  const [inbox] = await selectPod(tx, { id: message.inbox_id })
  if (inbox === undefined) return
  await insertEvent(tx, {
    id: event.id,
    kind: event.kind,
    account_id: message.account_id,
    pod_id: inbox.pod_id,
    inbox_id: message.inbox_id,
    thread_id: message.thread_id,
    message_id: message.id,
    occurred_at: event.nowMs,
    details: event.details === null ? null : JSON.stringify(event.details),
  })
}

const selectMessage = statement<Tables, { id: string }, SettledMessage>((query, place, engine) =>
  lockRows(
    { engine },
    query
      .selectFrom('messages')
      .select(['id', 'account_id', 'inbox_id', 'thread_id', 'status', 'failure_reason'])
      .where('id', '=', place('id')),
  ),
)

const updateMessage = statement<
  Tables,
  { id: string; status: string; failure_reason: string | null },
  never
>((query, place) =>
  query
    .updateTable('messages')
    .set({ status: place('status'), failure_reason: place('failure_reason') })
    .where('id', '=', place('id')),
)

const selectStates = statement<Tables, { messageId: string }, RecipientRow>((query, place) =>
  query
    .selectFrom('deliveries')
    .select(['recipient', 'status', 'response_code', 'enhanced_code', 'response'])
    .where('message_id', '=', place('messageId'))
    .orderBy('id'),
)

const selectPod = statement<Tables, { id: string }, { pod_id: string }>((query, place) =>
  query.selectFrom('inboxes').select('pod_id').where('id', '=', place('id')),
)
