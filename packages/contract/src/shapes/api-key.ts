// API keys: credentials of an account. The token itself appears once, when a key is made.

import { type Static, Type } from '#schema.ts'
import { line, nullableText, nullableTime, text, time } from './text.ts'

const NAME_LENGTH_MAX = 200

const apiKeyProperties = {
  id: text('Assigned by the service.'),
  name: nullableText('Chosen by the client, for people.'),
  tokenPrefix: text('The first 7 characters of the token, to recognise it by.'),
  last4: text('The last 4 characters of the token, to recognise it by.'),
  createdAt: time('When the key was created.'),
  lastUsedAt: nullableTime('When the key was last used; null when it never was.'),
}

export const ApiKey = Type.Object(apiKeyProperties, {
  description: 'A key of the account. Every key reads and writes in every pod.',
})
export type ApiKey = Static<typeof ApiKey>

export const NewApiKey = Type.Object(
  { ...apiKeyProperties, token: text('The credential itself. It is shown only here.') },
  { description: 'A key that was just made, with its token.' },
)
export type NewApiKey = Static<typeof NewApiKey>

export const CreateApiKey = Type.Object(
  { name: Type.Optional(line({ maxLength: NAME_LENGTH_MAX, description: 'For people.' })) },
  { additionalProperties: false },
)
export type CreateApiKey = Static<typeof CreateApiKey>
