// What becomes of sent messages when recipients of theirs are settled: their states and their events, within
// the transaction that settles.

import type { EventKind } from '#events/event.ts'
import { EVENTS, type TracedEvent } from '#events/event-rows.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowSelect, rowUpdate, together } from '#platform/db/statement.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'
import type { DeliveryStatus } from './delivery.ts'
import { messageStateOf } from './message-state.ts'

export type SentMessage = Pick<
  Row<'messages'>,
  'id' | 'account_id' | 'inbox_id' | 'thread_id' | 'status' | 'failure_reason'
> & {
  /** Null once its inbox is deleted. */
  pod_id: string | null
}

/** A message that a transaction has settled deliveries of. */
export type SettledMessage = {
  message: SentMessage
  /** Of the event, should the message's state change. */
  eventId: string
  traceParent: string | null
  nowMs: number
}

/**
 * Those of the messages that are there, by id. To be called before deliveries are changed: of two
 * transactions that settle a message's last two recipients, one sees both.
 */
export async function lockSentMessages(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SentMessage>> {
  // In one order everywhere, so that no two transactions wait for each other.
  const rows = [...new Set(ids)].sort().map((id) => ({ id }))
  return new Map((await lockMessages(tx, rows)).map((message) => [message.id, message]))
}

/** Sets the states of messages by what their deliveries are now, and tells of those that change. */
export async function settleMessages(tx: Tx, settled: readonly SettledMessage[]): Promise<void> {
  const ids = settled.map(({ message }) => ({ message_id: message.id }))
  const recipients = Map.groupBy(await selectRecipients(tx, ids), (row) => row.message_id)
  const states: NewState[] = []
  const events: TracedEvent[] = []
  for (const one of settled) {
    const { id } = one.message
    const change = changeOf(one.message, recipients.get(id) ?? [])
    if (change === null) continue
    const { kind, ...state } = change
    states.push({ id, ...state })
    if (kind !== null) events.push(...eventsOf(one, { id: one.eventId, kind, details: null }))
  }
  await writeStates(tx, { states, events })
}

/** What the states of all its recipients change of a message, and the event that tells of it; null: nothing. */
function changeOf(
  message: SentMessage,
  rows: readonly Recipient[],
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

/** The event, unless the inbox is deleted. `details` are what it says that no other row does. */
export function eventsOf(
  { message, traceParent, nowMs }: Omit<SettledMessage, 'eventId'>,
  event: { id: string; kind: EventKind; details: Record<string, unknown> | null },
): TracedEvent[] {
  if (message.pod_id === null) return []
  return [
    {
      id: event.id,
      kind: event.kind,
      account_id: message.account_id,
      pod_id: message.pod_id,
      inbox_id: message.inbox_id,
      thread_id: message.thread_id,
      message_id: message.id,
      occurred_at: nowMs,
      details: event.details === null ? null : JSON.stringify(event.details),
      trace_parent: traceParent,
    },
  ]
}

const lockMessages = forEachRow(
  rowSelect<Tables, { id: string }, SentMessage>('messages', (query, given, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('messages')
        .select(['id', 'account_id', 'inbox_id', 'thread_id', 'status', 'failure_reason'])
        .select((row) =>
          row
            .selectFrom('inboxes')
            .select('inboxes.pod_id')
            .whereRef('inboxes.id', '=', 'messages.inbox_id')
            .as('pod_id'),
        )
        .where('id', '=', given('id')),
    ),
  ),
)

type Recipient = Pick<
  Row<'deliveries'>,
  'message_id' | 'recipient' | 'status' | 'response_code' | 'enhanced_code' | 'response'
>

const selectRecipients = forEachRow(
  rowSelect<Tables, { message_id: string }, Recipient>('deliveries', (query, given) =>
    query
      .selectFrom('deliveries')
      .select(['message_id', 'recipient', 'status', 'response_code', 'enhanced_code', 'response'])
      .where('message_id', '=', given('message_id'))
      .orderBy('id'),
  ),
)

type NewState = { id: string; status: string; failure_reason: string | null }

const writeStates = together<Tables, { states: NewState; events: TracedEvent }>({
  states: rowUpdate<Tables, NewState>('messages', (query, given) =>
    query
      .updateTable('messages')
      .set({ status: given('status'), failure_reason: given('failure_reason') })
      .where('messages.id', '=', given('id')),
  ),
  events: EVENTS,
})
