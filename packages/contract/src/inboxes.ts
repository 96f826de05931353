// Inboxes: email addresses, each in one pod.

import { metadataChange, metadataFilter, newMetadata, shownMetadata } from './labels.ts'
import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { SearchResult, searchProperties } from './search.ts'
import {
  count,
  displayName,
  line,
  nullableCount,
  nullableDisplayName,
  nullableLine,
  nullableText,
  nullableTime,
  retentionDays,
  text,
  time,
  undoBounds,
} from './text.ts'
import { COUNTED_MAX } from './vocabulary.ts'

const DISPLAY_NAME_LENGTH_MAX = 200
const CLIENT_ID_LENGTH_MAX = 255
const SIGNATURE_LENGTH_MAX = 2_000

const keptDays = retentionDays(
  'Messages are removed this many days after they were stored; null to use the setting of the pod or the account.',
)

const undoSeconds = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  ...undoBounds,
  description:
    'Every send waits this many seconds as a scheduled message, which can be cancelled. 0 sends immediately; null uses the setting of the account.',
})

const clientIdBounds = {
  minLength: 1,
  maxLength: CLIENT_ID_LENGTH_MAX,
  description: 'An id of your choice, unique among the inboxes of the account.',
}

const signature = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  minLength: 1,
  maxLength: SIGNATURE_LENGTH_MAX,
  description:
    'Markdown that is added to messages from the inbox, below the text and above a quote. Null for none; white space alone counts as none. Markdown that cannot be converted, because it is nested more than 50 levels deep or takes too long, is refused.',
})

const inboxProperties = {
  id: text('The id.'),
  address: text('The email address.'),
  clientId: nullableText('Chosen by the client, unique among the inboxes of the account.'),
  displayName: nullableText(
    'The name in the From field of mail from the inbox; null for the bare address.',
  ),
  podId: text('The pod of the inbox.'),
  webhookUrl: nullableText(
    'The URL that events of this inbox are posted to; null without a webhook.',
  ),
  unreadThreads: count('Number of unread threads.'),
  lastMessageAt: nullableTime(
    'When the newest message was received or accepted for sending; null without messages.',
  ),
  retentionDays: keptDays,
  effectiveRetentionDays: nullableCount(
    'The effective retention in days: the setting of the inbox, else of its pod, else of the account. Null if messages are kept forever.',
  ),
  expiresAt: nullableTime('When the inbox deletes itself with all its mail; null if never.'),
  undoSeconds,
  signature,
  metadata: shownMetadata,
  createdAt: time('When the inbox was created.'),
}

export const Inbox = Type.Object(inboxProperties, {
  description: 'An email address that belongs to exactly one pod.',
})
export type Inbox = Static<typeof Inbox>

export const ChangedInbox = Type.Extended(
  Inbox,
  {
    webhookSecret: Type.Optional(
      text('The signing secret of webhookUrl, shown only in the response that created it.'),
    ),
  },
  { description: 'The inbox, with webhookSecret if one was just created.' },
)
export type ChangedInbox = Static<typeof ChangedInbox>

const expiresAt = nullableTime(
  'When the inbox deletes itself with all its mail, as DELETE does: an ISO 8601 time in the future, at most 36500 days ahead. Null to keep the inbox.',
)

// An invalid URL has its own error code (invalid_webhook_url), so the schema only requires text.
const webhookUrl = Type.Optional(
  nullableText(
    'URL for events of this inbox only: absolute, https, port 443 or 80. Changing the URL keeps the secret; null removes the webhook.',
  ),
)

// Invalid names, pods and domains have their own error codes (invalid_mailbox_name, invalid_pod,
// invalid_domain), so the schema only requires text.
const CreateInbox = Type.Object(
  {
    mailboxName: Type.Optional(
      text(
        'Local part of the address: 3 to 30 lower-case letters, digits, dots and hyphens. Random if omitted.',
      ),
    ),
    displayName: Type.Optional(
      displayName({ maxLength: DISPLAY_NAME_LENGTH_MAX, description: 'Name shown to recipients.' }),
    ),
    clientId: Type.Optional(
      line({
        ...clientIdBounds,
        description:
          'An id of your choice, unique among the inboxes of the account. If an inbox has it, that inbox is returned unchanged.',
      }),
    ),
    podId: Type.Optional(text('Id or clientId of a pod; the default pod if omitted.')),
    domain: Type.Optional(
      text('A verified domain that the pod may use; the domain of the service if omitted.'),
    ),
    webhookUrl,
    retentionDays: Type.Optional(keptDays),
    expiresAt: Type.Optional(expiresAt),
    undoSeconds: Type.Optional(undoSeconds),
    signature: Type.Optional(signature),
    metadata: newMetadata,
  },
  { additionalProperties: false },
)

const UpdateInbox = Type.Object(
  {
    clientId: Type.Optional(nullableLine(clientIdBounds)),
    displayName: Type.Optional(
      nullableDisplayName({
        maxLength: DISPLAY_NAME_LENGTH_MAX,
        description: 'Name shown to recipients; null clears it.',
      }),
    ),
    webhookUrl,
    retentionDays: Type.Optional(keptDays),
    expiresAt: Type.Optional(expiresAt),
    undoSeconds: Type.Optional(undoSeconds),
    signature: Type.Optional(signature),
    metadata: metadataChange,
  },
  { additionalProperties: false },
)

const parameters = { id: 'The id of an inbox.' } as const

export const inboxOperations = {
  'inboxes.create': {
    method: 'POST',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'Create an inbox.',
    notes:
      'The inbox receives mail immediately. If an inbox of the account already has the clientId, nothing is created or changed: the response is 200 with that inbox. With expiresAt, the inbox deletes itself at that time and the event inbox.expired is emitted. In an account with an approver, an inbox with its own policy is kept until an approver has removed the policy. With webhookUrl, the response includes webhookSecret, which is shown only once.',
    auth: 'key',
    isRateLimited: true,
    body: CreateInbox,
    success: { status: 201, description: 'The new inbox.', schema: ChangedInbox },
    otherSuccess: {
      status: 200,
      description: 'The inbox that has the clientId.',
      schema: ChangedInbox,
    },
    errors: [
      'invalid_mailbox_name',
      'invalid_pod',
      'invalid_domain',
      'address_taken',
      'inbox_limit_reached',
      'invalid_webhook_url',
    ],
  },
  'inboxes.list': {
    method: 'GET',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'List inboxes.',
    notes: `Newest first. With metadata, total is at most ${COUNTED_MAX}.`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      address: Type.Optional(
        text(
          'Only the inbox that receives mail for this address, or an empty list if the account has none.',
        ),
      ),
      podId: Type.Optional(
        text(
          'Only inboxes in the pod with this id or clientId. For an unknown pod, the list is empty.',
        ),
      ),
      metadata: metadataFilter,
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of inboxes.',
      schema: listOf(Inbox, 'A page of inboxes.'),
    },
    errors: [],
  },
  'inboxes.get': {
    method: 'GET',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Get an inbox.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The inbox.', schema: Inbox },
    errors: [],
  },
  'inboxes.getByAddress': {
    method: 'GET',
    path: '/v1/inboxes/by-address/{address}',
    tag: 'Inboxes',
    summary: 'Get the inbox that receives mail for an address.',
    notes: 'Case and a tag (name+tag@domain) are ignored.',
    auth: 'key',
    isRateLimited: true,
    parameters: { address: 'An email address.' },
    success: { status: 200, description: 'The inbox.', schema: Inbox },
    errors: [],
  },
  'inboxes.search': {
    method: 'GET',
    path: '/v1/inboxes/{id}/search',
    tag: 'Inboxes',
    summary: 'Search the mail of one inbox.',
    notes: 'Searches one inbox as GET /v1/search does, with the same syntax of q.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    query: Type.Object({ ...searchProperties, ...pageProperties }),
    success: { status: 200, description: 'A page of matches.', schema: SearchResult },
    errors: ['invalid_query'],
  },
  'inboxes.update': {
    method: 'PATCH',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Update an inbox.',
    notes:
      'Omitted fields stay unchanged; null clears a field. The first webhookUrl creates a webhookSecret, which is shown only in this response; changing the URL keeps the secret. Setting the URL, even to the same value, enables a disabled webhook again.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateInbox,
    success: { status: 200, description: 'The updated inbox.', schema: ChangedInbox },
    errors: ['invalid_webhook_url', 'metadata_limit_reached', 'client_id_taken'],
  },
  'inboxes.createApiKey': {
    method: 'POST',
    path: '/v1/inboxes/{id}/api-keys',
    tag: 'API keys',
    summary: 'Not supported: create a key for one inbox.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'inboxes.listApiKeys': {
    method: 'GET',
    path: '/v1/inboxes/{id}/api-keys',
    tag: 'API keys',
    summary: 'Not supported: list the keys of one inbox.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'inboxes.deleteApiKey': {
    method: 'DELETE',
    path: '/v1/inboxes/{id}/api-keys/{keyId}',
    tag: 'API keys',
    summary: 'Not supported: revoke a key of one inbox.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters: { ...parameters, keyId: 'The id of a key.' },
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'inboxes.delete': {
    method: 'DELETE',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Delete an inbox with all its messages, threads and attachments.',
    notes:
      'In an account with an approver, an inbox with its own policy (modes, guards or rules) can be deleted only after an approver has removed the policy. In such an account, if the pod of the inbox has a policy, the address can be created again only in that pod.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The inbox was deleted.' },
    errors: ['approver_required'],
  },
} as const satisfies Record<string, Operation>
