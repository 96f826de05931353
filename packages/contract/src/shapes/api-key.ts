// API keys: credentials of an account. The token itself appears once, when a key is made.

import { type Static, Type } from '#schema.ts'
import { line, nullableText, nullableTime, text, time } from './text.ts'

const NAME_LENGTH_MAX = 200

const apiKeyProperties = {
  id: text('Assigned by the service.'),
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

export const NewApiKey = Type.Object(
  { ...apiKeyProperties, token: text('The secret token. It is shown only in this response.') },
  { description: 'A new API key with its token.' },
)
export type NewApiKey = Static<typeof NewApiKey>

export const CreateApiKey = Type.Object(
  { name: Type.Optional(line({ maxLength: NAME_LENGTH_MAX, description: 'For display.' })) },
  { additionalProperties: false },
)
export type CreateApiKey = Static<typeof CreateApiKey>
