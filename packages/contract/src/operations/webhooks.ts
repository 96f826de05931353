// Operations on webhooks, those behind an inbox's webhookUrl included.

import { COUNTED_MAX, countedListOf, listOf, PageQuery } from '#shapes/page.ts'
import {
  CreateWebhook,
  InboxWebhookSecret,
  InboxWebhookTest,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
} from '#shapes/webhook.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a webhook.' } as const
const ofInbox = { id: 'The id of an inbox.' } as const

const ROTATION =
  'From now on the new secret signs, and the one before it signs along for 24 hours, so that a receiver can change over without a gap. Five secrets sign at most: while they do, a further rotation changes nothing and is answered rate_limit_exceeded, with the seconds until the oldest of them ends in Retry-After.'
const TEST =
  'The receiver gets an event webhook.test and has 15 seconds to answer it. There is one attempt, and a failure does not count against the webhook. A second test of the same webhook is answered rate_limit_exceeded until the first is over.'

export const webhookOperations = {
  'webhooks.create': {
    method: 'POST',
    path: '/v1/webhooks',
    tag: 'Webhooks',
    summary: 'Make a webhook, which is told of what happens from then on.',
    auth: 'key',
    isRateLimited: true,
    body: CreateWebhook,
    success: {
      status: 201,
      description: 'The new webhook with its secret.',
      schema: WebhookWithSecret,
    },
    errors: ['invalid_pod', 'invalid_webhook_url', 'webhook_limit_reached'],
  },
  'webhooks.list': {
    method: 'GET',
    path: '/v1/webhooks',
    tag: 'Webhooks',
    summary: 'List the webhooks of the account, newest first.',
    notes: 'With those behind the webhookUrl of inboxes.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of webhooks.',
      schema: listOf(Webhook, 'A page of webhooks.'),
    },
    errors: [],
  },
  'webhooks.get': {
    method: 'GET',
    path: '/v1/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Read a webhook.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The webhook, without its secret.', schema: Webhook },
    errors: [],
  },
  'webhooks.update': {
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Change a webhook.',
    notes:
      'A field that is left out stays as it is; a list that is given replaces the one that was. The webhook of an inbox tells of that inbox alone, and its podIds and inboxIds cannot be changed.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateWebhook,
    success: { status: 200, description: 'The webhook as it is now.', schema: Webhook },
    errors: ['invalid_pod', 'invalid_webhook_url'],
  },
  'webhooks.delete': {
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Delete a webhook; what it was not told yet, it is told no more.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The webhook and its deliveries are gone.' },
    errors: [],
  },
  'webhooks.rotateSecret': {
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate-secret',
    tag: 'Webhooks',
    summary: 'Make a new secret for a webhook; it is shown only in this answer.',
    notes: ROTATION,
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: {
      status: 200,
      description: 'The webhook with its new secret.',
      schema: WebhookWithSecret,
    },
    errors: [],
  },
  'webhooks.test': {
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    tag: 'Webhooks',
    summary: 'Post a test to the webhook now, and tell what came of it.',
    notes: `${TEST} No other webhook is told, and this one even if it is disabled or wants other kinds of events. The event is in the log, where WebSockets and streams see it, too.`,
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The receiver took it.', schema: WebhookTest },
    errors: ['webhook_failed'],
  },
  'webhooks.deliveries': {
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    tag: 'Webhooks',
    summary: 'Read what has become of each event that went to a webhook, newest first.',
    notes: `Deliveries are kept for 30 days; total counts the newest ${COUNTED_MAX.toLocaleString('en')} of them at most, and the list ends there.`,
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of deliveries.',
      schema: countedListOf(WebhookDelivery, 'A page of deliveries.'),
    },
    errors: [],
  },
  'webhooks.retryDelivery': {
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{deliveryId}/retry',
    tag: 'Webhooks',
    summary: 'Attempt a delivery that has succeeded or failed once more, as soon as possible.',
    notes:
      'Its attempts go on being counted, and it is retried only as far as its first ones have left. What went to a disabled webhook waits until that is enabled.',
    auth: 'key',
    isRateLimited: true,
    parameters: { ...parameters, deliveryId: 'The id of a delivery of this webhook.' },
    success: { status: 200, description: 'The delivery as it is now.', schema: WebhookDelivery },
    errors: ['delivery_pending', 'webhook_is_disabled'],
  },
  'inboxes.rotateWebhookSecret': {
    method: 'POST',
    path: '/v1/inboxes/{id}/webhook/rotate-secret',
    tag: 'Webhooks',
    summary: 'Make a new secret for the webhookUrl of an inbox; it is shown only in this answer.',
    notes: ROTATION,
    auth: 'key',
    isRateLimited: true,
    parameters: ofInbox,
    success: { status: 200, description: 'The new secret.', schema: InboxWebhookSecret },
    errors: ['no_webhook_url'],
  },
  'inboxes.testWebhook': {
    method: 'POST',
    path: '/v1/inboxes/{id}/webhook/test',
    tag: 'Webhooks',
    summary: 'Post a test to the webhookUrl of an inbox now, and tell what came of it.',
    notes: TEST,
    auth: 'key',
    isRateLimited: true,
    parameters: ofInbox,
    success: { status: 200, description: 'The receiver took it.', schema: InboxWebhookTest },
    errors: ['no_webhook_url', 'webhook_failed'],
  },
} as const satisfies Record<string, Operation>
