// API keys, the credentials of an account.

import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import { line, nullableText, nullableTime, text, time } from './text.ts'

const NAME_LENGTH_MAX = 200

const apiKeyProperties = {
  id: text('The id.'),
  name: nullableText('A display name chosen by the client.'),
  tokenPrefix: text('The first 7 characters of the token, to recognise it by.'),
  last4: text('The last 4 characters of the token, to recognise it by.'),
  createdAt: time('When the key was created.'),
  lastUsedAt: nullableTime('When the key was last used; null if never.'),
}

export const ApiKey = Type.Object(apiKeyProperties, {
  description: 'An API key. Every key has full access to all pods of the account.',
})
export type ApiKey = Static<typeof ApiKey>

export const NewApiKey = Type.Extended(
  ApiKey,
  { token: text('The secret token. It is shown only in this response.') },
  { description: 'A new API key with its token.' },
)
export type NewApiKey = Static<typeof NewApiKey>

const CreateApiKey = Type.Object(
  { name: Type.Optional(line({ maxLength: NAME_LENGTH_MAX, description: 'The display name.' })) },
  { additionalProperties: false },
)

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
