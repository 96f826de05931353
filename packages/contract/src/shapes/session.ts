// Sessions of the console: what a person who signed in with a key is told of it.

import { type Static, Type } from '#schema.ts'
import { plans } from '#vocabulary.ts'
import { nullableText, oneOf, text, time } from './text.ts'

const API_KEY_LENGTH_MAX = 200

export const CreateSession = Type.Object(
  {
    apiKey: Type.String({
      minLength: 1,
      maxLength: API_KEY_LENGTH_MAX,
      description: 'An active API key.',
    }),
  },
  { additionalProperties: false },
)
export type CreateSession = Static<typeof CreateSession>

export const Session = Type.Object(
  {
    account: Type.Object(
      {
        id: text('Assigned by the service.'),
        name: text('For display.'),
        plan: oneOf(plans, 'The plan decides how many inboxes the account may have.'),
      },
      { description: 'The account that is signed in to.' },
    ),
    key: Type.Object(
      {
        id: text('Assigned by the service.'),
        name: nullableText('A display name chosen by the client.'),
        tokenPrefix: text('The first 7 characters of the token, to recognise it by.'),
        last4: text('The last 4 characters of the token, to recognise it by.'),
      },
      { description: 'The key that was signed in with. Revoking it ends the session.' },
    ),
    csrfToken: text('The value for the header X-CSRF-Token, which every request except GET needs.'),
    expiresAt: time('When the session ends.'),
    isSandbox: Type.Boolean({
      description: 'Whether the sandbox captures mail instead of sending it.',
    }),
    version: text('The version of the service.'),
  },
  { description: 'A session of the console.' },
)
export type Session = Static<typeof Session>
