// Operations on sending: sends, deliveries, suppressions, unsubscribe links.

import { Type } from '#schema.ts'
import { listOf, PageQuery, pageProperties } from '#shapes/page.ts'
import { CreateSuppression, Suppression } from '#shapes/sender.ts'
import { Delivery, SendMessage, SentMessage } from '#shapes/sending.ts'
import { emailAddress } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

export const sendingOperations = {
  'inboxes.send': {
    method: 'POST',
    path: '/v1/inboxes/{id}/send',
    tag: 'Messages',
    summary: 'Send a message from an inbox.',
    notes: [
      'For 24 hours, repeating the request with the same Idempotency-Key returns the first response and sends nothing. The same key with a different request is refused. A refused request does not use up its key: correct it and send it again.',
      'With threadId, the message is a reply. It has the subject of the thread, an In-Reply-To field with the Message-ID of the last message and a References field with all of them, and the thread is marked as read. If the thread began with a message that only copied the inbox (deliveryRole cc), the sender of that message is added to cc unless the account has suppressed the address. A message that came without a Message-ID cannot be referenced, so the mail program of its sender cannot thread the reply.',
      'With multipart/form-data, the fields have the same names. Repeat cc for each copied recipient and attachments for each file.',
      'After ten replies to automatic messages in one thread within an hour, sending in that thread fails with loop_suspected until the first of the ten is an hour old.',
    ].join('\n\n'),
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

const parameters = {
  token: 'The token in an unsubscribe link of a message. It does not expire.',
} as const

export const unsubscribeOperations = {
  'unsubscribe.show': {
    method: 'GET',
    path: '/unsubscribe/{token}',
    tag: 'Suppressions',
    summary: 'Show the unsubscribe page.',
    notes:
      'Asks the recipient to confirm. Opening the page changes nothing, because programs follow links in mail.',
    auth: 'none',
    isRateLimited: false,
    parameters,
    success: { status: 200, description: 'A page with a button.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
  'unsubscribe.confirm': {
    method: 'POST',
    path: '/unsubscribe/{token}',
    tag: 'Suppressions',
    summary: 'Unsubscribe the recipient of a message.',
    notes:
      'Puts the recipient on the suppression list of the account. Mail programs post here for List-Unsubscribe-Post (RFC 8058), as does the button of the page. The request body is ignored. An existing entry stays unchanged.',
    auth: 'none',
    isRateLimited: false,
    parameters,
    success: { status: 200, description: 'A page that confirms it.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<string, Operation>
