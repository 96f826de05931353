// Sender rules: which mail an account accepts.

import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { line, nullableLine, nullableText, nullableTime, oneOf, text, time } from './text.ts'
import { senderRuleTypes } from './vocabulary.ts'

const VALUE_LENGTH_MAX = 320
const ID_LENGTH_MAX = 255
const NOTE_LENGTH_MAX = 500

export const ruleTerms = {
  expiresAt: nullableTime(
    'When the rule ends; null for never. A rule that has ended decides nothing and is listed until it is removed.',
  ),
  note: nullableText('A note for people; null for none.'),
}

export const newRuleTerms = {
  expiresAt: Type.Optional(
    nullableTime('When the rule ends: a future time, at most 36500 days ahead. Default: never.'),
  ),
  note: Type.Optional(
    nullableLine({ maxLength: NOTE_LENGTH_MAX, description: 'A note for people. Default: none.' }),
  ),
}

const type = oneOf(
  senderRuleTypes,
  'Whether mail from the sender is accepted (allow) or quarantined (block).',
)

export const SenderRule = Type.Object(
  {
    id: text('The id.'),
    type,
    value: text(
      'An address or a domain in lower case, the domain in A-labels. A domain includes its subdomains; with the prefix *. it means only the subdomains.',
    ),
    podId: nullableText(
      'The pod that the rule applies to; for a rule for one inbox, the pod of that inbox. Null for the whole account.',
    ),
    inboxId: nullableText('The inbox that the rule applies to; null for all.'),
    requireVerified: Type.Boolean({
      description:
        'For allow rules: whether the rule applies only to mail with a true authentication.verifiedFrom. Always false for block rules, which block all mail that claims to be from the sender.',
    }),
    ...ruleTerms,
    createdAt: time('When the rule was created.'),
  },
  { description: 'A rule for mail from an address or a domain.' },
)
export type SenderRule = Static<typeof SenderRule>

const CreateSenderRule = Type.Object(
  {
    type,
    value: line({
      maxLength: VALUE_LENGTH_MAX,
      description:
        'One address, Name <address>, a domain that is not a public suffix (it includes its subdomains), or *. and a domain (only its subdomains).',
    }),
    podId: Type.Optional(
      line({
        maxLength: ID_LENGTH_MAX,
        description: 'Id or clientId of the pod that the rule applies to.',
      }),
    ),
    inboxId: Type.Optional(
      line({
        maxLength: ID_LENGTH_MAX,
        description:
          'Id of the inbox that the rule applies to. With podId, the inbox must be in that pod.',
      }),
    ),
    requireVerified: Type.Optional(
      Type.Boolean({
        description:
          'For allow rules only. If true (the default), mail must prove its sender; false also accepts mail that only claims to be from the sender.',
      }),
    ),
    ...newRuleTerms,
  },
  { additionalProperties: false },
)

export const senderRuleOperations = {
  'senderRules.list': {
    method: 'GET',
    path: '/v1/sender-rules',
    tag: 'Senders',
    summary: 'List sender rules.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: Type.Object({
      type: Type.Optional(oneOf(senderRuleTypes, 'Only rules of this type.')),
      podId: Type.Optional(
        text(
          'Only rules for the pod with this id or clientId or for one of its inboxes. For an unknown pod, the list is empty.',
        ),
      ),
      inboxId: Type.Optional(
        text('Only rules for this inbox. For an unknown inbox, the list is empty.'),
      ),
      value: Type.Optional(text('Only rules for exactly this address or domain.')),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of sender rules.',
      schema: listOf(SenderRule, 'A page of sender rules.'),
    },
    errors: [],
  },
  'senderRules.create': {
    method: 'POST',
    path: '/v1/sender-rules',
    tag: 'Senders',
    summary: 'Create a sender rule.',
    notes:
      'Allows or blocks mail from an address or a domain. The rule applies to mail that arrives from now on. When several rules match, an inbox takes precedence over its pod and a pod over the account, then an address over a domain, a longer domain over a shorter one, then block over allow. Allow rules match the From address; block rules match the From address and the envelope sender. If the rule already exists, it is returned with requireVerified, expiresAt and note updated.',
    auth: 'key-or-approver',
    isRateLimited: true,
    body: CreateSenderRule,
    success: { status: 201, description: 'The rule.', schema: SenderRule },
    errors: ['approver_required', 'invalid_pod', 'sender_rule_limit_reached'],
  },
  'senderRules.get': {
    method: 'GET',
    path: '/v1/sender-rules/{id}',
    tag: 'Senders',
    summary: 'Get a sender rule.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of a sender rule.' },
    success: { status: 200, description: 'The rule.', schema: SenderRule },
    errors: [],
  },
  'senderRules.delete': {
    method: 'DELETE',
    path: '/v1/sender-rules/{id}',
    tag: 'Senders',
    summary: 'Remove a sender rule.',
    notes: 'Mail in quarantine stays there until it is released or expires.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of a sender rule.' },
    success: { status: 204, description: 'The rule is removed.' },
    errors: ['approver_required'],
  },
} as const satisfies Record<string, Operation>
