// The transaction that records what became of attempts: each recipient's outcome, and with it the
// message's state, its events, suppressions, and what the sandbox captured.

import { sql } from 'kysely'
import { insertEvents, type TracedEvent } from '#events/event-rows.ts'
import { type GroupedInput, groupTransaction } from '#platform/db/db.ts'
import { forEachRow, rowUpdate } from '#platform/db/statement.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'
import { addCaptured, type NewCaptured } from './captured-message-rows.ts'
import type { DeliveryStatus } from './delivery.ts'
import {
  eventsOf,
  lockSentMessages,
  type SettledMessage,
  settleMessages,
} from './message-outcome-rows.ts'
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
 * holds, or lost to nobody yet. What another process has taken over is that one's to settle. Outcomes that
 * come while others of their account are being recorded share a transaction: what a server has taken and
 * nobody noted yet is sent again after a crash, so that it should not wait for many commits.
 */
export const settleDeliveries = groupTransaction({
  name: 'settleDeliveries',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  group: {
    /** Suppressions, complaints and what the sandbox takes are rare, or quick: each goes alone. */
    sizeOf({ deliveries, captured }: SettleInput) {
      const isPlain = deliveries.every(
        ({ suppression, complaintEventId }) => suppression === null && complaintEventId === null,
      )
      return captured === null && isPlain ? deliveries.length * OUTCOME_LENGTH : null
    },
    run: settleTogether,
  },
})

/** About what a recipient's outcome has with a server's words. */
const OUTCOME_LENGTH = 1_500

async function settleTogether(
  tx: Tx,
  writes: readonly GroupedInput<SettleInput>[],
): Promise<string[][]> {
  const ids = writes.map(({ input }) => input.messageId)
  const messages = await lockSentMessages(tx, ids)
  const isThere = ({ messageId, accountId }: SettleInput) =>
    messages.get(messageId)?.account_id === accountId
  const attempts = new Map<string, SettledDelivery>()
  const changes: DeliveryChange[] = []
  for (const { input } of writes) {
    if (!isThere(input)) await deleteDeliveries(tx, input)
    for (const delivery of isThere(input) ? input.deliveries : []) {
      // One whose lease was lost may have been attempted twice: the first outcome stands.
      if (attempts.has(delivery.id)) continue
      attempts.set(delivery.id, delivery)
      changes.push(deliveryChange(delivery, input))
    }
  }
  const recipients = new Map<SettledDelivery | undefined, string>()
  for (const { id, recipient } of await updateDeliveries(tx, changes)) {
    recipients.set(attempts.get(id), recipient)
  }
  const over = new Map<string, SettledMessage>()
  const complaints: TracedEvent[] = []
  for (const { input, traceParent = null } of writes) {
    const message = messages.get(input.messageId)
    const settled = input.deliveries.filter((delivery) => recipients.has(delivery))
    if (message === undefined || settled.length === 0) continue
    const { eventId, nowMs } = input
    const told = { message, eventId, traceParent, nowMs }
    await addSuppressions(
      tx,
      input.accountId,
      settled.flatMap(({ suppression }) => suppression ?? []),
    )
    await capture(tx, input, settled)
    for (const delivery of settled) {
      if (delivery.nextAttemptAtMs === null) over.set(message.id, told)
      const { complaintEventId: id } = delivery
      const details = { recipient: recipients.get(delivery) }
      if (id !== null) {
        complaints.push(...eventsOf(told, { id, kind: 'message.complained', details }))
      }
    }
  }
  await settleMessages(tx, [...over.values()])
  await insertEvents(tx, complaints)
  return writes.map(({ input }) =>
    input.deliveries.filter((delivery) => recipients.has(delivery)).map(({ id }) => id),
  )
}

/** The inbox of their message was deleted. */
async function deleteDeliveries(tx: Tx, { accountId, deliveries }: SettleInput): Promise<void> {
  const ids = deliveries.map(({ id }) => id)
  await tx.query
    .deleteFrom('deliveries')
    .where('id', 'in', ids)
    .where('account_id', '=', accountId)
    .execute()
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

function deliveryChange(
  delivery: SettledDelivery,
  { worker, accountId }: SettleInput,
): DeliveryChange {
  return {
    id: delivery.id,
    account_id: accountId,
    leased_by: worker,
    queue_state: delivery.nextAttemptAtMs === null ? null : 'waiting',
    status: delivery.status,
    next_attempt_at: delivery.nextAttemptAtMs,
    ambiguous_attempts: delivery.isAmbiguous ? 1 : 0,
    host: delivery.host,
    tls: delivery.tls,
    response_code: delivery.responseCode,
    enhanced_code: delivery.enhancedCode,
    response: delivery.response,
  }
}

/** `leased_by` is who records the outcome, `ambiguous_attempts` are added. */
type DeliveryChange = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'leased_by'
  | 'queue_state'
  | 'status'
  | 'next_attempt_at'
  | 'ambiguous_attempts'
  | 'host'
  | 'tls'
  | 'response_code'
  | 'enhanced_code'
  | 'response'
>

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
            // Its lease ended, and nobody has taken it up: better known than sent again.
            row('deliveries.queue_state', '=', sql.lit('ready')),
          ]),
        )
        .returning(['deliveries.id', 'deliveries.recipient']),
  ),
)
