// Operations on webhooks, including those of an inbox's webhookUrl.

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
  'The new secret is shown only in this response. The previous secret also signs for 24 hours, so that a receiver can switch without a gap. At most five secrets are active: until the oldest expires, another rotation changes nothing and the response is rate_limit_exceeded with Retry-After.'
const TEST =
  'Posts a webhook.test event now; the receiver has 15 seconds to respond. There is one attempt, and a failure does not count against the webhook. While a test runs, a second test of the same webhook responds with rate_limit_exceeded.'

export const webhookOperations = {
  'webhooks.create': {
    method: 'POST',
    path: '/v1/webhooks',
    tag: 'Webhooks',
    summary: 'Create a webhook.',
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
    summary: 'List webhooks.',
    notes: 'Includes the webhooks that inboxes have through webhookUrl.',
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
    summary: 'Get a webhook.',
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
    summary: 'Update a webhook.',
    notes:
      'Omitted fields stay unchanged; a list replaces the previous one. The webhook of an inbox delivers events of that inbox only; its podIds and inboxIds cannot be changed.',
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
    summary: 'Delete a webhook.',
    notes: 'Undelivered events are dropped.',
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
    summary: 'Rotate the secret of a webhook.',
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
    summary: 'Test a webhook.',
    notes: `${TEST} No other webhook gets the event; this one gets it even if it is disabled or filters other event types. The event is in the log, so WebSockets and streams deliver it too.`,
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The receiver accepted the event.', schema: WebhookTest },
    errors: ['webhook_failed'],
  },
  'webhooks.deliveries': {
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    tag: 'Webhooks',
    summary: 'List deliveries of a webhook.',
    notes: `Newest first. Deliveries are kept for 30 days; the list ends after the newest ${COUNTED_MAX.toLocaleString('en')}.`,
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
    summary: 'Retry a delivery.',
    notes:
      'Schedules one more attempt of a delivery that succeeded or failed, as soon as possible. The attempt counter continues, and only the remaining retries are made. Deliveries of a disabled webhook wait until it is enabled.',
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
    summary: 'Rotate the webhook secret of an inbox.',
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
    summary: 'Test the webhook of an inbox.',
    notes: TEST,
    auth: 'key',
    isRateLimited: true,
    parameters: ofInbox,
    success: {
      status: 200,
      description: 'The receiver accepted the event.',
      schema: InboxWebhookTest,
    },
    errors: ['no_webhook_url', 'webhook_failed'],
  },
} as const satisfies Record<string, Operation>
