// Webhooks: URLs that events are posted to, and what has become of each post.

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

/** Of podIds, and of inboxIds. */
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
  eventTypes: Type.Array(oneOf(eventKinds, 'A kind of event.'), {
    description: 'The kinds of events that are delivered; empty for all.',
  }),
  podIds: Type.Array(Type.String(), {
    description:
      'The pods whose events are delivered. Pods and inboxes add up; both empty for all.',
  }),
  inboxIds: Type.Array(Type.String(), {
    description:
      'The inboxes whose events are delivered. Pods and inboxes add up; both empty for all.',
  }),
  enabled: Type.Boolean({ description: 'Whether events are delivered.' }),
  disabledReason: nullableOneOf(
    webhookDisabledReasons,
    'Why it is disabled: by request, or after five days of nothing but failures. Null while it is enabled.',
  ),
  disabledAt: nullableTime('When delivery to this webhook was disabled; null while it is enabled.'),
  failingSince: nullableTime(
    'When the first attempt failed since the last one that succeeded; null while the webhook is healthy. After five days of nothing but failures it is disabled. A failed test alone does not count.',
  ),
  lastError: nullableOneOf(
    webhookErrors,
    'While it is failing: why the newest failed attempt failed; otherwise null.',
  ),
  lastResponseStatus: nullableCount(
    'While it is failing: the HTTP status of that attempt; null when there was no answer.',
  ),
  nextAttemptAt: nullableTime(
    'While it is failing and enabled: when the next retry is due; null when none is waiting.',
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
      'Signs what is posted: whsec_ and the base64 of 32 octets. It is shown only in this answer.',
    ),
  },
  { description: 'A webhook with the secret that was just made for it.' },
)
export type WebhookWithSecret = Static<typeof WebhookWithSecret>

// What a URL may be has a code of its own (invalid_webhook_url), so the shape asks for text alone.
const url = text(
  'An absolute https URL, on port 443 or 80, of a host that the public Internet can reach. Where the operator allows private addresses (MAILROOM_ALLOW_PRIVATE_EGRESS), http, any port and any host.',
)

const filterProperties = {
  eventTypes: Type.Optional(
    nullable<EventKind[]>({
      items: { type: 'string', enum: [...eventKinds] },
      maxItems: eventKinds.length,
      description:
        'Kinds of events to tell of; all when empty, null or left out. webhook.test is told to the webhook that is tested, whatever it asks for, and is not to be named.',
    }),
  ),
  podIds: Type.Optional(
    nullable<string[]>({
      items: named,
      maxItems: FILTER_IDS_MAX,
      description:
        'Ids or clientIds of pods to tell of. Pods and inboxes add up; all of the account when both are empty, null or left out.',
    }),
  ),
  inboxIds: Type.Optional(
    nullable<string[]>({
      items: named,
      maxItems: FILTER_IDS_MAX,
      description:
        'Ids of inboxes to tell of. Pods and inboxes add up; all of the account when both are empty, null or left out.',
    }),
  ),
}

export const CreateWebhook = Type.Object(
  {
    url,
    ...filterProperties,
    enabled: Type.Optional(
      Type.Boolean({ description: 'Whether events are delivered; true when left out.' }),
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
          'Whether events are delivered. Switched on, it tells of what happens from then on.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpdateWebhook = Static<typeof UpdateWebhook>

export const WebhookDelivery = Type.Object(
  {
    id: text('Assigned by the service.'),
    eventId: text('The event, as event_id in what is posted.'),
    eventType: oneOf(eventKinds, 'What happened.'),
    status: oneOf(webhookDeliveryStatuses, 'Pending until it succeeds or its last attempt fails.'),
    attempts: count('How often it was attempted.'),
    lastAttemptAt: nullableTime(
      'When the last attempt that came to an end began; null before the first one did.',
    ),
    nextAttemptAt: nullableTime('When it is attempted next; null when it is not.'),
    responseStatus: nullableCount(
      'Status of the last answer, also of one that broke off; null when none came.',
    ),
    responseBody: nullableText('The beginning of the last answer, up to 2 KiB.'),
    latencyMs: nullableCount('How long the last attempt took, in milliseconds.'),
    error: nullableOneOf(webhookErrors, 'Why the last attempt failed; null when it did not.'),
  },
  { description: 'One event on its way to one webhook.' },
)
export type WebhookDelivery = Static<typeof WebhookDelivery>

const outcomeProperties = {
  ok: Type.Boolean({ description: 'Always true: a test that fails is answered webhook_failed.' }),
  message: text('What the receiver answered, in a sentence.'),
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
  { webhookSecret: text('The new secret. It is shown only in this answer.') },
  { description: 'The secret that was just made for the webhook of an inbox.' },
)
export type InboxWebhookSecret = Static<typeof InboxWebhookSecret>

function nullable<Value>(bounds: object): TUnsafe<Value | null> {
  return Type.Unsafe<Value | null>({ type: ['array', 'null'], ...bounds })
}
