// Operations of the session that a person has with the console.

import { CreateSession, Session } from '#shapes/session.ts'
import type { Operation } from './operation.ts'

const path = '/auth/session'

export const sessionOperations = {
  'session.create': {
    method: 'POST',
    path,
    tag: 'Console',
    summary: 'Sign in to the console with a key.',
    notes:
      'Sets a cookie that scripts cannot read, good for 12 hours and for as long as the key is. Refused from pages of other origins.',
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
    summary: 'Read the session that the cookie names.',
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
    success: { status: 204, description: 'The cookie is gone.' },
    setsCookie: true,
    errors: [],
  },
} as const satisfies Record<string, Operation>
