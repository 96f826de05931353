// Operations by which a client gets a key of its own from a person who is signed in.

import {
  Pairing,
  PendingPairing,
  PollPairing,
  PollPairingByUrl,
  ReadyPairing,
  StartedPairing,
  StartPairing,
} from '#shapes/pairing.ts'
import type { Operation } from './operation.ts'

const parameters = {
  userCode: 'The code that the client shows, in any case, with or without the hyphen.',
} as const

export const pairingOperations = {
  'pairing.start': {
    method: 'POST',
    path: '/auth/cli/start',
    tag: 'Console',
    summary: 'Ask for a key, to be approved in the console.',
    notes:
      'The client shows userCode and verifyUrl and polls every few seconds, for ten minutes at most. Ten a minute from one address.',
    auth: 'none',
    isRateLimited: false,
    body: StartPairing,
    success: { status: 200, description: 'The pairing.', schema: StartedPairing },
    errors: ['rate_limit_exceeded'],
  },
  'pairing.poll': {
    method: 'POST',
    path: '/auth/cli/poll',
    tag: 'Console',
    summary: 'Ask whether a pairing was approved, and take its key.',
    notes:
      'The key is in one answer only. A pairing that was denied, has expired or was taken is not_found; api_key_limit_reached says that the account has no room for the key, which is made once it has. Sixty a minute from one address.',
    auth: 'none',
    isRateLimited: false,
    body: PollPairing,
    success: { status: 200, description: 'It was approved.', schema: ReadyPairing },
    otherSuccess: { status: 202, description: 'Nobody has decided yet.', schema: PendingPairing },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.pollByUrl': {
    method: 'GET',
    path: '/auth/cli/poll',
    tag: 'Console',
    summary: 'The same for clients that put the requestId into the URL.',
    notes:
      'Proxies log URLs, and whoever reads the requestId before the client has its key can take that: use POST.',
    auth: 'none',
    isRateLimited: false,
    query: PollPairingByUrl,
    success: { status: 200, description: 'It was approved.', schema: ReadyPairing },
    otherSuccess: { status: 202, description: 'Nobody has decided yet.', schema: PendingPairing },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.get': {
    method: 'GET',
    path: '/auth/cli/requests/{userCode}',
    tag: 'Console',
    summary: 'Read which client asks with a code.',
    notes: 'Twenty codes a minute for an account, with those that are approved and denied.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The pairing.', schema: Pairing },
    errors: [],
  },
  'pairing.approve': {
    method: 'POST',
    path: '/auth/cli/requests/{userCode}/approve',
    tag: 'Console',
    summary: 'Give the client with this code a key of the account.',
    notes: 'The key reads and writes in every pod. It is made when the client takes it.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The client may take its key.' },
    errors: ['api_key_limit_reached'],
  },
  'pairing.deny': {
    method: 'POST',
    path: '/auth/cli/requests/{userCode}/deny',
    tag: 'Console',
    summary: 'Refuse the client with this code a key.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The pairing is over.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
