// Operations on sender rules, the filter mode and the quarantine.

import { Type } from '#schema.ts'
import { Me, OwnAccount, UpdateOwnAccount } from '#shapes/account.ts'
import { Message } from '#shapes/message.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { CreateSenderRule, QuarantinedMessage, SenderRule } from '#shapes/sender.ts'
import { oneOf, text } from '#shapes/text.ts'
import { senderRuleTypes } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const quarantined = { id: 'The id of a quarantined message.' }

export const senderOperations = {
  'senderRules.list': {
    method: 'GET',
    path: '/v1/sender-rules',
    tag: 'Senders',
    summary: 'List sender rules.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      type: Type.Optional(oneOf(senderRuleTypes, 'Only rules of this type.')),
      podId: Type.Optional(
        text(
          'Only rules for the pod with this id or clientId or for one of its inboxes. An unknown pod gives an empty list.',
        ),
      ),
      inboxId: Type.Optional(
        text('Only rules for this inbox. An unknown inbox gives an empty list.'),
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
      'Allows or blocks mail from an address or a domain. The rule applies to mail that arrives from now on. When several rules match, an address takes precedence over a domain, a longer domain over a shorter one, then an inbox over its pod over the account, then block over allow. Allow rules match the From address; block rules match the From address and the envelope sender. If the rule already exists, it is returned with requireVerified updated.',
    auth: 'key',
    isRateLimited: true,
    body: CreateSenderRule,
    success: { status: 201, description: 'The rule.', schema: SenderRule },
    errors: ['invalid_pod', 'sender_rule_limit_reached'],
  },
  'senderRules.get': {
    method: 'GET',
    path: '/v1/sender-rules/{id}',
    tag: 'Senders',
    summary: 'Get a sender rule.',
    auth: 'key',
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
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a sender rule.' },
    success: { status: 204, description: 'The rule is removed.' },
    errors: [],
  },
  'account.get': {
    method: 'GET',
    path: '/v1/account',
    tag: 'Account',
    summary: 'Get the account.',
    auth: 'key',
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
  'account.update': {
    method: 'PATCH',
    path: '/v1/account',
    tag: 'Account',
    summary: 'Update the account.',
    notes:
      'With the filter mode allowlist, only mail from senders that a rule allows reaches an inbox; all other mail is quarantined. The change applies to mail that arrives from now on.',
    auth: 'key',
    isRateLimited: true,
    body: UpdateOwnAccount,
    success: { status: 200, description: 'The account as it is now.', schema: OwnAccount },
    errors: [],
  },
  'quarantine.list': {
    method: 'GET',
    path: '/v1/quarantine',
    tag: 'Senders',
    summary: 'List quarantined mail.',
    notes: 'Quarantined mail is kept for 30 days. It causes no event and appears in no other list.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      inboxId: Type.Optional(
        text('Only mail for this inbox. An unknown inbox gives an empty list.'),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of quarantined messages.',
      schema: listOf(QuarantinedMessage, 'A page of quarantined messages.'),
    },
    errors: [],
  },
  'quarantine.get': {
    method: 'GET',
    path: '/v1/quarantine/{id}',
    tag: 'Senders',
    summary: 'Get a quarantined message.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 200, description: 'The quarantined message.', schema: QuarantinedMessage },
    errors: [],
  },
  'quarantine.raw': {
    method: 'GET',
    path: '/v1/quarantine/{id}/raw',
    tag: 'Senders',
    summary: 'Download a quarantined message.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: {
      status: 200,
      description: 'The message, byte for byte.',
      mediaType: 'message/rfc822',
    },
    errors: [],
  },
  'quarantine.release': {
    method: 'POST',
    path: '/v1/quarantine/{id}/release',
    tag: 'Senders',
    summary: 'Release a quarantined message.',
    notes:
      'The inbox receives the message now, with its thread and a message.received event. If the inbox already has the same message, that one is returned. Sender rules do not change, so they apply to the next message of the sender.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 200, description: 'The message in the inbox.', schema: Message },
    errors: [],
  },
  'quarantine.delete': {
    method: 'DELETE',
    path: '/v1/quarantine/{id}',
    tag: 'Senders',
    summary: 'Delete a quarantined message.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 204, description: 'The quarantined message is removed.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
