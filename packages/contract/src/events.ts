// Events, which have one form in webhooks, WebSockets, server-sent events and the log, and the wait
// for a message. Event fields are in snake_case, unlike the fields of resources.

import { eventKindTable } from './event-kinds.ts'
import {
  Authentication,
  CategoryReason,
  Extracted,
  HIDDEN_TEXTS,
  HiddenTextPart,
  KIND_TEXTS,
  Message,
  PARSED_PROPERTIES,
} from './messages.ts'
import type { Operation } from './operation.ts'
import { countedListOf, pageProperties } from './page.ts'
import { type Static, type TObject, type TProperties, type TSchema, Type } from './schema.ts'
import { HoldReason } from './sending.ts'
import { count, nullableOneOf, nullableText, nullableTime, oneOf, text, time } from './text.ts'
import {
  bounceClasses,
  COUNTED_MAX,
  domainStatuses,
  type EventKind,
  extractionMethods,
  messageCategories,
  messageDirections,
  messageVerdicts,
  quarantineReasons,
  type ReviewEventKind,
  reviewFields,
  reviewStatuses,
  webhookDisabledReasons,
} from './vocabulary.ts'

export const EventAttachment = Type.Object(
  {
    filename: text('A safe file name, unique within the message.'),
    contentType: text('The media type that the message declares.'),
    sizeBytes: count('Size of the decoded content in bytes.'),
    url: text('Signed download address. It expires, so fetch it promptly.'),
    contentId: nullableText('Content-ID without angle brackets, for "cid:" links in body_html.'),
    isInline: Type.Boolean({
      description: 'Whether the file is shown in the body of the message.',
    }),
    ...PARSED_PROPERTIES,
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
    to: text(
      'A single address, so that it can be compared. Inbound: the address of the inbox. Outbound: the first recipient.',
    ),
    to_addrs: Type.Array(Type.String(), {
      description:
        'All addresses in the To field, like `to` of a message in the API. Outbound: all recipients except cc and bcc.',
    }),
    recipient: nullableText(
      'Inbound: the address from the RCPT command, as the sending server spelled it. Null for outbound mail.',
    ),
    tag: nullableText('The part of recipient after the "+"; null without one.'),
    cc: Type.Array(Type.String(), { description: 'Addresses copied on the message.' }),
    subject: text('Empty when the message has none.'),
    body_text: text(
      'The text body; converted from HTML, without hidden text, if the message has no text or a blank one.',
    ),
    body_html: text(
      'The HTML body as sent, with any hidden text; empty when the message has none.',
    ),
    extracted_text: text(
      'The new text of a reply, without the quoted history; part of body_text or, if the text body differs from the HTML, of the visible text of the HTML.',
    ),
    hidden_text: Type.Boolean({ description: HIDDEN_TEXTS.hiddenText }),
    hidden_text_parts: Type.Array(HiddenTextPart, { description: HIDDEN_TEXTS.parts }),
    extracted: Type.Union([Extracted, Type.Null()], {
      description:
        'Verification codes, links and invitations of the message; null on outbound mail.',
    }),
    truncated: Type.Boolean({
      description:
        'Whether a body was truncated at 256 KiB. The message at url has the complete body.',
    }),
    url: text('API URL of the complete message; requires an API key.'),
    attachments: Type.Array(EventAttachment, { description: 'The files in the message.' }),
    authentication: Type.Union([Authentication, Type.Null()], {
      description: 'SPF, DKIM and DMARC results; null for outbound mail.',
    }),
    automatic: Type.Boolean({
      description: 'Whether a program sent the message. Do not reply to it automatically.',
    }),
    auto_replyable: Type.Boolean({ description: KIND_TEXTS.autoReplyable }),
    category: nullableOneOf(messageCategories, KIND_TEXTS.category),
    category_reasons: Type.Array(CategoryReason, { description: KIND_TEXTS.reasons }),
    verdict: nullableOneOf(messageVerdicts, KIND_TEXTS.verdict),
    spam_score: Type.Union([Type.Number(), Type.Null()], { description: KIND_TEXTS.spamScore }),
    failure_reason: nullableText('The response of the server that refused the message.'),
    received_at: Type.Optional(time('Inbound only: when the message was received.')),
    sent_at: Type.Optional(
      time(
        'Outbound only: when the message was queued, after any approval and scheduled time. While it is held or scheduled: when it was accepted.',
      ),
    ),
  },
  { description: 'The message of the event.' },
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

export const EventQuarantined = Type.Object(
  {
    id: text('The id of the quarantined message.'),
    from: text('The sender in the message: "Name <address>" or the bare address.'),
    to: text('The address of the inbox.'),
    subject: text('Empty when the message has none.'),
    reason: oneOf(quarantineReasons, 'Why the message was quarantined.'),
    rule_id: nullableText('The rule that blocked the sender; null without one.'),
    auto_replyable: Type.Boolean({
      description: 'Always false, because a message outside any inbox cannot be answered.',
    }),
    category: nullableOneOf(messageCategories, KIND_TEXTS.category),
    category_reasons: Type.Array(CategoryReason, { description: KIND_TEXTS.reasons }),
    verdict: nullableOneOf(messageVerdicts, KIND_TEXTS.verdict),
    spam_score: Type.Union([Type.Number(), Type.Null()], { description: KIND_TEXTS.spamScore }),
  },
  { description: 'The quarantined message of the event, without its text.' },
)
export type EventQuarantined = Static<typeof EventQuarantined>

export const EventDomain = Type.Object(
  {
    id: text('The id of the domain.'),
    domain: text('The name of the domain, in lower-case A-labels.'),
    status: oneOf(domainStatuses, 'The new status.'),
    pod_id: nullableText('The only pod that may use the domain; null for all pods.'),
  },
  { description: 'The custom domain of the event.' },
)
export type EventDomain = Static<typeof EventDomain>

export const EventInbox = Type.Object(
  {
    id: text('The former id of the inbox.'),
    address: text('The email address of the inbox.'),
    expires_at: time('When the inbox was set to expire.'),
  },
  { description: 'The inbox that deleted itself.' },
)

export const EventApprover = Type.Object(
  { id: text('The id of the approver.'), name: text('The display name.') },
  { description: 'The approver of the event.' },
)

export const EventWebhook = Type.Object(
  { id: text('The id of the webhook.'), url: text('The URL that events are posted to.') },
  { description: 'The webhook of the event.' },
)
export type EventWebhook = Static<typeof EventWebhook>

export const EventDisabledWebhook = Type.Extended(
  EventWebhook,
  { reason: oneOf(webhookDisabledReasons, 'Why the webhook was disabled.') },
  { description: 'The webhook that was disabled.' },
)

export const EventExtraction = Type.Object(
  {
    filename: text('The filename of the attachment entry.'),
    contentType: text('The media type that the message declares.'),
    extractionMethod: oneOf(
      extractionMethods,
      'How the text was extracted, or why it could not be. It is in parsedText of the entry in message.',
    ),
    isTruncated: Type.Boolean({
      description: 'Whether the file has more text than was extracted.',
    }),
  },
  { description: 'The attachment whose text was extracted.' },
)

const reviewReasons = Type.Array(HoldReason, {
  description: 'Why a decision by a person is required.',
})
const reviewExpiry = time('When the message is rejected without a decision.')

export const EventHold = Type.Object(
  {
    id: text('The id of the review.'),
    reasons: reviewReasons,
    digest: text('SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:".'),
    expires_at: reviewExpiry,
  },
  { description: 'Why the message is held.' },
)

export const EventReview = Type.Object(
  {
    id: text('The id of the review.'),
    status: oneOf(reviewStatuses, 'The status of the review; in message.rejected, how it ended.'),
    reason: nullableText('The reason given with the decision; null for none.'),
  },
  { description: 'The review of the message.' },
)

const approvedDigest = text('The digest that an approval must contain.')
const changedFields = Type.Array(oneOf(reviewFields, 'A field.'), {
  description: 'The changed fields.',
})
const commentId = text('The id of the new comment.')

export const EventEditedReview = Type.Extended(
  EventReview,
  { digest: approvedDigest, changed: changedFields },
  { description: 'The review of the edited message.' },
)

export const EventCommentedReview = Type.Extended(
  EventReview,
  { comment_id: commentId },
  { description: 'The review with a new comment.' },
)

const ofApprovers = { message_id: text('The id of the held message.') }

export const ReviewCreated = Type.Extended(
  EventReview,
  {
    ...ofApprovers,
    digest: approvedDigest,
    reasons: reviewReasons,
    expires_at: reviewExpiry,
  },
  { description: 'The new review.' },
)

export const ReviewEdited = Type.Extended(
  EventReview,
  {
    ...ofApprovers,
    digest: approvedDigest,
    reasons: reviewReasons,
    changed: changedFields,
    edited_by: text('The id of the approver who edited.'),
  },
  { description: 'The review of the edited message.' },
)

export const ReviewCommented = Type.Extended(
  EventReview,
  {
    ...ofApprovers,
    comment_id: commentId,
    author_id: text('The id of the approver or the key that commented.'),
  },
  { description: 'The review with a new comment.' },
)

export const ReviewDecided = Type.Extended(
  EventReview,
  {
    ...ofApprovers,
    decided_by: nullableText('The id of the approver who decided; null for none.'),
  },
  { description: 'The review, which has ended.' },
)

/** The details of each event for approvers, without the fields of the review itself. */
export type ReviewDetails = {
  'review.created': Details<typeof ReviewCreated>
  'review.edited': Details<typeof ReviewEdited>
  'review.commented': Details<typeof ReviewCommented>
  'review.decided': Details<typeof ReviewDecided>
}
type Details<Review extends TSchema> = Omit<Static<Review>, 'id' | 'message_id'>

export const EventThread = Type.Object(
  {
    changed: Type.Array(
      oneOf(
        ['is_read', 'labels', 'metadata', 'assignee', 'snoozed_until'],
        'A field of the thread.',
      ),
      { description: 'The fields that changed.' },
    ),
    is_read: Type.Boolean({ description: 'The read state after the change.' }),
    labels: Type.Array(Type.String(), { description: 'The labels after the change, sorted.' }),
    assignee: nullableText('The assignee after the change; null for none.'),
    snoozed_until: nullableTime('When the snooze of the thread ends; null if it is not snoozed.'),
  },
  { description: 'The changed thread. GET /v1/threads/{id} has its metadata.' },
)

const releaseReasons = ['released', 'expired'] as const

export const EventClaim = Type.Object(
  {
    owner: text('The owner in the claim.'),
    fence: count('The number of the claim; later claims of the thread have higher numbers.'),
    expires_at: time('When the lease expires unless it is renewed, or when it expired.'),
  },
  { description: 'The claim on the thread.' },
)

export const EventReleasedClaim = Type.Extended(
  EventClaim,
  {
    reason: oneOf(
      releaseReasons,
      'How the claim ended: its worker released it, or its lease expired.',
    ),
  },
  { description: 'The claim that ended.' },
)

export const EventStorage = Type.Object(
  {
    stored_bytes: count('Bytes of mail that the account stores.'),
    limit_bytes: count('The number of bytes that the account may store.'),
  },
  { description: 'The storage of the account.' },
)

export const EventEnvelope = Type.Object(
  {
    event_id: text('Identifies the event; the same in every delivery of it.'),
    occurred_at: time('When the event happened.'),
    delivered_at: time('When this copy of the event was delivered.'),
    attempt: Type.Integer({
      minimum: 1,
      description:
        'The number of the webhook delivery attempt; 1 for all other ways of reading events.',
    }),
    inbox_id: nullableText('The inbox of the event; null if none.'),
    pod_id: nullableText('The pod of the inbox or the domain; null if none.'),
    thread_id: nullableText('The thread of the event; null if none.'),
  },
  { description: 'The fields of every event.' },
)

export const ThreadEvent = Type.Extended(
  EventEnvelope,
  { inbox_id: text('The inbox of the thread.'), thread_id: text('The thread.') },
  { description: 'The fields of every event of a thread.' },
)

export const MessageEvent = Type.Extended(
  ThreadEvent,
  { message: EventMessage },
  { description: 'The fields of every event of a message.' },
)

function eventOf<
  Kind extends EventKind | ReviewEventKind,
  Base extends TProperties,
  Own extends TProperties,
>(kind: Kind, base: TObject<Base>, own: Own) {
  const event = oneOf([kind], 'The event type.')
  return Type.Extended(base, { event, ...own }, { description: eventKindTable[kind].happens })
}

const bouncedRecipient = text('The recipient that bounced or complained.')

export const events = {
  MessageReceivedEvent: eventOf('message.received', MessageEvent, {}),
  MessageQuarantinedEvent: eventOf('message.quarantined', EventEnvelope, {
    inbox_id: text('The inbox that the mail was for.'),
    quarantined: EventQuarantined,
  }),
  MessageSentEvent: eventOf('message.sent', MessageEvent, {}),
  MessageFailedEvent: eventOf('message.failed', MessageEvent, {}),
  MessageBouncedEvent: eventOf('message.bounced', MessageEvent, {
    recipient: bouncedRecipient,
    bounce: EventBounce,
  }),
  MessageComplainedEvent: eventOf('message.complained', MessageEvent, {
    recipient: bouncedRecipient,
  }),
  MessageHeldEvent: eventOf('message.held', MessageEvent, { hold: EventHold }),
  MessageRejectedEvent: eventOf('message.rejected', MessageEvent, { review: EventReview }),
  MessageReviewEditedEvent: eventOf('message.review_edited', MessageEvent, {
    review: EventEditedReview,
  }),
  MessageReviewCommentedEvent: eventOf('message.review_commented', MessageEvent, {
    review: EventCommentedReview,
  }),
  AttachmentExtractedEvent: eventOf('attachment.extracted', MessageEvent, {
    attachment: EventExtraction,
  }),
  ThreadLoopSuspectedEvent: eventOf('thread.loop_suspected', ThreadEvent, {}),
  ThreadUpdatedEvent: eventOf('thread.updated', ThreadEvent, { thread: EventThread }),
  ThreadClaimedEvent: eventOf('thread.claimed', ThreadEvent, { claim: EventClaim }),
  ThreadReleasedEvent: eventOf('thread.released', ThreadEvent, { claim: EventReleasedClaim }),
  InboxExpiredEvent: eventOf('inbox.expired', EventEnvelope, { inbox: EventInbox }),
  ApproverCreatedEvent: eventOf('approver.created', EventEnvelope, { approver: EventApprover }),
  ApproverDeletedEvent: eventOf('approver.deleted', EventEnvelope, { approver: EventApprover }),
  DomainVerifiedEvent: eventOf('domain.verified', EventEnvelope, { domain: EventDomain }),
  DomainFailedEvent: eventOf('domain.failed', EventEnvelope, { domain: EventDomain }),
  WebhookDisabledEvent: eventOf('webhook.disabled', EventEnvelope, {
    webhook: EventDisabledWebhook,
  }),
  AccountQuotaExceededEvent: eventOf('account.quota_exceeded', EventEnvelope, {
    storage: EventStorage,
  }),
  WebhookTestEvent: eventOf('webhook.test', EventEnvelope, { webhook: EventWebhook }),
  ReviewCreatedEvent: eventOf('review.created', EventEnvelope, { review: ReviewCreated }),
  ReviewEditedEvent: eventOf('review.edited', EventEnvelope, { review: ReviewEdited }),
  ReviewCommentedEvent: eventOf('review.commented', EventEnvelope, { review: ReviewCommented }),
  ReviewDecidedEvent: eventOf('review.decided', EventEnvelope, { review: ReviewDecided }),
}

type Events = { [Name in keyof typeof events]: Static<(typeof events)[Name]> }

type PartName<One> = One extends unknown
  ? Exclude<keyof One, keyof Static<typeof EventEnvelope>>
  : never

/** Fields of other events are declared as absent, so that `event.message?.subject` compiles. */
type WithAbsent<One> = One extends unknown
  ? One & { [Name in Exclude<PartName<Events[keyof Events]>, keyof One>]?: undefined }
  : never

export const Event = Type.Unsafe<WithAbsent<Events[keyof Events]>>({
  anyOf: Object.values(events),
  description: 'An event of an account. Its type is in `event`.',
  discriminator: { propertyName: 'event' },
})
export type Event = Static<typeof Event>

/** An event of one type: `EventOf<'message.received'>`. */
export type EventOf<Kind extends Event['event']> = Extract<Event, { event: Kind }>

const WAIT_SECONDS_MAX = 60
const WAIT_SECONDS_DEFAULT = 30

const filterProperties = {
  after: Type.Optional(
    text(
      'The event_id of an event: returns only events after it, in the requested order. Ids are time-ordered, so the id of an event that is no longer in the log still identifies a position.',
    ),
  ),
  event_types: Type.Optional(text('Only events of these types, separated by commas.')),
  inbox_id: Type.Optional(text('Only events of the inbox with this id.')),
  categories: Type.Optional(
    text(
      'Limits events of received mail to these categories, separated by commas. Other events are not affected.',
    ),
  ),
}

export const eventOperations = {
  'events.list': {
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    summary: 'Read the event log.',
    notes: `Events are kept for 30 days. To get the next page, pass the event_id of the last event as after; this works even if its inbox has been deleted since. A page with fewer events than limit is the last one, unless a filter skips the next million events. With order=desc the page begins at the newest event and after continues with older ones; new events do not shift the pages. The event of a change is in the log when the response to the change arrives, unless another transaction on PostgreSQL delays it. total counts the events after this position in the given order, up to ${COUNTED_MAX} and, with a filter, among the next 20000 events.`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      limit: pageProperties.limit,
      order: Type.Optional(
        oneOf(
          ['asc', 'desc'],
          'Oldest first (asc, the default of the API) or newest first (desc). With desc, after continues with older events.',
        ),
      ),
      ...filterProperties,
    }),
    success: {
      status: 200,
      description: 'A page of events.',
      schema: countedListOf(Event, 'A page of events.'),
    },
    errors: [],
  },
  'events.stream': {
    method: 'GET',
    path: '/v1/events/stream',
    tag: 'Events',
    summary: 'Stream events as server-sent events.',
    notes:
      'Each server-sent event has the event_id as its id, the event type as its event and the event as its data. After a disconnect, Last-Event-ID (or after) resumes after that event without gaps or repeats; without either, the stream begins with new events. If the event is no longer in the log, the stream resumes at its time; if Last-Event-ID is not an event id, the stream begins with new events. Comment lines report both cases, and unknown event_types, which are ignored if at least one type is known. An account may have ten streams at once. A stream whose client reads nothing for 30 seconds is closed.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      order: Type.Optional(
        oneOf(
          ['asc'],
          'The order of a stream, which is always oldest first. The event log can be read newest first.',
        ),
      ),
      ...filterProperties,
    }),
    success: {
      status: 200,
      description: 'A stream of events, which lasts until either side ends it.',
      mediaType: 'text/event-stream',
      isEndless: true,
    },
    errors: [],
  },
  'inboxes.wait': {
    method: 'GET',
    path: '/v1/inboxes/{id}/wait',
    tag: 'Events',
    summary: 'Wait for a message.',
    notes:
      'Responds as soon as a message in the inbox matches, or with null when the timeout expires. Without after, only messages that arrive during the call match. With after, existing messages after that position match too, oldest first, as far as the timeout allows. With direction=outbound, a message matches once its outcome is known: pass the id of a sent message as after to wait for its outcome, and the event_id of that outcome to continue after it. If the inbox is deleted during the wait, the response is 404.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      timeout: Type.Integer({
        minimum: 1,
        maximum: WAIT_SECONDS_MAX,
        default: WAIT_SECONDS_DEFAULT,
        description: 'Maximum seconds to wait.',
      }),
      after: Type.Optional(text('Id of an event or a message; later messages match too.')),
      from: Type.Optional(text('Only messages whose sender contains this text, ignoring case.')),
      subject: Type.Optional(
        text('Only messages whose subject contains this text, ignoring case.'),
      ),
      thread_id: Type.Optional(text('Only messages in the thread with this id.')),
      category: Type.Optional(oneOf(messageCategories, 'Only received messages of this category.')),
      direction: Type.Optional(
        oneOf(
          messageDirections,
          'Received messages (inbound, the default), or sent messages whose outcome is known (outbound).',
        ),
      ),
    }),
    success: {
      status: 200,
      description: 'The first message that matched, or null.',
      schema: Type.Object({
        message: Type.Union([Message, Type.Null()], {
          description: 'The message; null when none matched in time.',
        }),
      }),
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
