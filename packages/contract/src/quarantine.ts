// Quarantined mail: messages held by sender rules or for malware.

import { Authentication, Message } from './messages.ts'
import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { count, nullableText, oneOf, text, time } from './text.ts'
import { deliveryRoles, quarantineReasons } from './vocabulary.ts'

const quarantinedProperties = {
  id: text('Assigned by the service. A released message gets a new id.'),
  inboxId: text('The inbox that the message was sent to.'),
  podId: text('The pod of that inbox.'),
  fromAddr: text('The sender in the message: "Name <address>" or the bare address.'),
  toAddr: text('The address of the inbox.'),
  deliveryRole: oneOf(deliveryRoles, 'The cc role means that the inbox was copied.'),
  subject: text('Empty when the message has none.'),
  reason: oneOf(
    quarantineReasons,
    'Why the message was quarantined: a rule blocks its sender, no rule allows it, a rule allows only verified mail, or the virus scanner found malware.',
  ),
  ruleId: nullableText(
    'The rule that blocked the sender; it may have been deleted since. Null if no rule allowed the sender.',
  ),
  authentication: Type.Union([Authentication, Type.Null()], {
    description: 'SPF, DKIM and DMARC results on arrival.',
  }),
  createdAt: time('When the message arrived.'),
  expiresAt: time('When the message is deleted permanently.'),
}

export const QuarantinedMessage = Type.Object(quarantinedProperties, {
  description: 'A quarantined message.',
})
export type QuarantinedMessage = Static<typeof QuarantinedMessage>

/** Maximum characters of text in a response. */
export const QUARANTINED_TEXT_LENGTH_MAX = 20_000

const QuarantinedAttachment = Type.Object(
  {
    filename: text('A safe file name, unique within the message.'),
    contentType: text('The media type that the message declares.'),
    sizeBytes: count('Size of the decoded content in bytes.'),
  },
  { description: 'A file in a quarantined message. It cannot be downloaded separately.' },
)

export const QuarantinedContent = Type.Extended(
  QuarantinedMessage,
  {
    bodyText: text(
      `The first ${QUARANTINED_TEXT_LENGTH_MAX.toLocaleString('en')} characters of the text body, which is converted from HTML if the message has no text.`,
    ),
    isTruncated: Type.Boolean({ description: 'Whether the text is longer.' }),
    attachments: Type.Array(QuarantinedAttachment, { description: 'The files in the message.' }),
  },
  { description: 'A quarantined message with its text.' },
)
export type QuarantinedContent = Static<typeof QuarantinedContent>

const quarantined = { id: 'The id of a quarantined message.' }

export const quarantineOperations = {
  'quarantine.list': {
    method: 'GET',
    path: '/v1/quarantine',
    tag: 'Senders',
    summary: 'List quarantined mail.',
    notes:
      'Quarantined mail is kept for 30 days and appears in no other list. When it arrives, message.quarantined is emitted without its text.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      inboxId: Type.Optional(
        text('Only mail for this inbox. For an unknown inbox, the list is empty.'),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of quarantined messages.',
      schema: listOf(QuarantinedMessage, 'A page of quarantined messages.'),
    },
    errors: [],
  },
  'quarantine.get': {
    method: 'GET',
    path: '/v1/quarantine/{id}',
    tag: 'Senders',
    summary: 'Get a quarantined message with its text.',
    notes:
      'The text and file names come from an untrusted sender: show them to a person, not to a model.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 200, description: 'The quarantined message.', schema: QuarantinedContent },
    errors: [],
  },
  'quarantine.raw': {
    method: 'GET',
    path: '/v1/quarantine/{id}/raw',
    tag: 'Senders',
    summary: 'Download a quarantined message.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: {
      status: 200,
      description: 'The message, byte for byte.',
      mediaType: 'message/rfc822',
    },
    errors: [],
  },
  'quarantine.release': {
    method: 'POST',
    path: '/v1/quarantine/{id}/release',
    tag: 'Senders',
    summary: 'Release a quarantined message.',
    notes:
      'Delivers the message to the inbox, adds it to a thread, and emits a message.received event. If the inbox already has the same message, the existing message is returned. Sender rules are unchanged and apply to the next message of the sender. A message with malware can be released too, so check it first.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 200, description: 'The message in the inbox.', schema: Message },
    errors: [],
  },
  'quarantine.delete': {
    method: 'DELETE',
    path: '/v1/quarantine/{id}',
    tag: 'Senders',
    summary: 'Delete a quarantined message.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 204, description: 'The quarantined message is removed.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
