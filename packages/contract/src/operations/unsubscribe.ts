// Operations of the link by which the recipient of a message ends further ones.

import type { Operation } from './operation.ts'

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
