// Commands that are a single operation: the operation, its arguments, and how its response is
// shown. The contract defines everything else.

import { hostname } from 'node:os'
import type { ClientOperationId } from '@mailroom/contract/operations.ts'
import type { Shown } from '#base/show.ts'

export type OperationCommand = {
  readonly name: string
  readonly operation: ClientOperationId
  /** How the response is shown; by default all fields of JSON, or other content unchanged. */
  readonly shown?: Shown
  /** A sentence for a response without content; `{}` is replaced with the last argument. */
  readonly done?: string
  /** Argument names by field. Path parameters are always arguments. */
  readonly arguments?: Readonly<Record<string, string>>
  /** The inbox in the path is an option; it defaults to the account's only inbox. */
  readonly isOfInbox?: true
  readonly alias?: string
  /** Irreversible commands (always, or with the named option) ask a person, or need --yes. */
  readonly needsConfirmation?: true | 'permanent'
  /** Values of fields that are not given, as they would be given. */
  readonly defaults?: Readonly<Record<string, string>>
  /** The command runs if the name of the group is used alone. */
  readonly isDefault?: true
}

export type Group = {
  readonly name: string
  readonly summary: string
  /** Argument names by field, for every command that has the field. */
  readonly arguments?: Readonly<Record<string, string>>
  readonly commands: readonly OperationCommand[]
}

/**
 * Column names separated by spaces, in order of display. A narrow terminal omits the optional ones,
 * starting with the first.
 */
const list = (columns: string, optional = '') =>
  ({ kind: 'list', columns: columns.split(' '), optional: optional.split(' ') }) as const
const gone = (done: string) => ({ done, needsConfirmation: true }) as const

/** How long a claim lasts unless it is renewed. */
export const LEASE_DEFAULT = '60s'
const claimDefaults = { owner: hostname(), leaseSeconds: LEASE_DEFAULT }

export const mailGroups: readonly Group[] = [
  {
    name: 'inbox',
    summary: 'Create, list, change and delete inboxes.',
    commands: [
      { name: 'create', operation: 'inboxes.create', arguments: { mailboxName: 'mailbox-name' } },
      {
        name: 'claim',
        operation: 'inboxes.claimThreads',
        defaults: claimDefaults,
        shown: {
          ...list('threadId fence expiresAt leaseToken thread.subject'),
          none: 'No unread thread is free to claim.',
        },
        isOfInbox: true,
      },
      {
        name: 'list',
        operation: 'inboxes.list',
        shown: list(
          'id address displayName createdAt unreadThreads lastMessageAt',
          'createdAt displayName',
        ),
      },
      { name: 'get', operation: 'inboxes.get' },
      { name: 'limits', operation: 'inboxes.limits' },
      { name: 'update', operation: 'inboxes.update' },
      { name: 'delete', operation: 'inboxes.delete', ...gone('{} is deleted.') },
    ],
  },
  {
    name: 'threads',
    summary: 'List, read, mark, label, assign, snooze, claim, delete and restore threads.',
    arguments: { id: 'thread' },
    commands: [
      { name: 'labels', operation: 'threads.labels', shown: list('label') },
      { name: 'claim', operation: 'threads.claim', defaults: claimDefaults },
      { name: 'renew', operation: 'threads.renewClaim' },
      { name: 'release', operation: 'threads.releaseClaim' },
      {
        name: 'delete',
        operation: 'threads.delete',
        done: '{} is deleted.',
        needsConfirmation: 'permanent',
      },
      { name: 'restore', operation: 'threads.restore' },
    ],
  },
  {
    name: 'messages',
    summary: 'List, read and delete messages, and see their deliveries.',
    commands: [
      {
        name: 'list',
        operation: 'messages.list',
        shown: list('id createdAt direction fromAddr toAddr subject status', 'toAddr direction'),
        isOfInbox: true,
      },
      { name: 'raw', operation: 'messages.raw' },
      { name: 'headers', operation: 'messages.headers', shown: list('name value') },
      {
        name: 'scheduled',
        operation: 'inboxes.scheduled',
        shown: list('id scheduledAt toAddr subject'),
        isOfInbox: true,
      },
      { name: 'cancel', operation: 'messages.cancel' },
      { name: 'delete', operation: 'messages.delete', ...gone('{} is deleted.') },
      {
        name: 'deliveries',
        operation: 'messages.deliveries',
        shown: list(
          'recipient status attempts lastAttemptAt nextAttemptAt response',
          'nextAttemptAt',
        ),
      },
    ],
  },
  {
    name: 'drafts',
    summary: 'Write, change and send drafts.',
    arguments: { id: 'draft', attachmentId: 'attachment' },
    commands: [
      { name: 'create', operation: 'drafts.create', isOfInbox: true },
      {
        name: 'list',
        operation: 'drafts.list',
        shown: list('id updatedAt to subject'),
        isOfInbox: true,
      },
      { name: 'get', operation: 'drafts.get' },
      { name: 'update', operation: 'drafts.update' },
      { name: 'delete', operation: 'drafts.delete', ...gone('{} is deleted.') },
      { name: 'detach', operation: 'drafts.removeAttachment' },
      { name: 'send', operation: 'drafts.send' },
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
        defaults: { order: 'desc' },
        shown: list('event_id occurred_at event inbox_id message.from message.subject', 'inbox_id'),
      },
    ],
  },
  {
    name: 'sandbox',
    summary: 'See captured mail, and inject test mail.',
    commands: [
      {
        name: 'list',
        operation: 'sandbox.list',
        shown: list('id createdAt from to subject', 'to'),
      },
      { name: 'clear', operation: 'sandbox.clear', done: 'The captured mail is deleted.' },
    ],
  },
  {
    name: 'quarantine',
    summary: 'Mail that sender rules quarantined.',
    commands: [
      {
        name: 'list',
        operation: 'quarantine.list',
        shown: list('id createdAt fromAddr toAddr subject reason', 'toAddr'),
      },
      { name: 'get', operation: 'quarantine.get' },
      { name: 'raw', operation: 'quarantine.raw' },
      { name: 'release', operation: 'quarantine.release' },
      { name: 'delete', operation: 'quarantine.delete', ...gone('{} is removed.') },
    ],
  },
]

export const accountGroups: readonly Group[] = [
  {
    name: 'settings',
    summary: 'The settings of the account.',
    commands: [
      { name: 'get', operation: 'account.get', isDefault: true },
      { name: 'update', operation: 'account.update' },
    ],
  },
  {
    name: 'pods',
    summary: 'Containers of inboxes.',
    arguments: { idOrClientId: 'pod' },
    commands: [
      { name: 'create', operation: 'pods.create' },
      {
        name: 'list',
        operation: 'pods.list',
        shown: list('id clientId name isDefault createdAt', 'isDefault createdAt'),
      },
      { name: 'get', operation: 'pods.get' },
      { name: 'update', operation: 'pods.update' },
      { name: 'delete', operation: 'pods.delete', ...gone('{} is deleted.') },
    ],
  },
  {
    name: 'exports',
    summary: 'Exports of mail to files; `export` creates one.',
    arguments: { id: 'export' },
    commands: [
      {
        name: 'list',
        operation: 'exports.list',
        shown: list('id status format inboxId podId progress.done progress.total createdAt'),
      },
      { name: 'get', operation: 'exports.get' },
      { name: 'delete', operation: 'exports.delete', ...gone('{} is deleted.') },
    ],
  },
  {
    name: 'imports',
    summary: 'Imports of mail from files; `import` starts one.',
    arguments: { id: 'import' },
    commands: [
      {
        name: 'list',
        operation: 'imports.list',
        shown: list('id status format inboxId imported duplicates failed createdAt'),
      },
      { name: 'get', operation: 'imports.get' },
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
        shown: list('id domain status podId lastCheckedAt', 'podId lastCheckedAt'),
      },
      { name: 'get', operation: 'domains.get', shown: { kind: 'domain' } },
      { name: 'update', operation: 'domains.update', shown: { kind: 'domain' } },
      { name: 'delete', operation: 'domains.delete', ...gone('{} is deleted.') },
      { name: 'zone-file', operation: 'domains.zoneFile' },
    ],
  },
  {
    name: 'webhooks',
    summary: 'URLs that receive events.',
    arguments: { id: 'webhook', deliveryId: 'delivery', url: 'endpoint' },
    commands: [
      { name: 'create', operation: 'webhooks.create' },
      {
        name: 'list',
        operation: 'webhooks.list',
        shown: list('id url enabled eventTypes createdAt', 'createdAt eventTypes'),
      },
      { name: 'get', operation: 'webhooks.get' },
      { name: 'update', operation: 'webhooks.update' },
      { name: 'delete', operation: 'webhooks.delete', ...gone('{} is deleted.') },
      { name: 'rotate', operation: 'webhooks.rotateSecret' },
      { name: 'test', operation: 'webhooks.test' },
      {
        name: 'deliveries',
        operation: 'webhooks.deliveries',
        shown: list(
          'id eventType status attempts lastAttemptAt responseStatus error',
          'attempts error',
        ),
      },
      { name: 'delivery', operation: 'webhooks.getDelivery' },
      { name: 'retry', operation: 'webhooks.retryDelivery' },
    ],
  },
  {
    name: 'sender-rules',
    summary: 'Allow or block senders.',
    arguments: { id: 'rule' },
    commands: [
      {
        name: 'create',
        operation: 'senderRules.create',
        arguments: { type: 'type', value: 'sender' },
      },
      {
        name: 'list',
        operation: 'senderRules.list',
        shown: list('id type value podId inboxId requireVerified', 'requireVerified podId inboxId'),
      },
      { name: 'get', operation: 'senderRules.get' },
      { name: 'delete', operation: 'senderRules.delete', done: '{} is removed.' },
    ],
  },
  {
    name: 'policy',
    summary: 'Who may write to an inbox, whom it may write to, and what it may send.',
    arguments: { id: 'rule' },
    commands: [
      { name: 'show', operation: 'policy.get', isDefault: true, shown: { kind: 'policy' } },
      { name: 'set', operation: 'policy.replace', shown: { kind: 'policy' } },
      {
        name: 'add-rule',
        operation: 'policy.createRule',
        arguments: { direction: 'direction', type: 'type', value: 'address-or-domain' },
      },
      { name: 'remove-rule', operation: 'policy.deleteRule', done: '{} is removed.' },
      {
        name: 'audit',
        operation: 'policy.audit',
        shown: list(
          'createdAt direction decision inboxId sender recipients actor.id',
          'actor.id inboxId',
        ),
      },
    ],
  },
  {
    name: 'suppressions',
    summary: 'Addresses that the account does not send to.',
    commands: [
      { name: 'create', operation: 'suppressions.create', arguments: { address: 'address' } },
      {
        name: 'list',
        operation: 'suppressions.list',
        shown: list('address type reason createdAt'),
      },
      {
        name: 'delete',
        operation: 'suppressions.delete',
        done: 'The account may send to {} again.',
      },
    ],
  },
  {
    name: 'reviews',
    summary: 'Mail that is held until an approver decides.',
    arguments: { id: 'review' },
    commands: [
      {
        name: 'list',
        operation: 'reviews.list',
        shown: list('id status equalCount to subject createdAt expiresAt', 'createdAt'),
      },
      { name: 'show', operation: 'reviews.get', shown: { kind: 'review' } },
      {
        name: 'approve',
        operation: 'reviews.approve',
        arguments: { id: 'review', digest: 'digest' },
      },
      { name: 'reject', operation: 'reviews.reject' },
      {
        name: 'edit',
        operation: 'reviews.edit',
        arguments: { id: 'review', digest: 'digest' },
        shown: { kind: 'review' },
      },
      {
        name: 'comment',
        operation: 'reviews.comment',
        arguments: { id: 'review', text: 'text' },
      },
    ],
  },
  {
    name: 'approvers',
    summary: 'People who decide about held mail.',
    commands: [
      { name: 'create', operation: 'approvers.create', arguments: { name: 'name' } },
      {
        name: 'list',
        operation: 'approvers.list',
        shown: list('id name email createdAt', 'createdAt'),
      },
      {
        name: 'delete',
        operation: 'approvers.delete',
        ...gone('{} is deleted.'),
        arguments: { id: 'approver' },
      },
    ],
  },
  {
    name: 'connections',
    summary: 'Assistants that are connected by OAuth.',
    commands: [
      {
        name: 'list',
        operation: 'connections.list',
        shown: list('id clientName scopes createdAt lastUsedAt expiresAt', 'createdAt expiresAt'),
      },
      {
        name: 'delete',
        operation: 'connections.delete',
        ...gone('{} is revoked.'),
        alias: 'revoke',
        arguments: { id: 'connection' },
      },
      {
        name: 'steps',
        operation: 'connections.listSteps',
        shown: list('occurredAt step isOk error clientName userAgent', 'userAgent'),
      },
      {
        name: 'clients',
        operation: 'connections.listClients',
        shown: list('id name redirectUris createdAt', 'createdAt'),
      },
      {
        name: 'create-client',
        operation: 'connections.createClient',
        arguments: { name: 'name' },
      },
      {
        name: 'delete-client',
        operation: 'connections.deleteClient',
        ...gone('{} is deleted.'),
        arguments: { id: 'client' },
      },
    ],
  },
  {
    name: 'keys',
    summary: 'API keys of the account.',
    commands: [
      { name: 'create', operation: 'apiKeys.create' },
      {
        name: 'list',
        operation: 'apiKeys.list',
        shown: list('id name tokenPrefix last4 createdAt lastUsedAt', 'createdAt tokenPrefix'),
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

export const usage: OperationCommand = {
  name: 'usage',
  operation: 'usage.get',
  shown: list('inboxId address received sent failed storedBytes', 'inboxId'),
}
export const whoami: OperationCommand = { name: 'whoami', operation: 'account.get' }
export const search: OperationCommand = {
  name: 'search',
  operation: 'messages.search',
  shown: { kind: 'search' },
  arguments: { q: 'query' },
}
