// What was sent, and what became of it, as the API shows it.

import type { CapturedMessage } from '@mailroom/contract/shapes/sandbox.ts'
import type { Delivery as DeliveryShape, SentMessage } from '@mailroom/contract/shapes/sending.ts'
import type { Suppression as SuppressionShape } from '@mailroom/contract/shapes/suppression.ts'
import type { UrlSigner } from '#mailbox/attachment-url.ts'
import { cutBodies } from '#mailbox/cut-bodies.ts'
import { presentAttachments } from '#mailbox/present-message.ts'
import { presentTime } from '#platform/present-time.ts'
import type { Captured } from '#sandbox/captured-message.ts'
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

/** Mail that the sandbox kept; its attachments' addresses are signed afresh each time. */
export function presentCaptured(
  { id, recipients, reversePath, capturedAtMs, message: read, inReplyTo }: Captured,
  signer: UrlSigner,
  nowMs: number,
): CapturedMessage {
  const { message, isTruncated } = cutBodies(read)
  return {
    id,
    messageId: message.id,
    threadId: message.threadId,
    inboxId: message.inboxId,
    from: message.fromAddr,
    to: recipients,
    reversePath,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    text: message.bodyText,
    html: message.bodyHtml,
    isTruncated,
    rfcMessageId: message.rfcMessageId,
    inReplyTo,
    references: message.references,
    attachments: presentAttachments(message, signer, nowMs),
    createdAt: presentTime(capturedAtMs),
  }
}
