// A webhook: a URL that events of an account are posted to, and what has become of each post.

import type {
  WebhookDeliveryStatus,
  WebhookDisabledReason,
  WebhookError,
} from '@mailroom/contract/vocabulary.ts'
import type { EventFilter, EventKind, LogPosition } from '#events/event.ts'

export type { WebhookDeliveryStatus, WebhookDisabledReason, WebhookError }

export type Webhook = {
  readonly id: string
  readonly accountId: string
  /** The inbox whose `webhookUrl` it is, and which alone it tells of; null for any other. */
  readonly inboxId: string | null
  readonly url: string
  readonly filter: EventFilter
  readonly isEnabled: boolean
  readonly disabledReason: WebhookDisabledReason | null
  readonly disabledAtMs: number | null
  /** Where the log ended when it was enabled, by no clock: events behind it are delivered. */
  readonly enabledAfter: LogPosition
  /** The first failure since the last success; null when there is none. */
  readonly failingSinceMs: number | null
  readonly sealedSecrets: Uint8Array
  readonly createdAtMs: number
}

/** How a webhook fails; of one that is healthy there is nothing to say. */
export type WebhookFailure = {
  /** Of the newest failed attempt; null when it is not kept any more. */
  readonly error: WebhookError | null
  readonly responseStatus: number | null
  /** When the next retry is due; null when none is waiting. */
  readonly nextAttemptAtMs: number | null
}

/** A key that signs what is posted. */
export type WebhookSecret = {
  readonly secret: string
  /** When a replaced one stops signing along; null for the one that is current. */
  readonly untilMs: number | null
}

/** One event on its way to one webhook. */
export type WebhookDelivery = {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventKind: EventKind
  readonly status: WebhookDeliveryStatus
  readonly attempts: number
  readonly lastAttemptAtMs: number | null
  readonly nextAttemptAtMs: number | null
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly latencyMs: number | null
  readonly error: WebhookError | null
  readonly createdAtMs: number
}
