// Operations on the keys of the account.

import { ApiKey, CreateApiKey, NewApiKey } from '#shapes/api-key.ts'
import { listOf, PageQuery } from '#shapes/page.ts'
import type { Operation } from './operation.ts'

export const apiKeyOperations = {
  'apiKeys.create': {
    method: 'POST',
    path: '/v1/api-keys',
    tag: 'API keys',
    summary: 'Create an API key.',
    notes:
      'The token is shown only in this response. To rotate a key, create a new one, switch to it and delete the old one.',
    auth: 'key',
    isRateLimited: true,
    body: CreateApiKey,
    success: { status: 201, description: 'The new key with its token.', schema: NewApiKey },
    errors: ['api_key_limit_reached'],
  },
  'apiKeys.list': {
    method: 'GET',
    path: '/v1/api-keys',
    tag: 'API keys',
    summary: 'List active API keys.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of keys.',
      schema: listOf(ApiKey, 'A page of keys.'),
    },
    errors: [],
  },
  'apiKeys.delete': {
    method: 'DELETE',
    path: '/v1/api-keys/{id}',
    tag: 'API keys',
    summary: 'Revoke an API key.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a key.' },
    success: { status: 204, description: 'The key is revoked.' },
    errors: ['last_api_key'],
  },
} as const satisfies Record<string, Operation>
