// Mail of the sandbox: captured messages, and mail to inject.

import { type Static, Type } from '#schema.ts'
import { Attachment, Message } from './message.ts'
import { attachmentsToSend, SUBJECT_LENGTH_MAX } from './sending.ts'
import { emailAddress, line, MAILBOX, nullableText, RULE, text, time } from './text.ts'

const RECIPIENTS_MAX = 100
const TEXT_LENGTH_MAX = 500_000
const IDENTIFIER_LENGTH_MAX = 998

// RFC 5322 §3.6.4, as loosely as programs write it.
const IDENTIFIER_PATTERN = '^<[^<>\\s\\x00-\\x1f\\x7f-\\x9f]+>$'

export const CapturedMessage = Type.Object(
  {
    id: text('Assigned by the service.'),
    messageId: text('The id of the message in its inbox.'),
    threadId: text('The thread that the message belongs to.'),
    inboxId: text('The inbox that sent the message.'),
    from: text('The sender, "Name <address>" or the bare address.'),
    to: Type.Array(Type.String(), {
      description: 'The envelope recipients.',
    }),
    reversePath: text(
      'The envelope sender: the address that receives delivery reports for these recipients.',
    ),
    cc: Type.Array(Type.String(), { description: 'Addresses copied on the message.' }),
    replyTo: nullableText('Where the sender wants replies.'),
    subject: text('The subject.'),
    text: text('The text body.'),
    html: text('The HTML body; empty when the message has none.'),
    isTruncated: Type.Boolean({
      description:
        'Whether text or html was cut after 256 KiB; GET /v1/messages/{id} with messageId returns them whole.',
    }),
    rfcMessageId: nullableText('The Message-ID with its angle brackets.'),
    inReplyTo: nullableText('The Message-ID of the message that this one answers.'),
    references: Type.Array(Type.String(), {
      description: 'The Message-IDs of the References field, with their angle brackets.',
    }),
    attachments: Type.Array(Attachment, { description: 'The files in the message.' }),
    createdAt: time('When the mail was captured.'),
  },
  { description: 'Mail that the sandbox captured instead of sending it.' },
)
export type CapturedMessage = Static<typeof CapturedMessage>

const address = emailAddress('One address, or Name <address>.')

// With a union of the two, a validator would report the errors of both.
const recipients = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  [MAILBOX]: true,
  items: address,
  minItems: 1,
  maxItems: RECIPIENTS_MAX,
  description: 'Addresses of inboxes, one or several.',
})

export const InboundMail = Type.Object(
  {
    from: emailAddress('The sender: one address, or Name <address>.'),
    to: recipients,
    subject: line({ maxLength: SUBJECT_LENGTH_MAX, description: 'The subject.' }),
    text: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'A text body.' })),
    html: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'An HTML body.' })),
    inReplyTo: Type.Optional(
      Type.String({
        maxLength: IDENTIFIER_LENGTH_MAX,
        pattern: IDENTIFIER_PATTERN,
        [RULE]: 'must be one Message-ID with its angle brackets',
        description:
          'The Message-ID of the message that this one answers, with its angle brackets.',
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
