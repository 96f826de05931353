// Webhooks: URLs that receive events, and their deliveries. Includes the webhookUrl of an inbox.

import type { Operation } from './operation.ts'
import { countedListOf, listOf, PageQuery } from './page.ts'
import { type Static, type TUnsafe, Type } from './schema.ts'
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
import {
  COUNTED_MAX,
  type EventKind,
  eventKinds,
  type MessageCategory,
  messageCategories,
  webhookDeliveryStatuses,
  webhookDisabledReasons,
  webhookErrors,
} from './vocabulary.ts'

/** Maximum entries in podIds and in inboxIds. */
export const FILTER_IDS_MAX = 1_000
const ID_LENGTH_MAX = 255
const named = {
  type: 'string',
  maxLength: ID_LENGTH_MAX,
  pattern: LINE_PATTERN,
  [RULE]: LINE_RULE,
}

const webhookProperties = {
  id: text('The id.'),
  url: text('The URL that events are posted to.'),
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
  categories: Type.Array(oneOf(messageCategories, 'A category.'), {
    description:
      'Limits events of received mail to these categories; empty for all. Other events are not affected.',
  }),
  enabled: Type.Boolean({ description: 'Whether events are delivered.' }),
  disabledReason: nullableOneOf(
    webhookDisabledReasons,
    'Why the webhook is disabled: by request, or after failing for five days. Null while it is enabled.',
  ),
  disabledAt: nullableTime('When delivery to this webhook was disabled; null while it is enabled.'),
  failingSince: nullableTime(
    'When the first attempt since the last success failed; null while deliveries succeed. The webhook is disabled after failing for five days. Failed tests are ignored.',
  ),
  lastError: nullableOneOf(
    webhookErrors,
    'While the webhook is failing: why the latest failed attempt failed; otherwise null.',
  ),
  lastResponseStatus: nullableCount(
    'While the webhook is failing: the HTTP status of that attempt; null without a response.',
  ),
  lastFailureAt: nullableTime(
    'While the webhook is failing: when the latest failed attempt began; otherwise null.',
  ),
  consecutiveFailures: count(
    `Failed attempts since the last success, for all events together; tests do not count. Up to ${COUNTED_MAX.toLocaleString('en')}.`,
  ),
  nextAttemptAt: nullableTime(
    'While the webhook is failing and enabled: when the next retry is due; null if none is due.',
  ),
  headerNames: Type.Array(Type.String(), {
    description: 'The names of its additional header fields. Their values are never shown.',
  }),
  inboxId: nullableText('The inbox whose webhookUrl this is; null for any other webhook.'),
  createdAt: time('When the webhook was created.'),
}

export const Webhook = Type.Object(webhookProperties, {
  description: 'A URL that receives the events of the account as POST requests.',
})
export type Webhook = Static<typeof Webhook>

export const WebhookWithSecret = Type.Extended(
  Webhook,
  {
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
  categories: Type.Optional(
    nullable<MessageCategory[]>({
      items: { type: 'string', enum: [...messageCategories] },
      maxItems: messageCategories.length,
      description:
        'Limits events of received mail to these categories; all if empty, null or omitted. Other events are not affected.',
    }),
  ),
}

const HEADERS_MAX = 10
const HEADER_NAME_LENGTH_MAX = 100
const HEADER_VALUE_LENGTH_MAX = 1_000

const headers = Type.Optional(
  Type.Unsafe<Record<string, string> | null>({
    type: ['object', 'null'],
    maxProperties: HEADERS_MAX,
    propertyNames: {
      maxLength: HEADER_NAME_LENGTH_MAX,
      pattern: '^[A-Za-z0-9!#$%&*+.^_`|~-]+$',
      [RULE]: 'must be the name of a header field',
    },
    additionalProperties: {
      type: 'string',
      minLength: 1,
      maxLength: HEADER_VALUE_LENGTH_MAX,
      pattern: '^[!-~]([ -~]*[!-~])?$',
      [RULE]: 'must be printable ASCII without blanks at its ends',
    },
    description:
      'Header fields of every request, such as Authorization for receivers that cannot verify signatures. Values are stored encrypted and never shown again. A change replaces all; null removes them. A change of url to another host without headers also removes them.',
  }),
)

const CreateWebhook = Type.Object(
  {
    url,
    headers,
    ...filterProperties,
    enabled: Type.Optional(
      Type.Boolean({ description: 'Whether events are delivered; true if omitted.' }),
    ),
  },
  { additionalProperties: false },
)

export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(url),
    headers,
    ...filterProperties,
    enabled: Type.Optional(
      Type.Boolean({
        description:
          'Whether events are delivered. A webhook that is enabled again receives events from that time on.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpdateWebhook = Static<typeof UpdateWebhook>

const deliveryProperties = {
  id: text('The id.'),
  eventId: text('The event_id of the delivered event.'),
  eventType: oneOf(eventKinds, 'The event type.'),
  status: oneOf(webhookDeliveryStatuses, 'Pending until it succeeds or its last attempt fails.'),
  attempts: count('Number of attempts.'),
  lastAttemptAt: nullableTime('When the last completed attempt began; null before the first.'),
  nextAttemptAt: nullableTime('When the next attempt is due; null if none.'),
  responseStatus: nullableCount(
    'HTTP status of the last response, even if it was incomplete; null without a response.',
  ),
  responseBody: nullableText('The first 4 KiB of the last response.'),
  latencyMs: nullableCount('How long the last attempt took, in milliseconds.'),
  error: nullableOneOf(webhookErrors, 'Why the last attempt failed; null if it succeeded.'),
}

export const WebhookDelivery = Type.Object(deliveryProperties, {
  description: 'The delivery of one event to one webhook.',
})
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const WebhookAttempt = Type.Object(
  {
    number: count('The number of the attempt; the first is 1.'),
    attemptedAt: time('When the attempt began.'),
    requestUrl: nullableText('The URL that the event was posted to; null if nothing was posted.'),
    requestHeaders: Type.Unsafe<Record<string, string> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'string' },
      description:
        'The header fields of the request without its signatures and without the values of headers; null if nothing was posted.',
    }),
    responseStatus: nullableCount(
      'HTTP status of the response, even if it was incomplete; null without a response.',
    ),
    responseBody: nullableText('The first 4 KiB of the response.'),
    latencyMs: nullableCount('How long the attempt took, in milliseconds.'),
    error: nullableOneOf(webhookErrors, 'Why the attempt failed; null if it succeeded.'),
  },
  { description: 'One attempt of a delivery, with its request and response.' },
)
export type WebhookAttempt = Static<typeof WebhookAttempt>

/** Maximum bytes of a request body in a response. */
export const SHOWN_REQUEST_BYTES_MAX = 64 * 1024

export const WholeWebhookDelivery = Type.Extended(
  WebhookDelivery,
  {
    requestBody: nullableText(
      'The first 64 KiB of the body, as it would be sent now, because it is not stored. Null if the event or its message was deleted.',
    ),
    history: Type.Array(WebhookAttempt, {
      description: 'The attempts with an outcome, newest first; the newest 20 are kept.',
    }),
  },
  { description: 'The delivery of one event to one webhook, with its attempts.' },
)
export type WholeWebhookDelivery = Static<typeof WholeWebhookDelivery>

const outcomeProperties = {
  ok: Type.Boolean({ description: 'Always true: a failed test responds with webhook_failed.' }),
  message: text('A sentence that describes the response of the receiver.'),
}

export const WebhookTest = Type.Object(
  { ...outcomeProperties, delivery: WebhookDelivery },
  { description: 'The result of a test.' },
)
export type WebhookTest = Static<typeof WebhookTest>

const InboxWebhookTest = Type.Object(outcomeProperties, {
  description: 'The result of a test.',
})

const InboxWebhookSecret = Type.Object(
  { webhookSecret: text('The new secret. It is shown only in this response.') },
  { description: 'The new secret of the webhook of an inbox.' },
)

function nullable<Value>(bounds: object): TUnsafe<Value | null> {
  return Type.Unsafe<Value | null>({ type: ['array', 'null'], ...bounds })
}

const parameters = { id: 'The id of a webhook.' } as const
const ofInbox = { id: 'The id of an inbox.' } as const

const ROTATION =
  'The new secret is shown only in this response. The previous secret also signs for 24 hours, so that a receiver can switch without a gap. At most five secrets are active: until the oldest expires, another rotation has no effect and the response is rate_limit_exceeded with Retry-After.'
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
    success: { status: 200, description: 'The updated webhook.', schema: Webhook },
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
    success: { status: 204, description: 'The webhook and its deliveries were deleted.' },
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
    notes: `${TEST} No other webhook receives the event. This webhook receives it even if it is disabled or filters other event types. The event is in the log, so WebSockets and streams deliver it too.`,
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
  'webhooks.getDelivery': {
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries/{deliveryId}',
    tag: 'Webhooks',
    summary: 'Get a delivery with its attempts.',
    notes:
      'The request and response of each attempt: address, header fields, status, duration and the first 4 KiB of the response. Secrets and signatures are never shown.',
    auth: 'key',
    isRateLimited: true,
    parameters: { ...parameters, deliveryId: 'The id of a delivery of this webhook.' },
    success: { status: 200, description: 'The delivery.', schema: WholeWebhookDelivery },
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
    success: { status: 200, description: 'The updated delivery.', schema: WebhookDelivery },
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
