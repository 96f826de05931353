// Accounts, their keys, sessions, pairings and statistics.

import { type Static, Type } from '#schema.ts'
import { filterModes, plans, statsRanges } from '#vocabulary.ts'
import {
  count,
  displayName,
  line,
  nullableCount,
  nullableText,
  nullableTime,
  oneOf,
  text,
  time,
} from './text.ts'

const NAME_LENGTH_MAX = 200

const apiKeyProperties = {
  id: text('Assigned by the service.'),
  name: nullableText('A display name chosen by the client.'),
  tokenPrefix: text('The first 7 characters of the token, to recognise it by.'),
  last4: text('The last 4 characters of the token, to recognise it by.'),
  createdAt: time('When the key was created.'),
  lastUsedAt: nullableTime('When the key was last used; null if never.'),
}

export const ApiKey = Type.Object(apiKeyProperties, {
  description: 'An API key. Every key has full access to all pods of the account.',
})
export type ApiKey = Static<typeof ApiKey>

export const NewApiKey = Type.Object(
  { ...apiKeyProperties, token: text('The secret token. It is shown only in this response.') },
  { description: 'A new API key with its token.' },
)
export type NewApiKey = Static<typeof NewApiKey>

export const CreateApiKey = Type.Object(
  { name: Type.Optional(line({ maxLength: NAME_LENGTH_MAX, description: 'For display.' })) },
  { additionalProperties: false },
)
export type CreateApiKey = Static<typeof CreateApiKey>

export const Account = Type.Object(
  {
    id: text('Assigned by the service.'),
    name: text('For display.'),
    plan: oneOf(plans, 'The plan decides how many inboxes the account may have.'),
    createdAt: time('When the account was created.'),
  },
  { description: 'A tenant of the service: keys, pods, inboxes and mail belong to one account.' },
)
export type Account = Static<typeof Account>

export const NewAccount = Type.Object(
  { account: Account, apiKey: NewApiKey },
  { description: 'A new account with its first key; the token is shown only here.' },
)
export type NewAccount = Static<typeof NewAccount>

const name = line({ minLength: 1, maxLength: NAME_LENGTH_MAX, description: 'For display.' })
const plan = oneOf(plans, 'The plan decides how many inboxes the account may have.')

export const CreateAccount = Type.Object({ name, plan }, { additionalProperties: false })
export type CreateAccount = Static<typeof CreateAccount>

export const UpdateAccount = Type.Object(
  { name: Type.Optional(name), plan: Type.Optional(plan) },
  { additionalProperties: false },
)
export type UpdateAccount = Static<typeof UpdateAccount>

const filterMode = oneOf(
  filterModes,
  'Accepts mail from everyone except blocked senders (none), or only from allowed senders (allowlist).',
)

export const OwnAccount = Type.Object(
  {
    id: text('Assigned by the service.'),
    name: text('For display.'),
    plan: oneOf(plans, 'The plan decides how many inboxes the account may have.'),
    filterMode,
    createdAt: time('When the account was created.'),
  },
  { description: 'The account that a key belongs to.' },
)
export type OwnAccount = Static<typeof OwnAccount>

export const UpdateOwnAccount = Type.Object({ filterMode }, { additionalProperties: false })
export type UpdateOwnAccount = Static<typeof UpdateOwnAccount>

export const Me = Type.Object(
  {
    accountId: text('The account that the key belongs to.'),
    name: text('The display name of the account.'),
    plan: oneOf(plans, 'The plan decides how many inboxes the account may have.'),
    apiKeyScope: oneOf(['account'], 'The scope of the key: the whole account.'),
    keyId: text('The id of the key that made the request.'),
  },
  { description: 'The account and the key of the request.' },
)
export type Me = Static<typeof Me>

const counts = {
  received: count('Messages that arrived.'),
  sent: count('Messages accepted by the servers of all recipients.'),
  failed: count('Messages that failed for at least one recipient, including later bounces.'),
}

const StatsBucket = Type.Object(
  {
    at: time('When the interval begins.'),
    ...counts,
    latencyMsP50: nullableCount(
      'Median time from acceptance to sent, within ten percent; null without sent messages.',
    ),
    latencyMsP95: nullableCount('The 95th percentile of the same time.'),
  },
  { description: 'An interval.' },
)

export const Stats = Type.Object(
  {
    range: oneOf(statsRanges, 'The range of the figures.'),
    bucketSeconds: count('The length of each interval.'),
    buckets: Type.Array(StatsBucket, {
      description: 'Oldest first; the last interval is still open.',
    }),
    totals: Type.Object(counts, { description: 'The sums over all intervals.' }),
    inboxes: count('Inboxes of the account now.'),
    unreadThreads: count('Unread threads in them now.'),
    storedBytes: count('Bytes of mail that the account stores now, including quarantined mail.'),
    storedBytesLimit: nullableCount(
      'The storage quota in bytes. Mail to the account is refused while it is reached; null without a quota.',
    ),
    asOf: time('Everything up to this time is counted.'),
  },
  { description: 'Figures of the account’s mail.' },
)
export type Stats = Static<typeof Stats>

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
