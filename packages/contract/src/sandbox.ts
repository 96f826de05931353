// The sandbox, for testing without other mail servers: captured messages, and injected mail.

import { Attachment, Message } from './messages.ts'
import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import { attachmentsToSend, SUBJECT_LENGTH_MAX } from './sending.ts'
import { emailAddress, line, mailbox, mailboxes, nullableText, RULE, text, time } from './text.ts'

const RECIPIENTS_MAX = 100
const TEXT_LENGTH_MAX = 500_000
const IDENTIFIER_LENGTH_MAX = 998

// The syntax of RFC 5322 §3.6.4, relaxed to accept what programs write.
const IDENTIFIER_PATTERN = '^<[^<>\\s\\x00-\\x1f\\x7f-\\x9f]+>$'

export const CapturedMessage = Type.Object(
  {
    id: text('The id.'),
    messageId: text('The id of the message in its inbox.'),
    threadId: text('The thread of the message.'),
    inboxId: text('The inbox that sent the message.'),
    from: text('The sender, "Name <address>" or the bare address.'),
    to: Type.Array(Type.String(), {
      description: 'The envelope recipients.',
    }),
    reversePath: text(
      'The envelope sender: the address that receives delivery reports for these recipients.',
    ),
    cc: Type.Array(Type.String(), {
      description: 'Copied recipients, with their names.',
    }),
    replyTo: nullableText('The address to which the sender wants replies.'),
    subject: text('The subject.'),
    text: text('The text body.'),
    html: text('The HTML body; empty when the message has none.'),
    isTruncated: Type.Boolean({
      description:
        'Whether text or html was truncated at 256 KiB; GET /v1/messages/{id} with messageId returns them in full.',
    }),
    rfcMessageId: nullableText('The Message-ID with its angle brackets.'),
    inReplyTo: nullableText('The Message-ID of the message to which this one replies.'),
    references: Type.Array(Type.String(), {
      description: 'The Message-IDs of the References field, with their angle brackets.',
    }),
    attachments: Type.Array(Attachment, { description: 'The files in the message.' }),
    createdAt: time('When the mail was captured.'),
  },
  { description: 'Mail that the sandbox captured instead of sending it.' },
)
export type CapturedMessage = Static<typeof CapturedMessage>

export const InboundMail = Type.Object(
  {
    from: mailbox('The sender: one address, or Name <address>.'),
    to: mailboxes('One or several inbox addresses.', {
      maxItems: RECIPIENTS_MAX,
    }),
    subject: line({ maxLength: SUBJECT_LENGTH_MAX, description: 'The subject.' }),
    text: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'A text body.' })),
    html: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'An HTML body.' })),
    inReplyTo: Type.Optional(
      Type.String({
        maxLength: IDENTIFIER_LENGTH_MAX,
        pattern: IDENTIFIER_PATTERN,
        [RULE]: 'must be one Message-ID with its angle brackets',
        description:
          'The Message-ID of the message to which this one replies, with its angle brackets.',
      }),
    ),
    attachments: Type.Optional(attachmentsToSend),
  },
  { additionalProperties: false, description: 'Simulated incoming mail.' },
)
export type InboundMail = Static<typeof InboundMail>

export const ReceivedMail = Type.Object(
  {
    data: Type.Array(Message, { description: 'The messages, in the order of the recipients.' }),
    total: Type.Integer({ minimum: 0, description: 'Number of messages.' }),
  },
  { description: 'The messages that the inboxes received.' },
)
export type ReceivedMail = Static<typeof ReceivedMail>

const ONLY_THEN = 'This route exists only while the service delivers to its sandbox.'

export const sandboxOperations = {
  'sandbox.list': {
    method: 'GET',
    path: '/v1/sandbox/messages',
    tag: 'Sandbox',
    summary: 'List captured mail.',
    notes: ONLY_THEN,
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    isOfSandbox: true,
    success: {
      status: 200,
      description: 'A page of captured mail.',
      schema: listOf(CapturedMessage, 'A page of captured mail.'),
    },
    errors: ['not_found'],
  },
  'sandbox.clear': {
    method: 'DELETE',
    path: '/v1/sandbox/messages',
    tag: 'Sandbox',
    summary: 'Clear captured mail.',
    notes: ONLY_THEN,
    auth: 'key',
    isRateLimited: true,
    isOfSandbox: true,
    success: { status: 204, description: 'The captured mail is deleted; inboxes are unchanged.' },
    errors: ['not_found'],
  },
  'sandbox.receive': {
    method: 'POST',
    path: '/v1/sandbox/inbound',
    tag: 'Sandbox',
    summary: 'Simulate incoming mail.',
    notes: `Describe the mail with JSON fields, or send a complete message as message/rfc822. To simulate a delivery report, send it to the reversePath of captured mail; no inbox then receives a message. ${ONLY_THEN}`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      from: Type.Optional(
        emailAddress('Only with message/rfc822: the envelope sender; the From address if omitted.'),
      ),
      to: Type.Optional(
        Type.Array(emailAddress('One address, or Name <address>.'), {
          description:
            'Only with message/rfc822: the envelope recipients (repeat the parameter); the To and Cc addresses if omitted.',
        }),
      ),
    }),
    body: InboundMail,
    bodyMediaTypes: ['application/json', 'message/rfc822'],
    hasLargeBody: true,
    isOfSandbox: true,
    success: {
      status: 201,
      description: 'The messages that the inboxes received.',
      schema: ReceivedMail,
    },
    errors: ['not_found', 'delivery_pending', 'storage_quota_reached'],
  },
} as const satisfies Record<string, Operation>
