// Sends, their responses, and deliveries.

import { ErrorBody } from './error.ts'
import { findings } from './findings.ts'
import { AnswerInvite, InviteToSend } from './invitations.ts'
import { LISTED_BODIES_NOTE, Message } from './messages.ts'
import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import {
  count,
  line,
  mailbox,
  mailboxes,
  nullableCount,
  nullableOneOf,
  nullableText,
  nullableTime,
  oneOf,
  RULE,
  TRIMMED,
  text,
  time,
} from './text.ts'
import {
  bodyFormats,
  bounceClasses,
  deliveryStatuses,
  messageDirections,
  type messageStatuses,
  sendDecisions,
} from './vocabulary.ts'

export const BODY_LENGTH_MAX = 100_000
export const HTML_LENGTH_MAX = 500_000
export const SUBJECT_LENGTH_MAX = 998
/** Recipients per message: to, cc and bcc together. */
export const RECIPIENTS_MAX = 50
/** The most files of a message, and their bytes in total. */
export const ATTACHMENTS_MAX = 100
export const FILES_BYTES_MAX = 25 * 1024 * 1024
export const FILENAME_LENGTH_MAX = 1_000
export const MEDIA_TYPE_LENGTH_MAX = 255
const CONTENT_ID_LENGTH_MAX = 250

// Printable ASCII without characters that end or quote an identifier in a header field (RFC 5322
// §3.2.3), so that the HTML can refer to it.
const CONTENT_ID_PATTERN = '^[!\\x23-\\x27*+.-:=?-Z^-~-]*$'
const CONTENT_ID_RULE = 'must contain only printable ASCII, without white space and <>()[]\\",;'

export const AttachmentToSend = Type.Object(
  {
    filename: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: FILENAME_LENGTH_MAX,
        description:
          'The name that recipients see. Only the part after the last slash is used, without control characters, up to 200 characters. With messageId, it names the file of the message. May be omitted with uploadId.',
      }),
    ),
    contentType: Type.Optional(
      line({
        minLength: 1,
        maxLength: MEDIA_TYPE_LENGTH_MAX,
        description:
          'A media type, such as application/pdf. Required with data; otherwise it replaces the type of the file.',
      }),
    ),
    data: Type.Optional(
      Type.String({
        contentEncoding: 'base64',
        description:
          'The content in base64 with padding, without line breaks. An attachment has exactly one of data, uploadId and messageId.',
      }),
    ),
    uploadId: Type.Optional(
      text('A file that was uploaded with POST /v1/uploads or through a link.'),
    ),
    messageId: Type.Optional(text('A message of the account that has the file.')),
    contentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CONTENT_ID_LENGTH_MAX,
        pattern: CONTENT_ID_PATTERN,
        [RULE]: CONTENT_ID_RULE,
        description:
          'For an image in the HTML, which refers to the file as "cid:" followed by this value.',
      }),
    ),
  },
  {
    // Validators in strict mode require a field among the properties of the same schema.
    if: { required: ['uploadId'], properties: { uploadId: {} } },
    else: {
      required: ['filename'],
      properties: { filename: {} },
      if: { required: ['messageId'], properties: { messageId: {} } },
      else: { required: ['contentType', 'data'], properties: { contentType: {}, data: {} } },
    },
    additionalProperties: false,
    description: 'A file to attach: its content, an upload, or a file of a message.',
  },
)
export type AttachmentToSend = Static<typeof AttachmentToSend>

export const attachmentsToSend = Type.Array(AttachmentToSend, {
  maxItems: ATTACHMENTS_MAX,
  description:
    'Files to attach. The encoded message may have up to 25 MiB, which is about 18 MiB of files.',
})

export const HIDDEN = 'Hidden recipients, whom the other recipients do not see.'

export function copied(description: string) {
  return Type.Array(mailbox('One address, or Name <address>.'), {
    maxItems: RECIPIENTS_MAX,
    description,
  })
}

const extraHeaders = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description:
    'Up to 20 header fields by name: X-… and List-…, except X-Loop and List-Unsubscribe…. Values are printable text of up to 998 characters on one line.',
})

const isAutomatic = Type.Boolean({
  default: false,
  description:
    'Whether a program sends this without a person. It is then marked with Auto-Submitted (RFC 3834), so that other programs do not answer it.',
})

const needsSubject = {
  // Validators in strict mode require the field among the properties of the same schema.
  if: { required: ['threadId'], properties: { threadId: {} } },
  else: { required: ['subject'], properties: { subject: {} } },
}

const bodyFormat = Type.Unsafe<(typeof bodyFormats)[number]>({
  type: 'string',
  enum: [...bodyFormats],
  default: 'auto',
  description:
    'The format of body; auto detects HTML. Markdown is sent as written, with an HTML version made from it. bodyHtml requires auto.',
})

const includeSignature = Type.Boolean({
  default: true,
  description: 'Whether the signature of the inbox is added, below the text and above a quote.',
})

export const SendMessage = Type.Object(
  {
    to: Type.Optional(
      mailboxes(
        'The recipient or a list of recipients, each as an address or as Name <address>. Names of up to 200 characters are kept. Required without replyAll. to, cc and bcc may have at most 50 addresses in total.',
        { maxItems: RECIPIENTS_MAX },
      ),
    ),
    body: Type.String({
      minLength: 1,
      maxLength: BODY_LENGTH_MAX,
      description:
        'The text, in the given format: plain text, Markdown or HTML. HTML gets a plain text version.',
    }),
    format: Type.Optional(bodyFormat),
    subject: Type.Optional(
      line({
        minLength: 1,
        maxLength: SUBJECT_LENGTH_MAX,
        [TRIMMED]: true,
        description:
          'Required without threadId. A reply has the subject of its thread, prefixed with "Re:", instead of this one. Leading and trailing white space is removed.',
      }),
    ),
    bodyHtml: Type.Optional(
      Type.String({
        maxLength: HTML_LENGTH_MAX,
        description: 'HTML version, if it differs from body. body is then the plain text.',
      }),
    ),
    threadId: Type.Optional(text('The thread of the inbox that this message replies in.')),
    includeQuote: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'With threadId: whether the original message is quoted.',
      }),
    ),
    includeSignature: Type.Optional(includeSignature),
    replyTo: Type.Optional(
      mailbox(
        'Where replies go: one address, or Name <address>. On the free plan this must be an inbox of the account; on other plans, any address.',
      ),
    ),
    cc: Type.Optional(copied('Copied recipients.')),
    bcc: Type.Optional(copied(HIDDEN)),
    replyAll: Type.Optional(
      Type.Boolean({
        description:
          'With threadId: answers all recipients of the newest received message. Without to, its Reply-To or else its From becomes the recipient; its other To and Cc addresses are copied. The inbox itself and suppressed addresses are left out.',
      }),
    ),
    headers: Type.Optional(extraHeaders),
    sendAt: Type.Optional(
      time(
        'When to send the message: 1 minute to 90 days ahead. Until then it can be cancelled. Policy, suppressions and limits are checked again at that time.',
      ),
    ),
    attachments: Type.Optional(attachmentsToSend),
    invite: Type.Optional(InviteToSend),
    unsubscribe: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether to add an unsubscribe link (RFC 8058), which puts the recipient on the suppression list. Only for messages to one recipient.',
      }),
    ),
    isAutomatic: Type.Optional(isAutomatic),
  },
  { ...needsSubject, additionalProperties: false, description: 'A message to send.' },
)
export type SendMessage = Static<typeof SendMessage>

const BATCH_ITEMS_MAX = 100
/** Enough JSON values for a batch whose items have the maximum of recipients, headers and files. */
const BATCH_VALUES_MAX = 1_000 * BATCH_ITEMS_MAX

const BatchItem = Type.Object(
  {
    idempotencyKey: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Like the header Idempotency-Key of a send: printable ASCII.',
    }),
    leaseToken: Type.Optional(
      text('Like the header Lease-Token of a send. The header itself does not apply to a batch.'),
    ),
    ...SendMessage.properties,
  },
  {
    ...needsSubject,
    additionalProperties: false,
    description: 'A message to send, with its idempotency key.',
  },
)

const SendBatch = Type.Object(
  {
    items: Type.Array(BatchItem, {
      maxItems: BATCH_ITEMS_MAX,
      description: 'The messages, at most 100.',
    }),
  },
  { additionalProperties: false, description: 'Messages to send.' },
)

/** Validates each item separately, as the body of a send. */
const CheckedBatch = Type.Object(
  { items: Type.Array(Type.Unsafe<unknown>({}), { maxItems: BATCH_ITEMS_MAX }) },
  { additionalProperties: false },
)

const ForwardMessage = Type.Object(
  {
    to: mailboxes(
      'The recipient or a list of recipients, each as an address or as Name <address>. to, cc and bcc may have at most 50 addresses in total.',
      { maxItems: RECIPIENTS_MAX },
    ),
    cc: Type.Optional(copied('Copied recipients.')),
    bcc: Type.Optional(copied(HIDDEN)),
    body: Type.Optional(
      Type.String({
        maxLength: BODY_LENGTH_MAX,
        description: 'Text before the forwarded message.',
      }),
    ),
    format: Type.Optional(bodyFormat),
    includeSignature: Type.Optional(includeSignature),
    includeAttachments: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the files of the message are attached, at most 100.',
      }),
    ),
    attachments: Type.Optional(attachmentsToSend),
    isAutomatic: Type.Optional(isAutomatic),
  },
  { additionalProperties: false, description: 'A message to forward: its recipients and text.' },
)

const sendStatuses = [
  'pending',
  'sent',
  'failed',
] as const satisfies (typeof messageStatuses)[number][]

export const HoldReason = Type.Object(
  {
    guard: text('The source of the decision: rule, mode, scanner or the name of a guard.'),
    detail: text('An explanation for people.'),
    recipient: Type.Optional(text('The address concerned.')),
    findings: Type.Optional(findings),
  },
  { description: 'A reason for a policy decision.' },
)
export type HoldReason = Static<typeof HoldReason>

const CheckedSend = Type.Object(
  {
    decision: oneOf(sendDecisions, 'Whether the message would be sent, held or refused.'),
    reasons: Type.Array(HoldReason, {
      description: 'The reasons for holding or refusing the message.',
    }),
  },
  { description: 'The decision of the inbox policy about a message.' },
)

const Hold = Type.Object(
  {
    id: text('The id of the review.'),
    reasons: Type.Array(HoldReason, { description: 'Why a decision by a person is required.' }),
    digest: text(
      'SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:". An approval must contain it.',
    ),
    expiresAt: time('When the message is rejected without a decision.'),
  },
  { description: 'The message is held until a person approves it. Do not send it again.' },
)

export const SentMessage = Type.Object(
  {
    messageId: text('The id of the message.'),
    threadId: text('The thread of the message.'),
    providerMessageId: text('The Message-ID on the message, with its angle brackets.'),
    status: oneOf(sendStatuses, 'Pending once the message is stored and queued.'),
    id: text('An alias of messageId.'),
    inboxId: text('The inbox that sends the message.'),
    direction: oneOf(messageDirections, 'Always outbound.'),
    createdAt: time('When the message was accepted for sending.'),
    scheduledAt: Type.Optional(
      time('When the message is to be sent, if it is scheduled by sendAt or by undoSeconds.'),
    ),
    hold: Type.Optional(Hold),
  },
  { description: 'A message that was accepted for sending.' },
)
export type SentMessage = Static<typeof SentMessage>

const BatchOutcome = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status, as if sent alone.' }),
    body: Type.Union([SentMessage, ErrorBody], {
      description: 'The response body, as if sent alone: the message or the error.',
    }),
    isReplay: Type.Boolean({
      description: 'Whether this is the response to an earlier send with the same key.',
    }),
  },
  { description: 'The outcome of one item.' },
)

const BatchOutcomes = Type.Object(
  {
    data: Type.Array(BatchOutcome, { description: 'One entry per item, in the same order.' }),
  },
  { description: 'The outcomes of the items.' },
)

export const Delivery = Type.Object(
  {
    id: text('The id.'),
    recipient: text('The address.'),
    status: oneOf(deliveryStatuses, 'The delivery status for this recipient.'),
    attempts: count('Number of delivery attempts.'),
    lastAttemptAt: nullableTime('When delivery was last attempted; null before the first attempt.'),
    nextAttemptAt: nullableTime('When delivery is attempted next; null if the outcome is final.'),
    host: nullableText('The server of the last attempt.'),
    tls: nullableText(
      'The TLS version and cipher of the last attempt; null if it was not encrypted.',
    ),
    responseCode: nullableCount('The reply code of that server (RFC 5321).'),
    enhancedCode: nullableText(
      'The enhanced status code of that server (RFC 3463), such as 5.1.1.',
    ),
    response: nullableText('The response of the server, or the reason why no server was reached.'),
    bounceClass: nullableOneOf(
      bounceClasses,
      'For bounces: hard means that the address does not exist or is disabled; it is suppressed.',
    ),
  },
  { description: 'The delivery of a message to one recipient.' },
)
export type Delivery = Static<typeof Delivery>

/** Error codes of every send, in addition to the codes that follow from its operation. */
const sendErrors = [
  'missing_idempotency_key',
  'idempotency_key_reused',
  'recipient_not_permitted',
  'content_not_permitted',
  'feature_requires_paid_plan',
  'recipient_suppressed',
  'thread_trashed',
  'loop_suspected',
  'rate_limit_exceeded',
  'cold_outreach_limit',
] as const

export const sendingOperations = {
  'inboxes.send': {
    method: 'POST',
    path: '/v1/inboxes/{id}/send',
    tag: 'Messages',
    summary: 'Send a message from an inbox.',
    notes: [
      'For 24 hours, repeating the request with the same Idempotency-Key returns the first response and sends nothing. The same key with a different request is refused. A refused request does not consume its key, so you can correct it and send it again.',
      'With threadId, the message is a reply. It has the subject of the thread, an In-Reply-To field with the Message-ID of the newest message that the recipients wrote or received (with one correspondent, the last message) and a References field that lists the messages of the thread. The thread is marked as read. If the thread began with a message that only copied the inbox (deliveryRole cc), the sender of that message is added to cc unless the account has suppressed the address. A message without a Message-ID cannot be referenced, so the mail program of its sender cannot thread the reply.',
      'With multipart/form-data, the fields have the same names. Repeat to, cc and bcc for each recipient and attachments for each file; headers and invite require JSON.',
      'While a worker has claimed the thread, a send in it requires the header Lease-Token of the claim. The token is checked when the message is accepted; a held or scheduled message is sent later without it. A repeated request returns its first response with or without the token.',
      'After ten replies to automatic messages in one thread within an hour, sending in that thread fails with loop_suspected until the first of the ten is an hour old.',
    ].join('\n\n'),
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: SendMessage,
    bodyMediaTypes: ['application/json', 'multipart/form-data'],
    hasLargeBody: true,
    needsIdempotencyKey: true,
    takesLeaseToken: true,
    success: {
      status: 200,
      description: 'The message is stored and queued, now or by an earlier request.',
      schema: SentMessage,
    },
    errors: sendErrors,
  },
  'inboxes.sendBatch': {
    method: 'POST',
    path: '/v1/inboxes/{id}/send/batch',
    tag: 'Messages',
    summary: 'Send up to 100 messages from an inbox.',
    notes:
      'Each item is a separate send with its own idempotencyKey, processed in order; an invalid or refused item does not stop the others. The response has the status and body of each send. The whole request is refused only if it is not a list of items, has more than 100, or the inbox does not exist; it counts as one request.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: SendBatch,
    checkedBody: CheckedBatch,
    hasLargeBody: true,
    valuesMax: BATCH_VALUES_MAX,
    success: { status: 200, description: 'Every item was processed.', schema: BatchOutcomes },
    errors: [],
  },
  'inboxes.checkSend': {
    method: 'POST',
    path: '/v1/inboxes/{id}/send/check',
    tag: 'Messages',
    summary: 'Check whether policy would send, hold or refuse a message.',
    notes:
      'Takes the body of a send and stores nothing. Other reasons to refuse the send, such as a limit, also refuse the check.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: SendMessage,
    bodyMediaTypes: ['application/json', 'multipart/form-data'],
    hasLargeBody: true,
    takesLeaseToken: true,
    success: { status: 200, description: 'The decision.', schema: CheckedSend },
    errors: [
      'invalid_domain',
      'feature_requires_paid_plan',
      'recipient_suppressed',
      'thread_trashed',
      'loop_suspected',
      'rate_limit_exceeded',
      'cold_outreach_limit',
    ],
  },
  'messages.forward': {
    method: 'POST',
    path: '/v1/messages/{id}/forward',
    tag: 'Messages',
    summary: 'Forward a message to other recipients.',
    notes:
      'A send from the inbox of the message, with the same response, limits and use of the Idempotency-Key. It starts a thread, with "Fwd:" before the original subject. The original follows the body with its From, Date, Subject, To and Cc lines. Its files are attached, and images in its HTML are still displayed. While a worker has claimed the thread of the message, the header Lease-Token of its claim is required.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a message.' },
    body: ForwardMessage,
    hasLargeBody: true,
    needsIdempotencyKey: true,
    takesLeaseToken: true,
    success: {
      status: 200,
      description: 'The new message is stored and queued, now or by an earlier request.',
      schema: SentMessage,
    },
    errors: sendErrors,
  },
  'messages.rsvp': {
    method: 'POST',
    path: '/v1/messages/{id}/rsvp',
    tag: 'Messages',
    summary: 'Answer the invitation in a message.',
    notes:
      'Sends a reply (RFC 5546, RFC 6047) to the organizer, in the thread of the message: a send from its inbox, with the same response, policies, limits and use of the Idempotency-Key. It contains a sentence for people and the reply for calendars, and answers the whole invitation: a series, or the occurrences in it. A later answer replaces an earlier one. The organizer of the invitation must be the verified author of the message: see organizer_unverified. While a worker has claimed the thread, the header Lease-Token of its claim is required.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a received message with an invitation.' },
    body: AnswerInvite,
    needsIdempotencyKey: true,
    takesLeaseToken: true,
    success: {
      status: 200,
      description: 'The reply is stored and queued, now or by an earlier request.',
      schema: SentMessage,
    },
    errors: [
      ...sendErrors,
      'no_invitation',
      'invitation_cancelled',
      'not_invited',
      'organizer_unverified',
    ],
  },
  'messages.cancel': {
    method: 'POST',
    path: '/v1/messages/{id}/cancel',
    tag: 'Messages',
    summary: 'Cancel a message that has not been sent.',
    notes:
      'A scheduled, held or queued message can be cancelled until its first delivery attempt begins. The message stays in its thread with the status failed and the failureReason cancelled. Cancelling it again returns the same message.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a message.' },
    success: { status: 200, description: 'The message.', schema: Message },
    errors: ['already_sending'],
  },
  'inboxes.scheduled': {
    method: 'GET',
    path: '/v1/inboxes/{id}/scheduled',
    tag: 'Messages',
    summary: 'List scheduled messages of an inbox.',
    notes: `Ordered by scheduled time, soonest first. ${LISTED_BODIES_NOTE}`,
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of messages.',
      schema: listOf(Message, 'A page of messages.'),
    },
    errors: [],
  },
  'messages.deliveries': {
    method: 'GET',
    path: '/v1/messages/{id}/deliveries',
    tag: 'Messages',
    summary: 'List deliveries of a message.',
    notes:
      'One entry per recipient, with the delivery status. A received message has no deliveries.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of a message.' },
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of deliveries, in the order of the recipients.',
      schema: listOf(Delivery, 'A page of deliveries.'),
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
