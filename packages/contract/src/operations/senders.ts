// Operations on who may write to an account's inboxes: its rules, its filter mode, its quarantine.

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
    summary: 'List the sender rules of the account, newest first.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      type: Type.Optional(oneOf(senderRuleTypes, 'Only rules of this type.')),
      podId: Type.Optional(
        text(
          'Only rules that are limited to this pod or an inbox of it, by its id or clientId; an unknown one gives an empty list.',
        ),
      ),
      inboxId: Type.Optional(
        text('Only rules that are limited to this inbox; an unknown one gives an empty list.'),
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
    summary: 'Let in or keep out mail from an address or a domain.',
    notes:
      'It holds for mail that arrives from then on. Of the rules that fit a message, one for an address counts before one for a domain, one for a longer domain before one for a shorter, then one for the inbox before one for its pod before one for the account, then block before allow. Allow looks at the address in From, block at that and at the reverse-path of the envelope. Where the same rule is there already, it is returned, with requireVerified as it is asked for now.',
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
    summary: 'Read a sender rule.',
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
    notes: 'Mail that it kept out stays in quarantine until it is released or expires.',
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
    summary: 'Read the account that the key belongs to.',
    auth: 'key',
    isRateLimited: true,
    success: { status: 200, description: 'The account.', schema: OwnAccount },
    errors: [],
  },
  'account.me': {
    method: 'GET',
    path: '/v1/me',
    tag: 'Account',
    summary: 'Read who makes the request: the account and the key.',
    auth: 'key',
    isRateLimited: true,
    success: { status: 200, description: 'The account and the key.', schema: Me },
    errors: [],
  },
  'account.update': {
    method: 'PATCH',
    path: '/v1/account',
    tag: 'Account',
    summary: 'Choose whose mail reaches the inboxes of the account.',
    notes:
      'With allowlist, mail reaches an inbox only where a sender rule allows its sender; all other mail goes to quarantine. It holds for mail that arrives from then on.',
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
    summary: 'List the mail that was kept out of the inboxes of the account, newest first.',
    notes: 'It is kept for 30 days, and tells of itself in no event and no other list.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      inboxId: Type.Optional(text('Only mail for this inbox; an unknown one gives an empty list.')),
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
    summary: 'Read what is known of a quarantined message.',
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
    summary: 'Read a quarantined message as it came over the wire.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: {
      status: 200,
      description: 'The message, as messages.raw gives it.',
      mediaType: 'message/rfc822',
    },
    errors: [],
  },
  'quarantine.release': {
    method: 'POST',
    path: '/v1/quarantine/{id}/release',
    tag: 'Senders',
    summary: 'Let a quarantined message into its inbox.',
    notes:
      'It is received now, as if no rule had been there: with its thread and the event message.received. Where the inbox has the same message already, that one is returned. The rules stay as they are; one for the sender decides about the next.',
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
    summary: 'Remove a quarantined message for good.',
    auth: 'key',
    isRateLimited: true,
    parameters: quarantined,
    success: { status: 204, description: 'The quarantined message is removed.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
