// Records outcomes of attempts: recipients, the message's state, events, suppressions, and captured
// mail.

import type { DeliveryStatus } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import type { EventKind } from '#events/model.ts'
import { EVENTS, insertEvents, type TracedEvent } from '#events/store/append.ts'
import { addSuppressions, type NewSuppression } from '#outbound/suppressions/store/suppressions.ts'
import { type GroupedInput, groupTransaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowSelect, rowUpdate, together } from '#platform/db/statement.ts'
import type { Row, Tables, Tx } from '#store/tables.ts'
import { addCaptured, type NewCaptured } from './captured-messages.ts'

type OutcomeColumn =
  | 'id'
  /** Null if the delivery is not retried. */
  | 'next_attempt_at'
  /** This number is added to that of the row. */
  | 'ambiguous_attempts'
  | 'host'
  | 'tls'
  | 'response_code'
  | 'enhanced_code'
  | 'response'

export type SettledDelivery = Pick<Row<'deliveries'>, OutcomeColumn> & {
  status: DeliveryStatus
  /** Set if the address no longer exists or its owner complained. */
  suppression: NewSuppression | null
  complaintEventId: string | null
}

type CapturedMail = Omit<NewCaptured, 'recipients'> & {
  recipients: { deliveryId: string; address: string }[]
}

export type SettleInput = {
  worker: string
  accountId: string
  messageId: string
  deliveries: SettledDelivery[]
  captured: CapturedMail | null
  eventId: string
  nowMs: number
}

/**
 * Records outcomes of deliveries that `worker` holds, or whose lease expired without a new one, and
 * returns their ids. Outcomes of an account share transactions to shorten the time in which a crash
 * would cause a second send.
 */
export const settleDeliveries = groupTransaction({
  name: 'settleDeliveries',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  group: {
    /** Suppressions, complaints and captures have their own transactions. */
    sizeOf({ deliveries, captured }: SettleInput) {
      const isPlain = deliveries.every(
        ({ suppression, complaintEventId }) => suppression === null && complaintEventId === null,
      )
      return captured === null && isPlain ? deliveries.length * OUTCOME_LENGTH : null
    },
    run: settleTogether,
  },
})

/** The typical length of an outcome with the server's reply. */
const OUTCOME_LENGTH = 1_500

async function settleTogether(
  tx: Tx,
  writes: readonly GroupedInput<SettleInput>[],
): Promise<string[][]> {
  const ids = writes.map(({ input }) => input.messageId)
  const messages = await lockSentMessages(tx, ids)
  const attempts = new Map<string, SettledDelivery>()
  const changes: DeliveryChange[] = []
  for (const { input } of writes) {
    if (messages.get(input.messageId)?.account_id !== input.accountId) {
      await deleteDeliveries(tx, input)
      continue
    }
    for (const delivery of input.deliveries) {
      // A delivery may have been attempted twice. The first outcome is recorded.
      if (attempts.has(delivery.id)) continue
      attempts.set(delivery.id, delivery)
      changes.push(deliveryChange(delivery, input))
    }
  }
  const recipients = new Map<SettledDelivery | undefined, string>()
  for (const { id, recipient } of await updateDeliveries(tx, changes)) {
    recipients.set(attempts.get(id), recipient)
  }
  const finished = new Map<string, SettledMessage>()
  const complaints: TracedEvent[] = []
  for (const { input, traceParent = null } of writes) {
    const message = messages.get(input.messageId)
    const settled = input.deliveries.filter((delivery) => recipients.has(delivery))
    if (message === undefined || settled.length === 0) continue
    const { eventId, nowMs } = input
    const settledMessage = { message, eventId, traceParent, nowMs }
    await addSuppressions(
      tx,
      input.accountId,
      settled.flatMap(({ suppression }) => suppression ?? []),
    )
    await capture(tx, input, settled)
    for (const delivery of settled) {
      if (delivery.next_attempt_at === null) finished.set(message.id, settledMessage)
      const { complaintEventId: id } = delivery
      const details = { recipient: recipients.get(delivery) }
      if (id !== null) {
        complaints.push(...eventsOf(settledMessage, { id, kind: 'message.complained', details }))
      }
    }
  }
  await settleMessages(tx, [...finished.values()])
  await insertEvents(tx, complaints)
  return writes.map(({ input }) =>
    input.deliveries.filter((delivery) => recipients.has(delivery)).map(({ id }) => id),
  )
}

async function deleteDeliveries(tx: Tx, { accountId, deliveries }: SettleInput): Promise<void> {
  const ids = deliveries.map(({ id }) => id)
  await tx.query
    .deleteFrom('deliveries')
    .where('id', 'in', ids)
    .where('account_id', '=', accountId)
    .execute()
}

async function capture(
  tx: Tx,
  { captured }: SettleInput,
  settled: readonly SettledDelivery[],
): Promise<void> {
  if (captured === null) return
  const ids = new Set(settled.map((delivery) => delivery.id))
  const { recipients, ...row } = captured
  const recorded = recipients.filter((recipient) => ids.has(recipient.deliveryId))
  if (recorded.length === 0) return
  const addresses = JSON.stringify(recorded.map((recipient) => recipient.address))
  await addCaptured(tx, { ...row, recipients: addresses })
}

type DeliveryChange = Pick<
  Row<'deliveries'>,
  OutcomeColumn | 'status' | 'account_id' | 'leased_by' | 'queue_state'
>

function deliveryChange(
  { suppression: _suppression, complaintEventId: _id, ...outcome }: SettledDelivery,
  { worker, accountId }: SettleInput,
): DeliveryChange {
  const queue_state = outcome.next_attempt_at === null ? null : 'waiting'
  return { ...outcome, account_id: accountId, leased_by: worker, queue_state }
}

const updateDeliveries = forEachRow(
  rowUpdate<Tables, DeliveryChange, { id: string; recipient: string }>(
    'deliveries',
    (query, given) =>
      query
        .updateTable('deliveries')
        .set(({ eb, ref }) => ({
          queue_state: given('queue_state'),
          status: given('status'),
          next_attempt_at: given('next_attempt_at'),
          ambiguous_attempts: eb(
            ref('deliveries.ambiguous_attempts'),
            '+',
            given('ambiguous_attempts'),
          ),
          leased_by: null,
          lease_until: null,
          host: given('host'),
          tls: given('tls'),
          response_code: given('response_code'),
          enhanced_code: given('enhanced_code'),
          response: given('response'),
        }))
        .where('deliveries.id', '=', given('id'))
        .where('deliveries.account_id', '=', given('account_id'))
        .where((row) =>
          row.or([
            row('deliveries.leased_by', '=', given('leased_by')),
            // To avoid sending twice, an outcome is still recorded after the lease has expired,
            // unless the delivery has been leased again.
            row('deliveries.queue_state', '=', sql.lit('ready')),
          ]),
        )
        .returning(['deliveries.id', 'deliveries.recipient']),
  ),
)

export type MessageIds = Pick<Row<'messages'>, 'id' | 'account_id' | 'inbox_id' | 'thread_id'> & {
  /** Null once the inbox is deleted. */
  pod_id: string | null
}

export type LockedMessage = MessageIds &
  Pick<Row<'messages'>, 'raw_id' | 'status' | 'failure_reason'>

type SettledMessage = {
  message: LockedMessage
  eventId: string
  traceParent: string | null
  nowMs: number
}

/**
 * Must be called before deliveries are changed. If two transactions settle the last two recipients,
 * one of them then sees both outcomes.
 */
export async function lockSentMessages(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LockedMessage>> {
  // The order prevents deadlocks between transactions.
  const rows = [...new Set(ids)].sort().map((id) => ({ id }))
  return new Map((await lockMessages(tx, rows)).map((message) => [message.id, message]))
}

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

function changeOf(
  message: LockedMessage,
  rows: readonly RecipientState[],
): (MessageState & { kind: EventKind | null }) | null {
  const { status, failure_reason } = messageStateOf(rows)
  // A complaint proves that the mail arrived, but a failed message stays failed.
  if (message.status === 'failed' && status !== 'failed') return null
  if (status === message.status && failure_reason === message.failure_reason) return null
  const hasEvent = status !== message.status && status !== 'pending'
  const kind = status === 'sent' ? 'message.sent' : 'message.failed'
  return { status, failure_reason, kind: hasEvent ? kind : null }
}

/** The limit is in characters, for all recipients of a message together. */
export const FAILURE_REASON_LENGTH_MAX = 2_000

type RecipientState = Pick<
  Row<'deliveries'>,
  'recipient' | 'status' | 'response_code' | 'enhanced_code' | 'response'
>

type MessageState = {
  status: 'pending' | 'sent' | 'failed'
  /** The words of the server that refused a recipient, set at the first refusal. */
  failure_reason: string | null
}

/**
 * Returns `pending` until every recipient is settled, then `sent` if a server accepted the message
 * for any recipient, else `failed`. A recipient that bounced after acceptance was refused.
 */
export function messageStateOf(recipients: readonly RecipientState[]): MessageState {
  const failure_reason = reasonOf(recipients.filter(({ status }) => REFUSED.has(status)))
  if (recipients.some(({ status }) => status === 'queued' || status === 'deferred')) {
    return { status: 'pending', failure_reason }
  }
  const isSent = recipients.some(({ status }) => !REFUSED.has(status))
  return { status: isSent ? 'sent' : 'failed', failure_reason }
}

const REFUSED: ReadonlySet<string> = new Set(['failed', 'unknown', 'bounced'])

function reasonOf(refused: readonly RecipientState[]): string | null {
  if (refused.length === 0) return null
  const text = refused
    .map(({ recipient, response_code, enhanced_code, response }) => {
      const words = [response_code, enhanced_code, response].filter((part) => part !== null)
      return `${recipient}: ${words.join(' ')}`
    })
    .join('; ')
  return text.length <= FAILURE_REASON_LENGTH_MAX
    ? text
    : `${text.slice(0, FAILURE_REASON_LENGTH_MAX - 1)}…`
}

export function eventsOf(
  {
    message,
    traceParent,
    nowMs,
  }: Pick<SettledMessage, 'traceParent' | 'nowMs'> & { message: MessageIds },
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
      category: null,
    },
  ]
}

const lockMessages = forEachRow(
  rowSelect<Tables, { id: string }, LockedMessage>('messages', (query, given, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('messages')
        .select(['id', 'account_id', 'inbox_id', 'thread_id', 'raw_id', 'status', 'failure_reason'])
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

const selectRecipients = forEachRow(
  rowSelect<Tables, { message_id: string }, RecipientState & { message_id: string }>(
    'deliveries',
    (query, given) =>
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
