// Accounts, as the operator of the service sees them, and as their own keys do.

import { type Static, Type } from '#schema.ts'
import { filterModes, plans } from '#vocabulary.ts'
import { NewApiKey } from './api-key.ts'
import { line, oneOf, text, time } from './text.ts'

const NAME_LENGTH_MAX = 200

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
