// Pods: containers of inboxes inside an account.

import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import {
  CLIENT_ID_PATTERN,
  CLIENT_ID_RULE,
  line,
  nullableLine,
  nullableText,
  RULE,
  retentionDays,
  text,
  time,
} from './text.ts'

const NAME_LENGTH_MAX = 255
const CLIENT_ID_LENGTH_MAX = 255

const keptDays = retentionDays(
  'Messages in inboxes of the pod are removed this many days after they were stored, unless the inbox has its own setting; null to use the setting of the account.',
)

export const Pod = Type.Object(
  {
    id: text('The id.'),
    clientId: nullableText('Chosen by the client; accepted wherever a pod id is accepted.'),
    name: nullableText('Display name.'),
    retentionDays: keptDays,
    isDefault: Type.Boolean({ description: 'True only for the default pod of the account.' }),
    createdAt: time('When the pod was created.'),
  },
  { description: 'An isolated container of inboxes inside an account.' },
)
export type Pod = Static<typeof Pod>

const clientIdBounds = {
  minLength: 1,
  maxLength: CLIENT_ID_LENGTH_MAX,
  pattern: CLIENT_ID_PATTERN,
  [RULE]: CLIENT_ID_RULE,
}
const nameBounds = { maxLength: NAME_LENGTH_MAX, description: 'Display name.' }

const CreatePod = Type.Object(
  {
    clientId: Type.Optional(
      Type.String({
        ...clientIdBounds,
        description: 'An id of your choice, unique within the account.',
      }),
    ),
    name: Type.Optional(line(nameBounds)),
    retentionDays: Type.Optional(keptDays),
  },
  { additionalProperties: false },
)

const UpdatePod = Type.Object(
  {
    clientId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        ...clientIdBounds,
        description: 'An id of your choice, unique within the account; null clears it.',
      }),
    ),
    name: Type.Optional(
      nullableLine({ ...nameBounds, description: 'Display name; null clears it.' }),
    ),
    retentionDays: Type.Optional(keptDays),
  },
  { additionalProperties: false },
)

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
    errors: ['client_id_taken', 'pod_limit_reached'],
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
    success: { status: 200, description: 'The updated pod.', schema: Pod },
    errors: ['client_id_taken'],
  },
  'pods.createApiKey': {
    method: 'POST',
    path: '/v1/pods/{idOrClientId}/api-keys',
    tag: 'API keys',
    summary: 'Not supported: create a key for one pod.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'pods.listApiKeys': {
    method: 'GET',
    path: '/v1/pods/{idOrClientId}/api-keys',
    tag: 'API keys',
    summary: 'Not supported: list the keys of one pod.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'pods.deleteApiKey': {
    method: 'DELETE',
    path: '/v1/pods/{idOrClientId}/api-keys/{keyId}',
    tag: 'API keys',
    summary: 'Not supported: revoke a key of one pod.',
    isForOtherClients: true,
    isUnsupported: true,
    notes:
      'Always returns 403: a key covers the whole account. The route exists for clients that try to get a narrower key and keep their own after a 403.',
    auth: 'key',
    isRateLimited: true,
    parameters: { ...podParameters, keyId: 'The id of a key.' },
    success: { status: 204, description: 'Never returned.' },
    errors: ['scoped_keys_not_supported'],
  },
  'pods.delete': {
    method: 'DELETE',
    path: '/v1/pods/{idOrClientId}',
    tag: 'Pods',
    summary: 'Delete an empty pod.',
    notes:
      'In an account with an approver, a pod with its own policy (modes, guards or rules) can be deleted only after an approver has removed the policy.',
    auth: 'key',
    isRateLimited: true,
    parameters: podParameters,
    success: { status: 204, description: 'The pod was deleted.' },
    errors: ['default_pod', 'pod_not_empty', 'pod_has_domains', 'approver_required'],
  },
} as const satisfies Record<string, Operation>
