// Operations of the link by which the recipient of a message ends further ones.

import type { Operation } from './operation.ts'

const parameters = {
  token: 'Of a link that the service put on a message; it holds for good.',
} as const

export const unsubscribeOperations = {
  'unsubscribe.show': {
    method: 'GET',
    path: '/unsubscribe/{token}',
    tag: 'Suppressions',
    summary: 'Ask the recipient of a message whether to unsubscribe.',
    notes: 'Changes nothing, for programs follow links in mail.',
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
    summary: 'Put the address that a message went to on the suppression list of its account.',
    notes:
      'What mail programs post for the header field List-Unsubscribe-Post (RFC 8058), and the button of the page. The body is not read, whatever its type. Where the address is on the list already, the entry that stands stays as it is.',
    auth: 'none',
    isRateLimited: false,
    parameters,
    success: { status: 200, description: 'A page that says so.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<string, Operation>
