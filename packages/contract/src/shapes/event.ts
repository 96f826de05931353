// Events: what happened, in one form for webhooks, WebSockets, server-sent events and the log. Their
// fields are in snake_case, unlike those of resources.

import { type Static, Type } from '#schema.ts'
import {
  bounceClasses,
  domainStatuses,
  eventKinds,
  messageDirections,
  webhookDisabledReasons,
} from '#vocabulary.ts'
import { Authentication, Extracted } from './message.ts'
import { count, nullableText, oneOf, text, time } from './text.ts'

export const EventAttachment = Type.Object(
  {
    filename: text('Safe, and unique within the message.'),
    contentType: text('As the message states it.'),
    sizeBytes: count('Size of the decoded content.'),
    url: text('Signed download address. It expires, so fetch it promptly.'),
  },
  { description: 'A file in the message of an event.' },
)
export type EventAttachment = Static<typeof EventAttachment>

export const EventMessage = Type.Object(
  {
    id: text('The id of the message.'),
    rfc_message_id: nullableText('The Message-ID with its angle brackets.'),
    direction: oneOf(messageDirections, 'Whether the inbox received or sent the message.'),
    from: text('The sender, "Name <address>" or the bare address.'),
    to: text('Inbound: the address of the inbox. Outbound: the primary recipient.'),
    cc: Type.Array(Type.String(), { description: 'Addresses copied on the message.' }),
    subject: text('Empty when the message has none.'),
    body_text: text('The text body, made from the HTML one where the message has no text.'),
    body_html: text('The HTML body as sent; empty when the message has none.'),
    extracted_text: text('The new text of a reply, without the quoted history.'),
    extracted: Type.Union([Extracted, Type.Null()], {
      description: 'Verification codes and links of the message; null on outbound mail.',
    }),
    truncated: Type.Boolean({
      description:
        'Whether a body was cut: after 256 KiB, in GET /v1/events after 16 KiB. The message at url has it whole.',
    }),
    url: text('Where the API tells the whole message; needs a key.'),
    attachments: Type.Array(EventAttachment, { description: 'The files in the message.' }),
    authentication: Type.Union([Authentication, Type.Null()], {
      description: 'What is known of the sender; null on outbound mail.',
    }),
    automatic: Type.Boolean({
      description: 'Whether a program rather than a person sent it: do not answer by yourself.',
    }),
    failure_reason: nullableText('What a refusing server said.'),
    received_at: Type.Optional(time('Inbound only: when the message was received.')),
    sent_at: Type.Optional(time('Outbound only: when the message was accepted for sending.')),
  },
  { description: 'The message that an event is about.' },
)
export type EventMessage = Static<typeof EventMessage>

export const EventBounce = Type.Object(
  {
    class: oneOf(bounceClasses, 'What was wrong; hard means that the address is dead.'),
    enhanced_code: nullableText('The enhanced status code (RFC 3463), such as 5.1.1.'),
    response: text('What the report says.'),
  },
  { description: 'Why a message could not be delivered to a recipient.' },
)
export type EventBounce = Static<typeof EventBounce>

export const EventDomain = Type.Object(
  {
    id: text('The id of the domain.'),
    domain: text('Its name, in lower-case A-labels.'),
    status: oneOf(domainStatuses, 'What it became.'),
    pod_id: nullableText('The pod it is scoped to; null where all may use it.'),
  },
  { description: 'The custom domain that an event is about.' },
)
export type EventDomain = Static<typeof EventDomain>

export const EventWebhook = Type.Object(
  {
    id: text('The id of the webhook.'),
    url: text('Where it delivers to.'),
    reason: Type.Optional(oneOf(webhookDisabledReasons, 'Why it was disabled.')),
  },
  { description: 'The webhook that an event is about.' },
)
export type EventWebhook = Static<typeof EventWebhook>

export const EventStorage = Type.Object(
  {
    stored_bytes: count('Octets of messages that the account stores.'),
    limit_bytes: count('How much it may store.'),
  },
  { description: 'What an account stores, in an event about that.' },
)
export type EventStorage = Static<typeof EventStorage>

export const Event = Type.Object(
  {
    event: oneOf(eventKinds, 'What happened.'),
    event_id: text('The same wherever and however often the event is told.'),
    occurred_at: time('When it happened.'),
    delivered_at: time('When this copy of it was made.'),
    attempt: Type.Integer({
      minimum: 1,
      description: 'Which attempt of a webhook delivery this is; 1 elsewhere.',
    }),
    inbox_id: nullableText('The inbox that it happened in.'),
    pod_id: nullableText('The pod of that inbox, or of the domain.'),
    thread_id: nullableText('The thread that it happened in.'),
    message: Type.Optional(EventMessage),
    recipient: Type.Optional(text('The recipient that it is about, where it is about one.')),
    bounce: Type.Optional(EventBounce),
    domain: Type.Optional(EventDomain),
    webhook: Type.Optional(EventWebhook),
    storage: Type.Optional(EventStorage),
  },
  { description: 'Something that happened to mail, inboxes, domains or webhooks of the account.' },
)
export type Event = Static<typeof Event>
