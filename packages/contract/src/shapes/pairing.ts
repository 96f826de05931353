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
        description: 'Shown to whoever decides; its key gets this name.',
      }),
    ),
  },
  { additionalProperties: false },
)

export const StartedPairing = Type.Object(
  {
    requestId: text('For asking whether it was approved; known to this client alone.'),
    userCode: text('To be shown by the client and compared by the person who approves it.'),
    verifyUrl: text('Where a person who is signed in to the console decides.'),
    expiresInSeconds: count('How long there is to decide.'),
  },
  { description: 'A pairing that waits for a decision.' },
)
export type StartedPairing = Static<typeof StartedPairing>

const requestId = Type.String({
  minLength: 1,
  maxLength: REQUEST_ID_LENGTH_MAX,
  description: 'Of the pairing, as its start was answered.',
})

export const PollPairing = Type.Object({ requestId }, { additionalProperties: false })
export const PollPairingByUrl = Type.Object({ requestId })

export const ReadyPairing = Type.Object(
  {
    status: Type.Unsafe<'ready'>({
      type: 'string',
      enum: ['ready'],
      description: 'It was approved.',
    }),
    apiKey: text('A new key of the account that approved it. It is given out once.'),
  },
  { description: 'The key of a pairing.' },
)

export const PendingPairing = Type.Object(
  {
    status: Type.Unsafe<'pending'>({
      type: 'string',
      enum: ['pending'],
      description: 'Nobody has decided yet.',
    }),
  },
  { description: 'A pairing without a decision.' },
)

export const Pairing = Type.Object(
  {
    userCode: text('As the client shows it.'),
    clientName: nullableText('What the client calls itself; anybody may call itself so.'),
    clientAddress: text('The IP address that the client asked from.'),
    createdAt: time('When the client asked.'),
    expiresAt: time('Until when there is time to decide.'),
  },
  { description: 'A client that asks to be paired with an account.' },
)
export type Pairing = Static<typeof Pairing>
