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
    contentType: text('The media type that the message declares.'),
    sizeBytes: count('Size of the decoded content in bytes.'),
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
    body_text: text('The text body; converted from HTML if the message has no text.'),
    body_html: text('The HTML body as sent; empty when the message has none.'),
    extracted_text: text('The new text of a reply, without the quoted history.'),
    extracted: Type.Union([Extracted, Type.Null()], {
      description: 'Verification codes and links of the message; null on outbound mail.',
    }),
    truncated: Type.Boolean({
      description: 'Whether a body was cut: after 256 KiB. The message at url has the whole body.',
    }),
    url: text('API URL of the whole message; needs an API key.'),
    attachments: Type.Array(EventAttachment, { description: 'The files in the message.' }),
    authentication: Type.Union([Authentication, Type.Null()], {
      description: 'SPF, DKIM and DMARC results; null for outbound mail.',
    }),
    automatic: Type.Boolean({
      description: 'Whether a program sent the message. Do not reply to it automatically.',
    }),
    failure_reason: nullableText('The response of the server that refused the message.'),
    received_at: Type.Optional(time('Inbound only: when the message was received.')),
    sent_at: Type.Optional(time('Outbound only: when the message was accepted for sending.')),
  },
  { description: 'The message that an event is about.' },
)
export type EventMessage = Static<typeof EventMessage>

export const EventBounce = Type.Object(
  {
    class: oneOf(
      bounceClasses,
      'The kind of bounce; hard means that the address does not exist or is disabled.',
    ),
    enhanced_code: nullableText('The enhanced status code (RFC 3463), such as 5.1.1.'),
    response: text('The text of the report.'),
  },
  { description: 'Why a message could not be delivered to a recipient.' },
)
export type EventBounce = Static<typeof EventBounce>

export const EventDomain = Type.Object(
  {
    id: text('The id of the domain.'),
    domain: text('Its name, in lower-case A-labels.'),
    status: oneOf(domainStatuses, 'The new status.'),
    pod_id: nullableText('The only pod that may use the domain; null for all pods.'),
  },
  { description: 'The custom domain that an event is about.' },
)
export type EventDomain = Static<typeof EventDomain>

export const EventWebhook = Type.Object(
  {
    id: text('The id of the webhook.'),
    url: text('The URL that events are posted to.'),
    reason: Type.Optional(oneOf(webhookDisabledReasons, 'Why it was disabled.')),
  },
  { description: 'The webhook that an event is about.' },
)
export type EventWebhook = Static<typeof EventWebhook>

const EventStorage = Type.Object(
  {
    stored_bytes: count('Bytes of mail that the account stores.'),
    limit_bytes: count('How many bytes it may store.'),
  },
  { description: 'The storage of the account, in account.quota_exceeded.' },
)

export const Event = Type.Object(
  {
    event: oneOf(eventKinds, 'The event type.'),
    event_id: text('Identifies the event; the same in every delivery of it.'),
    occurred_at: time('When the event happened.'),
    delivered_at: time('When this copy of the event was delivered.'),
    attempt: Type.Integer({
      minimum: 1,
      description: 'The number of the delivery attempt of a webhook; 1 elsewhere.',
    }),
    inbox_id: nullableText('The inbox of the event; null if none.'),
    pod_id: nullableText('The pod of the inbox or the domain; null if none.'),
    thread_id: nullableText('The thread of the event; null if none.'),
    message: Type.Optional(EventMessage),
    recipient: Type.Optional(text('The recipient that bounced or complained.')),
    bounce: Type.Optional(EventBounce),
    domain: Type.Optional(EventDomain),
    webhook: Type.Optional(EventWebhook),
    storage: Type.Optional(EventStorage),
  },
  { description: 'Something that happened to mail, inboxes, domains or webhooks of the account.' },
)
export type Event = Static<typeof Event>
