// Operations on pods.

import { listOf, PageQuery } from '#shapes/page.ts'
import { CreatePod, Pod, UpdatePod } from '#shapes/pod.ts'
import type { Operation } from './operation.ts'

const parameters = { idOrClientId: 'The id or the clientId of a pod.' } as const

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
    parameters,
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
    parameters,
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
    parameters,
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
    parameters,
    success: { status: 204, description: 'The pod is gone.' },
    errors: ['default_pod', 'pod_not_empty', 'pod_has_domains'],
  },
} as const satisfies Record<string, Operation>
