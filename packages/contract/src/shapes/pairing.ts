// Pairing: a client without a key asks for one, and a person who is signed in gives it.

import { type Static, Type } from '#schema.ts'
import { count, displayName, nullableText, text, time } from './text.ts'

const CLIENT_NAME_LENGTH_MAX = 100
const REQUEST_ID_LENGTH_MAX = 100

export const StartPairing = Type.Object(
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
    userCode: text('The code that the client shows, for the person who approves it to compare.'),
    verifyUrl: text('The console page where a signed-in person decides.'),
    expiresInSeconds: count('How long the pairing can be approved.'),
  },
  { description: 'A pairing that awaits a decision.' },
)
export type StartedPairing = Static<typeof StartedPairing>

const requestId = Type.String({
  minLength: 1,
  maxLength: REQUEST_ID_LENGTH_MAX,
  description: 'The deviceCode that pairing.start returned.',
})

export const PollPairing = Type.Object({ requestId }, { additionalProperties: false })
export const PollPairingByUrl = Type.Object({ requestId })

export const ReadyPairing = Type.Object(
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

export const PendingPairing = Type.Object(
  {
    status: Type.Unsafe<'pending'>({
      type: 'string',
      enum: ['pending'],
      description: 'The pairing awaits a decision.',
    }),
  },
  { description: 'A pairing without a decision.' },
)

export const Pairing = Type.Object(
  {
    userCode: text('The code that the client shows.'),
    clientName: nullableText('The name that the client gave itself; it is not verified.'),
    clientAddress: text('The IP address of the client.'),
    createdAt: time('When the pairing was started.'),
    expiresAt: time('When the pairing expires.'),
  },
  { description: 'A client that asks to be paired with an account.' },
)
export type Pairing = Static<typeof Pairing>
