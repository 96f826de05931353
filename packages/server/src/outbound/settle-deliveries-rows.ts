// The transaction that records what became of attempts: each recipient's outcome, and with it the
// message's state, its events, suppressions, and what the sandbox captured.

import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import { addCaptured, type NewCaptured } from '#sandbox/captured-message-rows.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'
import type { DeliveryStatus } from './delivery.ts'
import { addMessageEvent, lockSentMessage, settleMessage } from './message-outcome-rows.ts'
import { addSuppressions, type NewSuppression } from './suppression-rows.ts'

export type SettledDelivery = {
  id: string
  status: DeliveryStatus
  /** When it is tried again; null: never, the outcome stands. */
  nextAttemptAtMs: number | null
  isAmbiguous: boolean
  host: string | null
  tls: string | null
  responseCode: number | null
  enhancedCode: string | null
  response: string | null
  /** The recipient's address is dead, or its owner complained. */
  suppression: NewSuppression | null
  complaintEventId: string | null
}

/** What the sandbox took, and for whom. */
export type TakenMail = Omit<NewCaptured, 'recipients'> & {
  recipients: { deliveryId: string; address: string }[]
}

export type SettleInput = {
  worker: string
  /** Whose message it is: its outcomes take turns as that account's. */
  accountId: string
  messageId: string
  deliveries: SettledDelivery[]
  captured: TakenMail | null
  /** Id of the event, should the message's state change. */
  eventId: string
  nowMs: number
}

/**
 * Records the outcomes of deliveries, and returns the ids of those that it recorded: what `worker`
 * holds, or lost to nobody yet. What another process has taken over is that one's to settle.
 */
export async function settleAlone(tx: Tx, input: SettleInput): Promise<string[]> {
  // The message first: of two processes that settle its last two recipients, one sees both.
  const message = await lockSentMessage(tx, input.messageId)
  if (message === undefined || message.account_id !== input.accountId) {
    // Its inbox was deleted.
    const ids = input.deliveries.map((delivery) => delivery.id)
    await tx.query
      .deleteFrom('deliveries')
      .where('id', 'in', ids)
      .where('account_id', '=', input.accountId)
      .execute()
    return []
  }
  const settled: SettledDelivery[] = []
  const complaints: { id: string; recipient: string }[] = []
  for (const delivery of input.deliveries) {
    const [row] = await updateDelivery(tx, deliveryChange(delivery, input))
    if (row === undefined) continue
    settled.push(delivery)
    const { complaintEventId: id } = delivery
    if (id !== null) complaints.push({ id, recipient: row.recipient })
  }
  if (settled.length === 0) return []
  const suppressions = settled.flatMap(({ suppression }) => suppression ?? [])
  await addSuppressions(tx, message.account_id, suppressions)
  await capture(tx, input, settled)
  if (settled.some((delivery) => delivery.nextAttemptAtMs === null)) {
    await settleMessage(tx, message, { eventId: input.eventId, nowMs: input.nowMs })
  }
  for (const { id, recipient } of complaints) {
    const event = { id, kind: 'message.complained', details: { recipient } } as const
    await addMessageEvent(tx, message, { ...event, nowMs: input.nowMs })
  }
  return settled.map((delivery) => delivery.id)
}

/** Of what was taken, the recipients whose outcome is recorded here. */
async function capture(
  tx: Tx,
  { captured }: SettleInput,
  settled: readonly SettledDelivery[],
): Promise<void> {
  if (captured === null) return
  const ids = new Set(settled.map((delivery) => delivery.id))
  const { recipients, ...row } = captured
  const taken = recipients.filter((recipient) => ids.has(recipient.deliveryId))
  if (taken.length === 0) return
  const addresses = JSON.stringify(taken.map((recipient) => recipient.address))
  await addCaptured(tx, { ...row, recipients: addresses })
}

export function deliveryChange(
  delivery: SettledDelivery,
  { worker, accountId }: SettleInput,
): DeliveryChange {
  const isOver = delivery.nextAttemptAtMs === null
  return {
    id: delivery.id,
    account_id: accountId,
    worker,
    queue_state: isOver ? null : 'waiting',
    status: delivery.status,
    next_attempt_at: delivery.nextAttemptAtMs,
    ambiguous: delivery.isAmbiguous ? 1 : 0,
    host: delivery.host,
    tls: delivery.tls,
    response_code: delivery.responseCode,
    enhanced_code: delivery.enhancedCode,
    response: delivery.response,
  }
}

export type DeliveryChange = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'queue_state'
  | 'status'
  | 'next_attempt_at'
  | 'host'
  | 'tls'
  | 'response_code'
  | 'enhanced_code'
  | 'response'
> & { worker: string; ambiguous: number }

const updateDelivery = statement<Tables, DeliveryChange, { recipient: string }>((query, place) =>
  query
    .updateTable('deliveries')
    .set((row) => ({
      queue_state: place('queue_state'),
      status: place('status'),
      next_attempt_at: place('next_attempt_at'),
      ambiguous_attempts: row('ambiguous_attempts', '+', place('ambiguous')),
      leased_by: null,
      lease_until: null,
      host: place('host'),
      tls: place('tls'),
      response_code: place('response_code'),
      enhanced_code: place('enhanced_code'),
      response: place('response'),
    }))
    .where('id', '=', place('id'))
    .where('account_id', '=', place('account_id'))
    .where((row) =>
      row.or([
        row('leased_by', '=', place('worker')),
        // Its lease ended, and nobody has taken it up: better known than sent again.
        row('queue_state', '=', sql.lit('ready')),
      ]),
    )
    .returning('recipient'),
)
