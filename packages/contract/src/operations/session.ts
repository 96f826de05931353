// Operations of the session that a person has with the console.

import { CreateSession, Session } from '#shapes/session.ts'
import type { Operation } from './operation.ts'

const path = '/auth/session'

export const sessionOperations = {
  'session.create': {
    method: 'POST',
    path,
    tag: 'Console',
    summary: 'Sign in to the console.',
    notes:
      'Sets a session cookie that scripts cannot read. The session lasts 12 hours, or until the key is revoked. Pages of other origins are refused.',
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
    success: { status: 204, description: 'The cookie is gone.' },
    setsCookie: true,
    errors: [],
  },
} as const satisfies Record<string, Operation>
