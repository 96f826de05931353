// Having an event delivered again by hand.

import { notFound, problem } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import type { WebhookDelivery } from './webhook.ts'
import { findWebhookDelivery, retryWebhookDelivery } from './webhook-delivery-rows.ts'

/**
 * Due at once, whatever it came to; `delivery_pending` while it is under way anyhow, and
 * `webhook_is_disabled` where it would not be posted.
 */
export async function retryDelivery(
  deps: { db: Db; queueClock: QueueClock; wakeWebhooks: () => void },
  input: { accountId: string; webhookId: string; deliveryId: string },
): Promise<WebhookDelivery> {
  const queueMs = deps.queueClock.now()
  const outcome = await deps.db.write(retryWebhookDelivery, { ...input, queueMs })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'pending') throw problem('delivery_pending')
  if (outcome === 'disabled') throw problem('webhook_is_disabled')
  const delivery = await findWebhookDelivery(deps.db, input)
  deps.wakeWebhooks()
  if (delivery === null) throw notFound()
  return delivery
}
