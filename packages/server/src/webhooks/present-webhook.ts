// Webhooks and their deliveries as the API shows them. Secrets are shown by whoever has just made one.

import type {
  WebhookDelivery as WebhookDeliveryShape,
  Webhook as WebhookShape,
} from '@mailroom/contract/shapes/webhook.ts'
import { presentTime } from '#platform/clock.ts'
import type { Webhook, WebhookDelivery, WebhookFailure } from './webhook.ts'

/** Without its secret. A webhook that was just created has no failures. */
export function presentWebhook(webhook: Webhook, failure?: WebhookFailure): WebhookShape {
  const { id, url, filter, isEnabled, disabledReason, disabledAtMs, inboxId, createdAtMs } = webhook
  return {
    id,
    url,
    eventTypes: [...filter.kinds],
    podIds: [...filter.podIds],
    inboxIds: [...filter.inboxIds],
    enabled: isEnabled,
    disabledReason,
    disabledAt: presentTimeOrNull(disabledAtMs),
    failingSince: presentTimeOrNull(webhook.failingSinceMs),
    lastError: failure?.error ?? null,
    lastResponseStatus: failure?.responseStatus ?? null,
    nextAttemptAt: presentTimeOrNull(isEnabled ? (failure?.nextAttemptAtMs ?? null) : null),
    inboxId,
    createdAt: presentTime(createdAtMs),
  }
}

/** One event on its way to one webhook. */
export function presentWebhookDelivery(delivery: WebhookDelivery): WebhookDeliveryShape {
  const { id, eventId, eventKind, status, attempts, responseStatus, responseBody } = delivery
  return {
    id,
    eventId,
    eventType: eventKind,
    status,
    attempts,
    lastAttemptAt: presentTimeOrNull(delivery.lastAttemptAtMs),
    nextAttemptAt: presentTimeOrNull(delivery.nextAttemptAtMs),
    responseStatus,
    responseBody,
    latencyMs: delivery.latencyMs,
    error: delivery.error,
  }
}

function presentTimeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : presentTime(timeMs)
}
