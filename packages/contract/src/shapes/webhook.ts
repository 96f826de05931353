// Webhooks: URLs that events are posted to, and their deliveries.

import { type Static, type TUnsafe, Type } from '#schema.ts'
import {
  type EventKind,
  eventKinds,
  webhookDeliveryStatuses,
  webhookDisabledReasons,
  webhookErrors,
} from '#vocabulary.ts'
import {
  count,
  LINE_PATTERN,
  LINE_RULE,
  nullableCount,
  nullableOneOf,
  nullableText,
  nullableTime,
  oneOf,
  RULE,
  text,
  time,
} from './text.ts'

/** For podIds and inboxIds each. */
export const FILTER_IDS_MAX = 1_000
const ID_LENGTH_MAX = 255
const named = {
  type: 'string',
  maxLength: ID_LENGTH_MAX,
  pattern: LINE_PATTERN,
  [RULE]: LINE_RULE,
}

const webhookProperties = {
  id: text('Assigned by the service.'),
  url: text('Where events are posted to.'),
  eventTypes: Type.Array(oneOf(eventKinds, 'An event type.'), {
    description: 'The event types that are delivered; empty for all.',
  }),
  podIds: Type.Array(Type.String(), {
    description:
      'Pods whose events are delivered, in addition to inboxIds. If both are empty, all events are delivered.',
  }),
  inboxIds: Type.Array(Type.String(), {
    description:
      'Inboxes whose events are delivered, in addition to podIds. If both are empty, all events are delivered.',
  }),
  enabled: Type.Boolean({ description: 'Whether events are delivered.' }),
  disabledReason: nullableOneOf(
    webhookDisabledReasons,
    'Why the webhook is disabled: by request, or after failing for five days. Null while it is enabled.',
  ),
  disabledAt: nullableTime('When delivery to this webhook was disabled; null while it is enabled.'),
  failingSince: nullableTime(
    'When the first attempt since the last success failed; null while deliveries succeed. The webhook is disabled after failing for five days. A failed test does not count.',
  ),
  lastError: nullableOneOf(
    webhookErrors,
    'While the webhook is failing: why the latest failed attempt failed; otherwise null.',
  ),
  lastResponseStatus: nullableCount(
    'While the webhook is failing: the HTTP status of that attempt; null without a response.',
  ),
  nextAttemptAt: nullableTime(
    'While the webhook is failing and enabled: when the next retry is due; null if none is due.',
  ),
  inboxId: nullableText('The inbox whose webhookUrl this is; null for any other webhook.'),
  createdAt: time('When the webhook was created.'),
}

export const Webhook = Type.Object(webhookProperties, {
  description: 'A URL that events of the account are posted to.',
})
export type Webhook = Static<typeof Webhook>

export const WebhookWithSecret = Type.Object(
  {
    ...webhookProperties,
    secret: text(
      'The signing secret: whsec_ and the base64 of 32 bytes. It is shown only in this response.',
    ),
  },
  { description: 'A webhook with its new secret.' },
)
export type WebhookWithSecret = Static<typeof WebhookWithSecret>

// An invalid URL has its own error code (invalid_webhook_url), so the schema only requires text.
const url = text(
  'An absolute https URL, on port 443 or 80, of a host on the public Internet. If the operator allows private addresses (MAILROOM_ALLOW_PRIVATE_EGRESS), http, any port and any host work too.',
)

const filterProperties = {
  eventTypes: Type.Optional(
    nullable<EventKind[]>({
      items: { type: 'string', enum: [...eventKinds] },
      maxItems: eventKinds.length,
      description:
        'Event types to deliver; all if empty, null or omitted. webhook.test always goes to the webhook under test and must not be listed.',
    }),
  ),
  podIds: Type.Optional(
    nullable<string[]>({
      items: named,
      maxItems: FILTER_IDS_MAX,
      description:
        'Ids or clientIds of pods whose events are delivered, in addition to inboxIds. All events if both are empty, null or omitted.',
    }),
  ),
  inboxIds: Type.Optional(
    nullable<string[]>({
      items: named,
      maxItems: FILTER_IDS_MAX,
      description:
        'Ids of inboxes whose events are delivered, in addition to podIds. All events if both are empty, null or omitted.',
    }),
  ),
}

export const CreateWebhook = Type.Object(
  {
    url,
    ...filterProperties,
    enabled: Type.Optional(
      Type.Boolean({ description: 'Whether events are delivered; true if omitted.' }),
    ),
  },
  { additionalProperties: false },
)
export type CreateWebhook = Static<typeof CreateWebhook>

export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(url),
    ...filterProperties,
    enabled: Type.Optional(
      Type.Boolean({
        description:
          'Whether events are delivered. Once enabled, the webhook receives the events from then on.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpdateWebhook = Static<typeof UpdateWebhook>

export const WebhookDelivery = Type.Object(
  {
    id: text('Assigned by the service.'),
    eventId: text('The event_id of the delivered event.'),
    eventType: oneOf(eventKinds, 'The event type.'),
    status: oneOf(webhookDeliveryStatuses, 'Pending until it succeeds or its last attempt fails.'),
    attempts: count('Number of attempts.'),
    lastAttemptAt: nullableTime('When the last completed attempt began; null before the first.'),
    nextAttemptAt: nullableTime('When the next attempt is due; null if none.'),
    responseStatus: nullableCount(
      'HTTP status of the last response, even if it was incomplete; null without a response.',
    ),
    responseBody: nullableText('The first 2 KiB of the last response.'),
    latencyMs: nullableCount('How long the last attempt took, in milliseconds.'),
    error: nullableOneOf(webhookErrors, 'Why the last attempt failed; null if it succeeded.'),
  },
  { description: 'The delivery of one event to one webhook.' },
)
export type WebhookDelivery = Static<typeof WebhookDelivery>

const outcomeProperties = {
  ok: Type.Boolean({ description: 'Always true: a failed test responds with webhook_failed.' }),
  message: text('A sentence about the response of the receiver.'),
}

export const WebhookTest = Type.Object(
  { ...outcomeProperties, delivery: WebhookDelivery },
  { description: 'The outcome of a test.' },
)
export type WebhookTest = Static<typeof WebhookTest>

export const InboxWebhookTest = Type.Object(outcomeProperties, {
  description: 'The outcome of a test.',
})
export type InboxWebhookTest = Static<typeof InboxWebhookTest>

export const InboxWebhookSecret = Type.Object(
  { webhookSecret: text('The new secret. It is shown only in this response.') },
  { description: 'The new secret of the webhook of an inbox.' },
)
export type InboxWebhookSecret = Static<typeof InboxWebhookSecret>

function nullable<Value>(bounds: object): TUnsafe<Value | null> {
  return Type.Unsafe<Value | null>({ type: ['array', 'null'], ...bounds })
}
