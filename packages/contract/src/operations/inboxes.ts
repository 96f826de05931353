// Operations on inboxes and pods.

import { Type } from '#schema.ts'
import {
  ChangedInbox,
  CreateInbox,
  CreatePod,
  Inbox,
  Pod,
  UpdateInbox,
  UpdatePod,
} from '#shapes/inbox.ts'
import { listOf, PageQuery, pageProperties } from '#shapes/page.ts'
import { SEARCH_NOTES, SearchResult, searchProperties } from '#shapes/search.ts'
import { text } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of an inbox.' } as const

export const inboxOperations = {
  'inboxes.create': {
    method: 'POST',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'Create an inbox.',
    notes:
      'The inbox receives mail at once. With webhookUrl, the response includes webhookSecret, which is shown only there.',
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
    summary: 'List inboxes.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      podId: Type.Optional(
        text(
          'Only inboxes in the pod with this id or clientId. An unknown pod gives an empty list.',
        ),
      ),
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
    success: { status: 200, description: 'A page of matches.', schema: SearchResult },
    errors: [],
  },
  'inboxes.update': {
    method: 'PATCH',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Update an inbox.',
    notes:
      'Omitted fields stay unchanged; null clears a field. The first webhookUrl creates a webhookSecret, which is only in this response; changing the URL keeps the secret. Setting the URL, even to the same value, enables a disabled webhook again.',
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
    summary: 'Not supported: create a key for one inbox.',
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'inboxes.delete': {
    method: 'DELETE',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Delete an inbox with all its messages, threads and attachments.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The inbox is gone.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>

const podParameters = { idOrClientId: 'The id or the clientId of a pod.' } as const

export const podOperations = {
  'pods.list': {
    method: 'GET',
    path: '/v1/pods',
    tag: 'Pods',
    summary: 'List pods.',
    notes: 'The default pod comes first, then the newest.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of pods.',
      schema: listOf(Pod, 'A page of pods.'),
    },
    errors: [],
  },
  'pods.create': {
    method: 'POST',
    path: '/v1/pods',
    tag: 'Pods',
    summary: 'Create a pod.',
    auth: 'key',
    isRateLimited: true,
    body: CreatePod,
    success: { status: 201, description: 'The new pod.', schema: Pod },
    errors: ['client_id_taken'],
  },
  'pods.get': {
    method: 'GET',
    path: '/v1/pods/{idOrClientId}',
    tag: 'Pods',
    summary: 'Get a pod.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 200, description: 'The pod.', schema: Pod },
    errors: [],
  },
  'pods.update': {
    method: 'PATCH',
    path: '/v1/pods/{idOrClientId}',
    tag: 'Pods',
    summary: 'Update a pod.',
    notes: 'Omitted fields stay unchanged; null clears a field.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    body: UpdatePod,
    success: { status: 200, description: 'The pod as it is now.', schema: Pod },
    errors: ['client_id_taken'],
  },
  'pods.createApiKey': {
    method: 'POST',
    path: '/v1/pods/{idOrClientId}/api-keys',
    tag: 'API keys',
    summary: 'Not supported: create a key for one pod.',
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'pods.delete': {
    method: 'DELETE',
    path: '/v1/pods/{idOrClientId}',
    tag: 'Pods',
    summary: 'Delete an empty pod.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 204, description: 'The pod is gone.' },
    errors: ['default_pod', 'pod_not_empty', 'pod_has_domains'],
  },
} as const satisfies Record<string, Operation>
