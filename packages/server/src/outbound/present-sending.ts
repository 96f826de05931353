// What was sent, and what became of it, as the API shows it.

import type { Suppression as SuppressionShape } from '@mailroom/contract/shapes/sender.ts'
import type { Delivery as DeliveryShape, SentMessage } from '@mailroom/contract/shapes/sending.ts'
import { presentTime } from '#platform/clock.ts'
import type { Delivery } from './delivery.ts'
import type { sendMessage } from './send-message.ts'
import type { Suppression } from './suppression.ts'

type SendAnswer = Awaited<ReturnType<typeof sendMessage>>['response']

/** Some clients look for `messageId`, others for `id`. */
export function presentSent(answer: SendAnswer): SentMessage {
  const { messageId, threadId, providerMessageId, status, inboxId, createdAtMs } = answer
  return {
    messageId,
    threadId,
    providerMessageId,
    status,
    id: messageId,
    inboxId,
    direction: 'outbound',
    createdAt: presentTime(createdAtMs),
  }
}

/** What has become of a message for one recipient. */
export function presentDelivery(delivery: Delivery): DeliveryShape {
  const { lastAttemptAtMs, nextAttemptAtMs, ...rest } = delivery
  return {
    ...rest,
    lastAttemptAt: lastAttemptAtMs === null ? null : presentTime(lastAttemptAtMs),
    nextAttemptAt: nextAttemptAtMs === null ? null : presentTime(nextAttemptAtMs),
  }
}

/** An address that the account does not write to. */
export function presentSuppression(suppression: Suppression): SuppressionShape {
  const { id, address, type, reason, createdAtMs } = suppression
  return { id, address, type, reason, createdAt: presentTime(createdAtMs) }
}
