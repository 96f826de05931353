// Accounts: tenants of the service, as seen by their own keys and by the operator.

import { NewApiKey } from './api-keys.ts'
import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import { count, line, oneOf, retentionDays, text, time, undoBounds } from './text.ts'
import { filterModes, plans } from './vocabulary.ts'

const NAME_LENGTH_MAX = 200

const plan = oneOf(plans, 'The plan decides how many inboxes the account may have.')

export const Account = Type.Object(
  {
    id: text('The id.'),
    name: text('The display name.'),
    plan,
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

const name = line({ minLength: 1, maxLength: NAME_LENGTH_MAX, description: 'The display name.' })

const CreateAccount = Type.Object({ name, plan }, { additionalProperties: false })

const UpdateAccount = Type.Object(
  { name: Type.Optional(name), plan: Type.Optional(plan) },
  { additionalProperties: false },
)

const filterMode = oneOf(
  filterModes,
  'Accepts mail from everyone except blocked senders (none), or only from allowed senders (allowlist).',
)

const keptDays = retentionDays(
  'Messages are removed this many days after they were stored, unless their pod or inbox has its own setting; null to keep them.',
)

const undoSeconds = Type.Integer({
  ...undoBounds,
  description:
    'Every send waits this many seconds as a scheduled message, which can be cancelled. 0 sends immediately. Inboxes may have their own setting.',
})

export const OwnAccount = Type.Object(
  {
    id: text('The id.'),
    name: text('The display name.'),
    plan,
    inboxLimit: count('How many inboxes the plan allows, over all pods.'),
    filterMode,
    retentionDays: keptDays,
    undoSeconds,
    createdAt: time('When the account was created.'),
  },
  { description: 'The account that a key belongs to.' },
)
export type OwnAccount = Static<typeof OwnAccount>

const UpdateOwnAccount = Type.Object(
  {
    filterMode: Type.Optional(filterMode),
    retentionDays: Type.Optional(keptDays),
    undoSeconds: Type.Optional(undoSeconds),
  },
  { additionalProperties: false },
)

const Me = Type.Object(
  {
    accountId: text('The account of the key.'),
    name: text('The display name of the account.'),
    plan,
    apiKeyScope: oneOf(['account'], 'The scope of the key: the whole account.'),
    keyId: text('The id of the key that made the request.'),
    customerId: text('The same as accountId, for clients that know it by this name.'),
    mcpScopes: Type.Unsafe<null>({
      type: ['null'],
      description: 'Always null: a key is not limited to scopes.',
    }),
  },
  { description: 'The account and the key of the request.' },
)

const FEEDBACK_LENGTH_MAX = 10_000

const Feedback = Type.Object(
  {
    type: line({
      minLength: 1,
      maxLength: 100,
      description: 'The type of feedback, such as bug, idea or question.',
    }),
    message: Type.String({
      minLength: 1,
      maxLength: FEEDBACK_LENGTH_MAX,
      description: 'Feedback for the operator. Do not include secrets or mail.',
    }),
    context: Type.Optional(
      Type.Unsafe<object | string | null>({
        type: ['object', 'array', 'string', 'null'],
        description: 'Further context, as text or JSON.',
      }),
    ),
  },
  { additionalProperties: false },
)

export const accountOperations = {
  'account.get': {
    method: 'GET',
    path: '/v1/account',
    tag: 'Account',
    summary: 'Get the account.',
    auth: 'key-or-approver',
    isRateLimited: true,
    success: { status: 200, description: 'The account.', schema: OwnAccount },
    errors: [],
  },
  'account.me': {
    method: 'GET',
    path: '/v1/me',
    tag: 'Account',
    summary: 'Get the account and the key of the request.',
    auth: 'key',
    isRateLimited: true,
    success: { status: 200, description: 'The account and the key.', schema: Me },
    errors: [],
  },
  'account.sendFeedback': {
    method: 'POST',
    path: '/v1/feedback',
    tag: 'Account',
    summary: 'Send feedback to the operator of the service.',
    notes:
      'Writes one line to the operator’s log, shortened if it is long. The feedback is not stored, and no mail is sent.',
    isForOtherClients: true,
    auth: 'key',
    isRateLimited: true,
    body: Feedback,
    success: {
      status: 202,
      description: 'The feedback is in the log.',
      schema: Type.Object({ status: oneOf(['received'], 'Always received.') }),
    },
    errors: [],
  },
  'account.update': {
    method: 'PATCH',
    path: '/v1/account',
    tag: 'Account',
    summary: 'Update the account.',
    notes:
      'Omitted fields stay unchanged; at least one is required. With the filter mode allowlist, only mail from allowed senders reaches an inbox; all other mail is quarantined. The change applies to mail that arrives from now on. An approver may change the filter mode; retentionDays and undoSeconds require a key.',
    auth: 'key-or-approver',
    isRateLimited: true,
    body: UpdateOwnAccount,
    success: { status: 200, description: 'The updated account.', schema: OwnAccount },
    errors: ['approver_required', 'forbidden'],
  },
} as const satisfies Record<string, Operation>

/** Operations for the operator of the service, which respond with 404 without an operator token. */
export const adminOperations = {
  'admin.accounts.create': {
    method: 'POST',
    path: '/admin/accounts',
    tag: 'Administration',
    summary: 'Create an account with a default pod and a first API key.',
    auth: 'operator',
    isRateLimited: false,
    body: CreateAccount,
    success: { status: 201, description: 'The new account and its key.', schema: NewAccount },
    errors: [],
  },
  'admin.accounts.list': {
    method: 'GET',
    path: '/admin/accounts',
    tag: 'Administration',
    summary: 'List accounts.',
    auth: 'operator',
    isRateLimited: false,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of accounts.',
      schema: listOf(Account, 'A page of accounts.'),
    },
    errors: [],
  },
  'admin.accounts.update': {
    method: 'PATCH',
    path: '/admin/accounts/{id}',
    tag: 'Administration',
    summary: 'Update an account.',
    auth: 'operator',
    isRateLimited: false,
    parameters: { id: 'The id of an account.' },
    body: UpdateAccount,
    success: { status: 200, description: 'The updated account.', schema: Account },
    errors: [],
  },
} as const satisfies Record<string, Operation>
