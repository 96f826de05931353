// Operations on inboxes.

import { Type } from '#schema.ts'
import { ChangedInbox, CreateInbox, Inbox, UpdateInbox } from '#shapes/inbox.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { SEARCH_NOTES, SearchResult, searchProperties } from '#shapes/search.ts'
import { text } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of an inbox.' } as const

export const inboxOperations = {
  'inboxes.create': {
    method: 'POST',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'Make an inbox, which receives mail from then on.',
    notes: 'With a webhookUrl the answer has its webhookSecret, which is shown only there.',
    auth: 'key',
    isRateLimited: true,
    body: CreateInbox,
    success: { status: 201, description: 'The new inbox.', schema: ChangedInbox },
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
    summary: 'List the inboxes of the account or of one pod, newest first.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      podId: Type.Optional(text('Id or clientId of a pod; an unknown one gives an empty list.')),
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
    summary: 'Read an inbox.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The inbox.', schema: Inbox },
    errors: [],
  },
  'inboxes.search': {
    method: 'GET',
    path: '/v1/inboxes/{id}/search',
    tag: 'Inboxes',
    summary: 'Search the mail of one inbox.',
    notes: SEARCH_NOTES,
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: Type.Object({ ...searchProperties, ...pageProperties }),
    success: { status: 200, description: 'A page of what was found.', schema: SearchResult },
    errors: [],
  },
  'inboxes.update': {
    method: 'PATCH',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Change the display name or the webhookUrl of an inbox.',
    notes:
      'A field that is left out stays as it is; null clears it. With the first webhookUrl the answer has its webhookSecret; another URL keeps the secret. A webhook that was disabled goes on when its URL is given, the same one or another.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateInbox,
    success: { status: 200, description: 'The inbox as it is now.', schema: ChangedInbox },
    errors: ['invalid_webhook_url'],
  },
  'inboxes.createApiKey': {
    method: 'POST',
    path: '/v1/inboxes/{id}/api-keys',
    tag: 'API keys',
    summary: 'Refused: an inbox has no keys of its own.',
    notes:
      'Keys are of the whole account. Clients that ask for a narrower one take the refusal for "keep the key that you have".',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'Never answered by this version.' },
    errors: ['scoped_keys_not_supported'],
  },
  'inboxes.delete': {
    method: 'DELETE',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Delete an inbox with all its messages, threads and attachments, for good.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The inbox is gone.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
