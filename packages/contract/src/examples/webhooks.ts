// Examples of requests: webhooks.

import type { Webhook, WebhookDelivery } from '#webhooks.ts'
import type { SomeExamples } from './example.ts'

const webhook: Webhook = {
  id: 'whk_01m8nqkpzke00bp20w7jfhbp7g',
  headerNames: [],
  inboxId: null,
  url: 'https://agent.example.com/mail',
  podIds: [],
  inboxIds: [],
  categories: [],
  disabledReason: null,
  disabledAt: null,
  createdAt: '2026-11-30T08:02:16.180Z',
  eventTypes: ['message.received'],
  enabled: true,
  failingSince: null,
  lastError: null,
  lastResponseStatus: null,
  lastFailureAt: null,
  consecutiveFailures: 0,
  nextAttemptAt: null,
}

const delivery: WebhookDelivery = {
  id: 'dlv_01m8nqkq4fe00a6kvbqnhnqfsa',
  eventId: 'evt_01m8nqkq4fe00s264hq67386wy',
  eventType: 'webhook.test',
  status: 'succeeded',
  attempts: 1,
  lastAttemptAt: '2026-11-30T08:02:16.347Z',
  nextAttemptAt: null,
  responseStatus: 200,
  responseBody: 'ok',
  latencyMs: 32,
  error: null,
}

export const webhookExamples = {
  'webhooks.create': {
    body: { url: 'https://agent.example.com/mail', eventTypes: ['message.received'] },
    response: { ...webhook, secret: 'whsec_…' },
  },
  'webhooks.list': { response: { data: [webhook], total: 1 } },
  'webhooks.get': { path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' }, response: webhook },
  'webhooks.update': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' },
    body: { eventTypes: ['message.received', 'message.bounced'] },
    response: { ...webhook, eventTypes: ['message.received', 'message.bounced'] },
  },
  'webhooks.delete': { path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' } },
  'webhooks.rotateSecret': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' },
    response: {
      ...webhook,
      eventTypes: ['message.received', 'message.bounced'],
      secret: 'whsec_…',
    },
  },
  'webhooks.test': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' },
    response: { ok: true, message: 'The receiver responded with 200 in … ms.', delivery },
  },
  'webhooks.deliveries': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g' },
    query: { limit: 1 },
    response: { data: [delivery], total: 1 },
  },
  'webhooks.getDelivery': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g', deliveryId: 'dlv_01m8nqkq4fe00a6kvbqnhnqfsa' },
    response: {
      ...delivery,
      requestBody:
        '{"event":"webhook.test","event_id":"evt_01m8nqkq4fe00s264hq67386wy","occurred_at":"2026-11-30T08:02:16.335Z","delivered_at":"2026-11-30T08:02:16.347Z","attempt":1,"inbox_id":null,"pod_id":null,"thread_id":null,"webhook":{"id":"whk_01m8nqkpzke00bp20w7jfhbp7g","url":"https://agent.example.com/mail"}}',
      history: [
        {
          number: 1,
          attemptedAt: '2026-11-30T08:02:16.347Z',
          requestUrl: 'https://agent.example.com/mail',
          requestHeaders: {
            'user-agent': 'Mailroom-Webhooks/1',
            'content-type': 'application/json',
            'X-Event-Id': 'evt_01m8nqkq4fe00s264hq67386wy',
            'X-Timestamp': '…',
            'webhook-id': 'evt_01m8nqkq4fe00s264hq67386wy',
            'webhook-timestamp': '…',
          },
          responseStatus: 200,
          responseBody: 'ok',
          latencyMs: 32,
          error: null,
        },
      ],
    },
  },
  'webhooks.retryDelivery': {
    path: { id: 'whk_01m8nqkpzke00bp20w7jfhbp7g', deliveryId: 'dlv_01m8nqkq4fe00a6kvbqnhnqfsa' },
    response: { ...delivery, status: 'pending', nextAttemptAt: '2026-11-30T08:02:16.439Z' },
  },
  'inboxes.rotateWebhookSecret': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    response: { webhookSecret: 'whsec_…' },
  },
  'inboxes.testWebhook': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    response: { ok: true, message: 'The receiver responded with 200 in … ms.' },
  },
} satisfies SomeExamples
