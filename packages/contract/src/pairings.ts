// Pairings: a client without a key requests one, and a person approves it in the console.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, displayName, nullableText, text, time } from './text.ts'

const CLIENT_NAME_LENGTH_MAX = 100
const REQUEST_ID_LENGTH_MAX = 100

const StartPairing = Type.Object(
  {
    clientName: Type.Optional(
      displayName({
        maxLength: CLIENT_NAME_LENGTH_MAX,
        description: 'Shown to the person who decides; the key gets this name.',
      }),
    ),
  },
  { additionalProperties: false },
)

export const StartedPairing = Type.Object(
  {
    requestId: text('The secret that this client polls with.'),
    userCode: text('The code that the client shows, for comparison by the person who approves it.'),
    verifyUrl: text('The console page where a signed-in person decides.'),
    expiresInSeconds: count('Seconds until the pairing expires.'),
  },
  { description: 'A pairing that awaits a decision.' },
)
export type StartedPairing = Static<typeof StartedPairing>

const requestId = Type.String({
  minLength: 1,
  maxLength: REQUEST_ID_LENGTH_MAX,
  description: 'The deviceCode that pairing.start returned.',
})

const PollPairing = Type.Object({ requestId }, { additionalProperties: false })
const PollPairingByUrl = Type.Object({ requestId })

const ReadyPairing = Type.Object(
  {
    status: Type.Unsafe<'ready'>({
      type: 'string',
      enum: ['ready'],
      description: 'The pairing was approved.',
    }),
    apiKey: text(
      'A new API key of the account that approved the pairing. It is returned only once.',
    ),
  },
  { description: 'The key of a pairing.' },
)

const PendingPairing = Type.Object(
  {
    status: Type.Unsafe<'pending'>({
      type: 'string',
      enum: ['pending'],
      description: 'The pairing awaits a decision.',
    }),
  },
  { description: 'A pairing that awaits a decision.' },
)

export const Pairing = Type.Object(
  {
    userCode: text('The code that the client shows.'),
    clientName: nullableText('The name that the client gave itself; it is not verified.'),
    clientAddress: text('The IP address of the client that started the pairing.'),
    createdAt: time('When the pairing was started.'),
    expiresAt: time('When the pairing expires.'),
  },
  { description: 'A client that asks to be paired with an account.' },
)
export type Pairing = Static<typeof Pairing>

const parameters = {
  userCode: 'The code that the client shows, in any case, with or without the hyphen.',
} as const

export const pairingOperations = {
  'pairing.start': {
    method: 'POST',
    path: '/auth/cli/start',
    tag: 'Console',
    summary: 'Start a pairing.',
    notes:
      'A client without a key requests one, and a person approves the request in the console. The client shows userCode and verifyUrl and polls every few seconds, for up to ten minutes. Limited to ten requests a minute per IP address.',
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
    summary: 'Poll a pairing.',
    notes:
      'Returns the key once the pairing is approved, in one response only. The response is not_found if the pairing was denied, has expired or was already used. api_key_limit_reached means that the account has too many keys; the key is created once there is room. Limited to 60 requests a minute per IP address.',
    auth: 'none',
    isRateLimited: false,
    body: PollPairing,
    success: { status: 200, description: 'The pairing was approved.', schema: ReadyPairing },
    otherSuccess: {
      status: 202,
      description: 'The pairing awaits a decision.',
      schema: PendingPairing,
    },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.pollByUrl': {
    method: 'GET',
    path: '/auth/cli/poll',
    tag: 'Console',
    summary: 'Poll a pairing by URL.',
    notes:
      'Prefer POST: proxies log URLs, and anyone who finds the requestId in a log before you poll can obtain the key.',
    auth: 'none',
    isRateLimited: false,
    query: PollPairingByUrl,
    success: { status: 200, description: 'The pairing was approved.', schema: ReadyPairing },
    otherSuccess: {
      status: 202,
      description: 'The pairing awaits a decision.',
      schema: PendingPairing,
    },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.get': {
    method: 'GET',
    path: '/auth/cli/requests/{userCode}',
    tag: 'Console',
    summary: 'Get a pairing by its code.',
    notes: 'Limited to 20 codes a minute per account, including approvals and denials.',
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
    summary: 'Approve a pairing.',
    notes:
      'The client receives a key with full access to the account. The key is created at its next poll.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The client can fetch its key.' },
    errors: ['api_key_limit_reached'],
  },
  'pairing.deny': {
    method: 'POST',
    path: '/auth/cli/requests/{userCode}/deny',
    tag: 'Console',
    summary: 'Deny a pairing.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The pairing is denied.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
