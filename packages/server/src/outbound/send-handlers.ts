import type { Delivery as DeliveryShape, SentMessage } from '@mailroom/contract/sending.ts'
import type { Handlers } from '#http/handler.ts'
import { findMessage } from '#mailbox/mailbox-rows.ts'
import type { Clock } from '#platform/clock.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Delivery } from './delivery-rows.ts'
import * as store from './delivery-rows.ts'
import { type SendDeps, sendMessage } from './send-message.ts'

export function sendHandlers(
  deps: SendDeps,
): Pick<Handlers, 'inboxes.send' | 'messages.deliveries'> {
  return {
    'inboxes.send': async ({ path, body }, { accountId, idempotencyKey, requestHash }) => {
      const { isReplay, response } = await sendMessage(deps, {
        accountId,
        inboxId: path.id,
        idempotencyKey,
        requestHash,
        to: body.to,
        cc: body.cc ?? [],
        body: body.body,
        // Empty HTML would hide the text from programs that show HTML.
        bodyHtml: body.bodyHtml || null,
        subject: body.subject ?? null,
        threadId: body.threadId ?? null,
        includeQuote: body.includeQuote ?? true,
        replyTo: body.replyTo ?? null,
        attachments: [...body.attachments],
        hasUnsubscribe: body.unsubscribe ?? false,
      })
      return { isReplay, body: presentSent(response) }
    },
    'messages.deliveries': async ({ path, query }, { accountId }) => {
      const page = { accountId, messageId: path.id, ...query }
      const { deliveries, total } = await listDeliveries(deps, page)
      return { data: deliveries.map(presentDelivery), total }
    },
  }
}

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

function presentDelivery(delivery: Delivery): DeliveryShape {
  const { lastAttemptAtMs, nextAttemptAtMs, ...rest } = delivery
  return {
    ...rest,
    lastAttemptAt: lastAttemptAtMs === null ? null : presentTime(lastAttemptAtMs),
    nextAttemptAt: nextAttemptAtMs === null ? null : presentTime(nextAttemptAtMs),
  }
}

/** In the order of the recipients; none for received mail. `not_found` when there is no such message. */
async function listDeliveries(
  deps: { db: Db; clock: Clock; queueClock: QueueClock },
  input: { accountId: string; messageId: string } & Page,
): Promise<{ deliveries: Delivery[]; total: number }> {
  const message = await findMessage(deps.db, input.accountId, input.messageId, { lengthMax: 0 })
  if (message === null) throw notFound()
  const { deliveries, total } = await store.listDeliveries(deps.db, input)
  // The queue has its own clock; the API shows all times by the wall clock.
  const aheadMs = deps.clock.now() - deps.queueClock.now()
  return { deliveries: deliveries.map((delivery) => shifted(delivery, aheadMs)), total }
}

function shifted(delivery: Delivery, aheadMs: number): Delivery {
  const { nextAttemptAtMs: nextMs } = delivery
  return nextMs === null ? delivery : { ...delivery, nextAttemptAtMs: nextMs + aheadMs }
}
