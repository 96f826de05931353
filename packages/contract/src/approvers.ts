// Approvers: the people who decide about mail held by a policy. Their token is not an API key: an
// agent with every key of the account can neither approve its own mail nor loosen its policy.

import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import { displayName, emailAddress, nullableText, nullableTime, text, time } from './text.ts'

const NAME_LENGTH_MAX = 200

const approverProperties = {
  id: text('The id.'),
  name: text('The display name.'),
  email: nullableText('The address that is notified of held mail; null for none.'),
  webhookUrl: nullableText(
    'The URL that receives events of reviews; null for none. Always null for API keys.',
  ),
  webhookDisabledAt: nullableTime(
    'When the webhook was disabled after failing for five days; null if it is enabled.',
  ),
  createdAt: time('When the approver was created.'),
}

export const Approver = Type.Object(approverProperties, {
  description: 'A person who decides about held mail.',
})
export type Approver = Static<typeof Approver>

export const NewApprover = Type.Extended(
  Approver,
  {
    token: text('The secret token. It is shown only in this response.'),
    webhookSecret: Type.Optional(
      text('The signing secret of webhookUrl. It is shown only in this response.'),
    ),
  },
  { description: 'A new approver with its token and, if it has a webhook, the signing secret.' },
)
export type NewApprover = Static<typeof NewApprover>

const CreateApprover = Type.Object(
  {
    name: displayName({
      minLength: 1,
      maxLength: NAME_LENGTH_MAX,
      description: 'The display name.',
    }),
    email: Type.Optional(
      emailAddress(
        'The address that is notified of held mail. It must not be on a domain of this service.',
      ),
    ),
    // An invalid URL has its own error code (invalid_webhook_url), so the schema only requires text.
    webhookUrl: Type.Optional(
      text(
        'Posts the events review.created, review.edited, review.commented and review.decided to this https:// URL, with the headers and signatures of webhooks. API keys of the account can neither see nor change the URL.',
      ),
    ),
  },
  { additionalProperties: false },
)

export const approverOperations = {
  'approvers.create': {
    method: 'POST',
    path: '/v1/approvers',
    tag: 'Approvers',
    summary: 'Create an approver.',
    notes:
      'The token is shown only in this response. Do not give the token to an agent whose mail the approver decides about. The first approver of an account can be created with an API key, unless the operator has reserved this (MAILROOM_FIRST_APPROVER); creating another one requires the token of an approver.',
    auth: 'key-or-approver',
    isRateLimited: true,
    body: CreateApprover,
    success: { status: 201, description: 'The new approver with the token.', schema: NewApprover },
    errors: ['approver_required', 'approver_limit_reached', 'invalid_webhook_url'],
  },
  'approvers.list': {
    method: 'GET',
    path: '/v1/approvers',
    tag: 'Approvers',
    summary: 'List approvers.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of approvers.',
      schema: listOf(Approver, 'A page of approvers.'),
    },
    errors: [],
  },
  'approvers.delete': {
    method: 'DELETE',
    path: '/v1/approvers/{id}',
    tag: 'Approvers',
    summary: 'Delete an approver.',
    notes:
      'The token stops working immediately, console sessions opened with it end, and its webhook gets no further events. Only the operator can delete the last approver, with `mailroom admin approver delete` on the machine of the service.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of an approver.' },
    success: { status: 204, description: 'The approver is deleted.' },
    errors: ['approver_required', 'last_approver'],
  },
} as const satisfies Record<string, Operation>
