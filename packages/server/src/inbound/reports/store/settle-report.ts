// Records a report: the outcome of each recipient, the message's state, and suppressions.

import type { BounceClass } from '@mailroom/contract/vocabulary.ts'
import { insertEvents } from '#events/store/append.ts'
import {
  eventsOf,
  type LockedMessage,
  lockSentMessages,
  settleMessages,
} from '#outbound/deliveries/store/settle.ts'
import { addSuppressions, type NewSuppression } from '#outbound/suppressions/store/suppressions.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { Row, Tables, Tx } from '#store/tables.ts'

export type ReportedDelivery = {
  deliveryId: string
  eventId: string
  suppression: NewSuppression | null
} & (
  | {
      status: 'bounced'
      bounceClass: BounceClass
      responseCode: number | null
      enhancedCode: string | null
      response: string
    }
  | { status: 'complained'; response: string }
)

type SettleReportInput = {
  accountId: string
  messageId: string
  deliveries: ReportedDelivery[]
  eventId: string
  nowMs: number
}

/**
 * A recipient is `repeated` if it was already reported or refused, and `underway` while an attempt
 * is in progress, due or not recorded. A `deferred` message is retried because no server has
 * accepted it. A delivery that was deleted is `gone`.
 */
export type ReportOutcome = 'settled' | 'repeated' | 'underway' | 'deferred' | 'gone'

/** Returns one outcome for each delivery. A delivery in progress does not delay the rest. */
export const settleReport = transaction({
  name: 'settleReport',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: SettleReportInput): Promise<ReportOutcome[]> {
    const message = (await lockSentMessages(tx, [input.messageId])).get(input.messageId)
    if (message === undefined || message.account_id !== input.accountId) {
      return input.deliveries.map(() => 'gone')
    }
    const outcomes: ReportOutcome[] = []
    for (const { deliveryId: id } of input.deliveries) {
      const [row] = await selectDelivery(tx, { id, messageId: message.id })
      outcomes.push(outcomeOf(row))
    }
    const settled = input.deliveries.filter((_, index) => outcomes[index] === 'settled')
    if (settled.length > 0) await record(tx, input, { message, settled })
    return outcomes
  },
})

function outcomeOf(
  row: Pick<Row<'deliveries'>, 'status' | 'queue_state'> | undefined,
): ReportOutcome {
  if (row === undefined) return 'gone'
  switch (row.status) {
    case 'queued':
    case 'deferred':
      return row.queue_state === 'waiting' ? 'deferred' : 'underway'
    case 'accepted':
    case 'unknown':
      return 'settled'
    default:
      // Only the first report changes a delivery.
      return 'repeated'
  }
}

async function record(
  tx: Tx,
  input: SettleReportInput,
  { message, settled }: { message: LockedMessage; settled: ReportedDelivery[] },
): Promise<void> {
  const { eventId, nowMs } = input
  const recipients = new Map<string, string>()
  for (const reported of settled) {
    const { deliveryId: id, response } = reported
    const [row] =
      reported.status === 'bounced'
        ? await updateBounced(tx, {
            id,
            bounce_class: reported.bounceClass,
            response_code: reported.responseCode,
            enhanced_code: reported.enhancedCode,
            response,
          })
        : await updateComplained(tx, { id, response })
    if (row !== undefined) recipients.set(id, row.recipient)
  }
  const suppressions = settled.flatMap(({ suppression }) => suppression ?? [])
  await addSuppressions(tx, message.account_id, suppressions)
  const settledMessage = { message, eventId, traceParent: tx.traceParent ?? null, nowMs }
  const events = settled.flatMap((reported) => {
    const recipient = recipients.get(reported.deliveryId)
    return recipient === undefined ? [] : eventsOf(settledMessage, eventOf(reported, recipient))
  })
  await insertEvents(tx, events)
  await settleMessages(tx, [settledMessage])
}

function eventOf(reported: ReportedDelivery, recipient: string) {
  const { eventId: id } = reported
  if (reported.status === 'complained') {
    return { id, kind: 'message.complained', details: { recipient } } as const
  }
  const { bounceClass, enhancedCode, response } = reported
  const bounce = { class: bounceClass, enhanced_code: enhancedCode, response }
  return { id, kind: 'message.bounced', details: { recipient, bounce } } as const
}

const selectDelivery = statement<
  Tables,
  { id: string; messageId: string },
  Pick<Row<'deliveries'>, 'status' | 'queue_state'>
>((query, given, engine) =>
  lockRows(
    { engine },
    query
      .selectFrom('deliveries')
      .select(['status', 'queue_state'])
      .where('id', '=', given('id'))
      .where('message_id', '=', given('messageId')),
  ),
)

type Bounce = Pick<
  Row<'deliveries'>,
  'id' | 'bounce_class' | 'response_code' | 'enhanced_code' | 'response'
>

const updateBounced = statement<Tables, Bounce, { recipient: string }>((query, given) =>
  query
    .updateTable('deliveries')
    .set({
      status: 'bounced',
      bounce_class: given('bounce_class'),
      response_code: given('response_code'),
      enhanced_code: given('enhanced_code'),
      response: given('response'),
    })
    .where('id', '=', given('id'))
    .returning('recipient'),
)

const updateComplained = statement<Tables, { id: string; response: string }, { recipient: string }>(
  (query, given) =>
    query
      .updateTable('deliveries')
      .set({ status: 'complained', response: given('response') })
      .where('id', '=', given('id'))
      .returning('recipient'),
)
