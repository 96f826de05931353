// Trying a webhook out: an event of its own, delivered at once and once.

import type { Deps } from '#actions/deps.ts'
import { WEBHOOK_LEASE_MS, WEBHOOK_MS_MAX } from '#base/limits.ts'
import { notFound, problem } from '#model/problem.ts'
import type { WebhookDelivery, WebhookError } from '#model/webhook.ts'
import { findWebhookDelivery } from '#store/webhook-delivery.ts'
import { type DeliverWebhookDeps, deliverWebhook } from './deliver-webhook.ts'
import { getWebhookOfInbox } from './read-webhooks.ts'

export type WebhookTestOutcome = {
  /** What happened, in a sentence. */
  message: string
  delivery: WebhookDelivery
}

type TestDeps = DeliverWebhookDeps & Pick<Deps, 'makeId' | 'wakeEvents'>

/** Resolves when the receiver took it; `webhook_failed` when it did not, disabled webhooks included. */
export async function testWebhook(
  deps: TestDeps,
  { accountId, webhookId }: { accountId: string; webhookId: string },
): Promise<WebhookTestOutcome> {
  const deliveryId = deps.makeId('dlv')
  const worker = `test ${deliveryId}`
  const queueMs = deps.queueClock.now()
  const held = await deps.db.write('addWebhookTest', {
    accountId,
    webhookId,
    eventId: deps.makeId('evt'),
    deliveryId,
    worker,
    nowMs: deps.clock.now(),
    queueMs,
    leaseUntilMs: queueMs + WEBHOOK_LEASE_MS,
  })
  if (held === null) throw notFound()
  deps.wakeEvents()
  await deliverWebhook(deps, held, { worker, signal: AbortSignal.timeout(WEBHOOK_LEASE_MS) })
  const delivery = await findWebhookDelivery(deps.db, { accountId, webhookId, deliveryId })
  // Deleted meanwhile.
  if (delivery === null) throw notFound()
  const { error, responseStatus, latencyMs } = delivery
  if (delivery.status !== 'succeeded') {
    throw problem('webhook_failed', failureOf(error, responseStatus))
  }
  return { message: `The receiver answered ${responseStatus} in ${latencyMs} ms.`, delivery }
}

/** The same for the one behind an inbox's `webhookUrl`. */
export async function testInboxWebhook(
  deps: TestDeps,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<WebhookTestOutcome> {
  const { id: webhookId } = await getWebhookOfInbox(deps, { accountId, inboxId })
  return testWebhook(deps, { accountId, webhookId })
}

function failureOf(error: WebhookError | null, status: number | null): string {
  switch (error) {
    case 'status':
      return `The receiver answered ${status}, which is no success.`
    case 'redirect':
      return `The receiver answered ${status}, and redirects are not followed.`
    case 'timeout':
      return `The receiver did not answer within ${WEBHOOK_MS_MAX / 1_000} seconds.`
    case 'forbidden_address':
      return 'The host of the URL has an address that webhooks may not be posted to.'
    case 'dns_failed':
      return 'The host name of the URL was not found.'
    case 'connection_failed':
      return 'No connection to the receiver came about, or it ended too soon.'
    case 'tls_failed':
      return 'The receiver and the service did not agree on TLS, or its certificate is not good.'
    case 'protocol_error':
      return 'The receiver did not answer in HTTP.'
    case 'internal_error':
    case 'webhook_disabled':
    case null:
      return 'The test was not carried out to its end.'
  }
}
