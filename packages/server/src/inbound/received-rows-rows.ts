// The rows of one recipient that a received message comes to, once its place in the inbox is known.

import type { NewEvent } from '#events/event-rows.ts'
import { bodiesForRow } from '#mailbox/long-body-rows.ts'
import type { NewMessage } from '#mailbox/message-statements.ts'
import type { AddedMessage } from '#mailbox/thread-summary-rows.ts'
import type { KnownReceipt, ReceivedMail } from './receive-message-rows.ts'

/** What the summary of its thread reads of it. */
export function receivedMessage(
  { content }: Pick<ReceivedMail, 'content'>,
  { toAddr }: KnownReceipt,
): AddedMessage {
  return { ...content, direction: 'inbound', to_addr: toAddr }
}

type Place = Pick<NewMessage, 'thread_id' | 'position' | 'direction_position' | 'thread_position'>

/** The message, and the event that tells of it. */
export function receivedRows(
  { raw, content, nowMs }: ReceivedMail,
  receipt: KnownReceipt,
  place: Place,
): { message: NewMessage; event: NewEvent } {
  const { messageId, accountId, inboxId } = receipt
  return {
    message: {
      ...bodiesForRow(content),
      ...place,
      id: messageId,
      account_id: accountId,
      inbox_id: inboxId,
      raw_id: raw.id,
      direction: 'inbound',
      status: 'received',
      to_addr: receipt.toAddr,
      delivery_role: receipt.deliveryRole,
      created_at: nowMs,
    },
    event: {
      id: receipt.eventId,
      kind: 'message.received',
      account_id: accountId,
      pod_id: receipt.podId,
      inbox_id: inboxId,
      thread_id: place.thread_id,
      message_id: messageId,
      occurred_at: nowMs,
      details: null,
    },
  }
}
