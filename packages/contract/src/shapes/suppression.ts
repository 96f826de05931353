// Suppressions: addresses that an account does not write to.

import { type Static, Type } from '#schema.ts'
import { suppressionTypes } from '#vocabulary.ts'
import { emailAddress, nullableText, oneOf, text, time } from './text.ts'

export const Suppression = Type.Object(
  {
    id: text('Assigned by the service.'),
    address: text('The address; compared ignoring case.'),
    type: oneOf(
      suppressionTypes,
      'Why: mail bounced, the recipient complained or unsubscribed, or a client added it.',
    ),
    reason: nullableText('The reason, such as the response of a refusing server.'),
    createdAt: time('When the address was suppressed.'),
  },
  { description: 'An address that the account does not send to.' },
)
export type Suppression = Static<typeof Suppression>

export const CreateSuppression = Type.Object(
  { address: emailAddress('One address, or Name <address>.') },
  { additionalProperties: false },
)
export type CreateSuppression = Static<typeof CreateSuppression>
