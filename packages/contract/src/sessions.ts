// Sessions of the console.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { nullableText, oneOf, text, time } from './text.ts'
import { plans } from './vocabulary.ts'

const API_KEY_LENGTH_MAX = 200

export const CreateSession = Type.Object(
  {
    apiKey: Type.String({
      minLength: 1,
      maxLength: API_KEY_LENGTH_MAX,
      description: 'An active API key, or the token of an approver.',
    }),
  },
  { additionalProperties: false },
)
export type CreateSession = Static<typeof CreateSession>

const SessionKey = Type.Object({
  id: text('The id.'),
  name: nullableText('A display name chosen by the client.'),
  tokenPrefix: text('The first 7 characters of the token, to recognise it by.'),
  last4: text('The last 4 characters of the token, to recognise it by.'),
})

const SessionApprover = Type.Object({
  id: text('The id.'),
  name: text('The display name.'),
})

export const Session = Type.Object(
  {
    account: Type.Object(
      {
        id: text('The id.'),
        name: text('The display name.'),
        plan: oneOf(plans, 'The plan decides how many inboxes the account may have.'),
      },
      { description: 'The account of the session.' },
    ),
    key: Type.Union([SessionKey, Type.Null()], {
      description: 'The key used to sign in; null for an approver. Revoking it ends the session.',
    }),
    approver: Type.Union([SessionApprover, Type.Null()], {
      description:
        'The approver who signed in; null for an API key. Deleting the approver ends the session.',
    }),
    csrfToken: text('The value for the header X-CSRF-Token, which every request except GET needs.'),
    expiresAt: time('When the session ends.'),
    publicUrl: text(
      'The URL of the service, without a slash at the end, as other programs reach it.',
    ),
    isSandbox: Type.Boolean({
      description: 'Whether the sandbox captures mail instead of sending it.',
    }),
    inboxDomain: text('The domain of an inbox that is created without a domain.'),
    version: text('The version of the service.'),
  },
  { description: 'A session of the console.' },
)
export type Session = Static<typeof Session>

const path = '/auth/session'

export const sessionOperations = {
  'session.create': {
    method: 'POST',
    path,
    tag: 'Console',
    summary: 'Sign in to the console.',
    notes:
      'Sets a session cookie that scripts cannot read. The session lasts 12 hours, or until the key is revoked or the approver deleted. It has the permissions of that key or approver. Pages of other origins are refused.',
    auth: 'none',
    isRateLimited: false,
    body: CreateSession,
    success: { status: 201, description: 'The session.', schema: Session },
    setsCookie: true,
    errors: ['unauthorized', 'forbidden_origin', 'rate_limit_exceeded'],
  },
  'session.get': {
    method: 'GET',
    path,
    tag: 'Console',
    summary: 'Get the session.',
    auth: 'session',
    isRateLimited: false,
    success: { status: 200, description: 'The session.', schema: Session },
    errors: [],
  },
  'session.delete': {
    method: 'DELETE',
    path,
    tag: 'Console',
    summary: 'Sign out of the console.',
    auth: 'session',
    isRateLimited: false,
    success: { status: 204, description: 'The session has ended.' },
    setsCookie: true,
    errors: [],
  },
} as const satisfies Record<string, Operation>
