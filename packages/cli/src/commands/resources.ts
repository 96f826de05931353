// Commands that are one operation each: the operation, its arguments, and how its response is shown.
// Everything else about them is in the contract.

import type { OperationCommand } from './fields.ts'

export type Group = {
  readonly name: string
  /** For the list of commands. */
  readonly summary: string
  readonly commands: readonly OperationCommand[]
}

const item = { kind: 'item' } as const
const list = (...columns: string[]) => ({ kind: 'list', columns }) as const
const done = (text: string) => ({ kind: 'done', text }) as const
/** The command asks for confirmation first. */
const gone = (text: string) => ({ shown: done(text), needsConfirmation: true }) as const

export const mailGroups: readonly Group[] = [
  {
    name: 'inbox',
    summary: 'Create, list, change and delete inboxes.',
    commands: [
      {
        name: 'create',
        operation: 'inboxes.create',
        shown: item,
        arguments: { mailboxName: 'mailbox-name' },
      },
      {
        name: 'list',
        operation: 'inboxes.list',
        shown: {
          kind: 'list',
          columns: ['id', 'address', 'displayName', 'createdAt', 'unreadThreads', 'lastMessageAt'],
          optional: ['createdAt', 'displayName'],
        },
      },
      { name: 'get', operation: 'inboxes.get', shown: item },
      { name: 'update', operation: 'inboxes.update', shown: item },
      { name: 'delete', operation: 'inboxes.delete', ...gone('{} is deleted.') },
    ],
  },
  {
    name: 'threads',
    summary: 'List and read threads, mark them as read or unread.',
    commands: [],
  },
  {
    name: 'messages',
    summary: 'List and read messages, see their deliveries.',
    commands: [
      {
        name: 'list',
        operation: 'messages.list',
        shown: list('id', 'createdAt', 'direction', 'fromAddr', 'toAddr', 'subject', 'status'),
        isOfInbox: true,
      },
      { name: 'raw', operation: 'messages.raw', shown: { kind: 'content' } },
      {
        name: 'deliveries',
        operation: 'messages.deliveries',
        shown: list(
          'recipient',
          'status',
          'attempts',
          'lastAttemptAt',
          'nextAttemptAt',
          'response',
        ),
      },
    ],
  },
  {
    name: 'events',
    summary: 'The log of events.',
    commands: [
      {
        name: 'list',
        operation: 'events.list',
        isDefault: true,
        shown: list(
          'event_id',
          'occurred_at',
          'event',
          'inbox_id',
          'message.from',
          'message.subject',
        ),
      },
    ],
  },
  {
    name: 'sandbox',
    summary: 'See captured mail, and let test mail arrive.',
    commands: [
      {
        name: 'list',
        operation: 'sandbox.list',
        shown: list('id', 'createdAt', 'from', 'to', 'subject'),
      },
      { name: 'clear', operation: 'sandbox.clear', shown: done('The captured mail is deleted.') },
    ],
  },
  {
    name: 'quarantine',
    summary: 'Mail held back by sender rules.',
    commands: [
      {
        name: 'list',
        operation: 'quarantine.list',
        shown: list('id', 'createdAt', 'fromAddr', 'toAddr', 'subject', 'reason'),
      },
      { name: 'get', operation: 'quarantine.get', shown: item },
      { name: 'raw', operation: 'quarantine.raw', shown: { kind: 'content' } },
      { name: 'release', operation: 'quarantine.release', shown: item },
      { name: 'delete', operation: 'quarantine.delete', ...gone('{} is removed.') },
    ],
  },
]

export const accountGroups: readonly Group[] = [
  {
    name: 'pods',
    summary: 'Containers of inboxes.',
    commands: [
      { name: 'create', operation: 'pods.create', shown: item },
      {
        name: 'list',
        operation: 'pods.list',
        shown: list('id', 'clientId', 'name', 'isDefault', 'createdAt'),
      },
      { name: 'get', operation: 'pods.get', shown: item, arguments: { idOrClientId: 'pod' } },
      { name: 'update', operation: 'pods.update', shown: item, arguments: { idOrClientId: 'pod' } },
      {
        name: 'delete',
        operation: 'pods.delete',
        ...gone('{} is deleted.'),
        arguments: { idOrClientId: 'pod' },
      },
    ],
  },
  {
    name: 'domains',
    summary: 'Your own domains and the DNS records they need.',
    commands: [
      {
        name: 'create',
        operation: 'domains.create',
        shown: { kind: 'domain' },
        arguments: { domain: 'domain' },
      },
      {
        name: 'list',
        operation: 'domains.list',
        shown: list('id', 'domain', 'status', 'podId', 'lastCheckedAt'),
      },
      { name: 'get', operation: 'domains.get', shown: { kind: 'domain' } },
      { name: 'update', operation: 'domains.update', shown: { kind: 'domain' } },
      { name: 'delete', operation: 'domains.delete', ...gone('{} is deleted.') },
      { name: 'zone-file', operation: 'domains.zoneFile', shown: { kind: 'content' } },
    ],
  },
  {
    name: 'webhooks',
    summary: 'URLs that receive events.',
    commands: [
      {
        name: 'create',
        operation: 'webhooks.create',
        shown: item,
        arguments: { url: 'endpoint' },
      },
      {
        name: 'list',
        operation: 'webhooks.list',
        shown: list('id', 'url', 'enabled', 'eventTypes', 'createdAt'),
      },
      { name: 'get', operation: 'webhooks.get', shown: item, arguments: { id: 'webhook' } },
      {
        name: 'update',
        operation: 'webhooks.update',
        shown: item,
        arguments: { id: 'webhook', url: 'endpoint' },
      },
      {
        name: 'delete',
        operation: 'webhooks.delete',
        ...gone('{} is deleted.'),
        arguments: { id: 'webhook' },
      },
      {
        name: 'rotate',
        operation: 'webhooks.rotateSecret',
        shown: item,
        arguments: { id: 'webhook' },
      },
      { name: 'test', operation: 'webhooks.test', shown: item, arguments: { id: 'webhook' } },
      {
        name: 'deliveries',
        operation: 'webhooks.deliveries',
        shown: list(
          'id',
          'eventType',
          'status',
          'attempts',
          'lastAttemptAt',
          'responseStatus',
          'error',
        ),
        arguments: { id: 'webhook' },
      },
      {
        name: 'retry',
        operation: 'webhooks.retryDelivery',
        shown: item,
        arguments: { id: 'webhook', deliveryId: 'delivery' },
      },
    ],
  },
  {
    name: 'sender-rules',
    summary: 'Allow or block senders.',
    commands: [
      {
        name: 'create',
        operation: 'senderRules.create',
        shown: item,
        arguments: { type: 'type', value: 'sender' },
      },
      {
        name: 'list',
        operation: 'senderRules.list',
        shown: list('id', 'type', 'value', 'podId', 'inboxId', 'requireVerified'),
      },
      { name: 'get', operation: 'senderRules.get', shown: item, arguments: { id: 'rule' } },
      {
        name: 'delete',
        operation: 'senderRules.delete',
        shown: done('{} is removed.'),
        arguments: { id: 'rule' },
      },
    ],
  },
  {
    name: 'suppressions',
    summary: 'Addresses the account must not write to.',
    commands: [
      {
        name: 'create',
        operation: 'suppressions.create',
        shown: item,
        arguments: { address: 'address' },
      },
      {
        name: 'list',
        operation: 'suppressions.list',
        shown: list('address', 'type', 'reason', 'createdAt'),
      },
      {
        name: 'delete',
        operation: 'suppressions.delete',
        shown: done('The account may write to {} again.'),
      },
    ],
  },
  {
    name: 'keys',
    summary: 'API keys of the account.',
    commands: [
      { name: 'create', operation: 'apiKeys.create', shown: item },
      {
        name: 'list',
        operation: 'apiKeys.list',
        shown: list('id', 'name', 'tokenPrefix', 'last4', 'createdAt', 'lastUsedAt'),
      },
      {
        name: 'delete',
        operation: 'apiKeys.delete',
        ...gone('{} is revoked.'),
        alias: 'revoke',
        arguments: { id: 'key' },
      },
    ],
  },
]

/** Commands without a group. */
export const whoami: OperationCommand = { name: 'whoami', operation: 'account.get', shown: item }
export const search: OperationCommand = {
  name: 'search',
  operation: 'messages.search',
  shown: { kind: 'search' },
  arguments: { q: 'query' },
}
