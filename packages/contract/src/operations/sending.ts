// Operations on what is sent: sending itself, deliveries and suppressions.

import { Type } from '#schema.ts'
import { listOf, PageQuery, pageProperties } from '#shapes/page.ts'
import { Delivery, SendMessage, SentMessage } from '#shapes/sending.ts'
import { CreateSuppression, Suppression } from '#shapes/suppression.ts'
import { emailAddress } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

export const sendingOperations = {
  'inboxes.send': {
    method: 'POST',
    path: '/v1/inboxes/{id}/send',
    tag: 'Messages',
    summary: 'Send a message from an inbox.',
    notes:
      'Repeating the request with its Idempotency-Key within 24 hours returns the first answer and sends nothing; the same key with another request is refused. A refused request uses up nothing and may be corrected under its key. With threadId the message is a reply: the subject is that of the thread, In-Reply-To names the last message and References all of them (a message that came without a Message-ID cannot be named, and its sender’s mail program cannot thread the reply), the thread is marked read, and where the thread began with mail that only copied the inbox (deliveryRole cc) its sender is added to cc unless the account has suppressed the address. As multipart/form-data, text fields have the same names, cc is repeated, and files come in repeated attachments fields. After ten answers to programs within an hour in one thread no message is sent in it until the first of them is an hour old (loop_suspected).',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: SendMessage,
    bodyMediaTypes: ['application/json', 'multipart/form-data'],
    hasLargeBody: true,
    needsIdempotencyKey: true,
    success: {
      status: 200,
      description: 'The message is stored and queued, now or by an earlier request.',
      schema: SentMessage,
    },
    errors: [
      'missing_idempotency_key',
      'idempotency_key_reused',
      'feature_requires_paid_plan',
      'recipient_suppressed',
      'loop_suspected',
      'rate_limit_exceeded',
      'cold_outreach_limit',
    ],
  },
  'messages.deliveries': {
    method: 'GET',
    path: '/v1/messages/{id}/deliveries',
    tag: 'Messages',
    summary: 'List deliveries of a message.',
    notes: 'One entry per recipient with its status. A received message has none.',
    auth: 'key',
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
  'suppressions.list': {
    method: 'GET',
    path: '/v1/suppressions',
    tag: 'Suppressions',
    summary: 'List suppressed addresses.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      address: Type.Optional(
        emailAddress(
          'Only this address; one that is not listed gives an empty list. A plus sign is written %2B.',
        ),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of suppressions.',
      schema: listOf(Suppression, 'A page of suppressions.'),
    },
    errors: [],
  },
  'suppressions.create': {
    method: 'POST',
    path: '/v1/suppressions',
    tag: 'Suppressions',
    summary: 'Suppress an address.',
    notes: 'The account no longer sends to the address. An existing entry is returned unchanged.',
    auth: 'key',
    isRateLimited: true,
    body: CreateSuppression,
    success: { status: 201, description: 'The entry of the address.', schema: Suppression },
    errors: [],
  },
  'suppressions.delete': {
    method: 'DELETE',
    path: '/v1/suppressions/{address}',
    tag: 'Suppressions',
    summary: 'Remove an address from the suppression list.',
    auth: 'key',
    isRateLimited: true,
    parameters: { address: 'An address that is on the list.' },
    success: { status: 204, description: 'The address is off the list.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
