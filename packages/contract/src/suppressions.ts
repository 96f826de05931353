// Suppressions: addresses that an account does not send to, and the unsubscribe links that add
// them.

import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { emailAddress, nullableText, oneOf, text, time } from './text.ts'
import { suppressionTypes } from './vocabulary.ts'

export const Suppression = Type.Object(
  {
    id: text('The id.'),
    address: text('The address; compared ignoring case.'),
    type: oneOf(
      suppressionTypes,
      'Why the address is suppressed: mail bounced, the recipient complained or unsubscribed, or a client added it.',
    ),
    reason: nullableText('The reason, such as the response of a refusing server.'),
    createdAt: time('When the address was suppressed.'),
  },
  { description: 'An address that the account does not send to.' },
)
export type Suppression = Static<typeof Suppression>

const CreateSuppression = Type.Object(
  { address: emailAddress('One address, or Name <address>.') },
  { additionalProperties: false },
)

const unsubscribing = {
  token: 'The token in an unsubscribe link of a message. It does not expire.',
} as const

export const suppressionOperations = {
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
          'Only this address; the list is empty if it is not suppressed. Write a plus sign as %2B.',
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
    success: {
      status: 201,
      description: 'The suppression entry for the address.',
      schema: Suppression,
    },
    errors: ['suppression_limit_reached'],
  },
  'suppressions.delete': {
    method: 'DELETE',
    path: '/v1/suppressions/{address}',
    tag: 'Suppressions',
    summary: 'Remove an address from the suppression list.',
    auth: 'key',
    isRateLimited: true,
    parameters: { address: 'An address that is on the list.' },
    success: { status: 204, description: 'The address was removed from the list.' },
    errors: [],
  },
  'unsubscribe.show': {
    method: 'GET',
    path: '/unsubscribe/{token}',
    tag: 'Suppressions',
    summary: 'Show the unsubscribe page.',
    notes:
      'Asks the recipient to confirm. Opening the page changes nothing, because programs follow links in mail.',
    auth: 'none',
    isRateLimited: false,
    parameters: unsubscribing,
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
    parameters: unsubscribing,
    success: { status: 200, description: 'A confirmation page.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<string, Operation>
