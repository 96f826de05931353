// Connections: assistants that a person has permitted to use the MCP endpoint, by OAuth.

import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import { displayName, nullableText, nullableTime, oneOf, text, time } from './text.ts'
import { connectionScopes, connectionSteps } from './vocabulary.ts'

export const CLIENT_NAME_LENGTH_MAX = 100
export const REDIRECT_URIS_MAX = 20
export const REDIRECT_URI_LENGTH_MAX = 1_000
/** Days for which an assistant can be connected, besides until revoked. */
export const CONNECTION_DAYS = [30, 90] as const

export const Connection = Type.Object(
  {
    id: text('The id.'),
    clientName: text('The name that the client gave itself; it is not verified.'),
    clientId: text('The id of the OAuth client: for a client with a metadata document, its URL.'),
    keyId: text(
      'The API key with which a person approved it. Revoking the key ends the connection.',
    ),
    inboxIds: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'The inboxes that it may use; null for all inboxes, including new ones.',
    }),
    scopes: Type.Array(oneOf(connectionScopes, 'A scope.'), { description: 'What it may do.' }),
    createdAt: time('When a person approved it.'),
    lastUsedAt: nullableTime(
      'When it last called the MCP endpoint, to the minute; null if it signed in but has never called.',
    ),
    expiresAt: nullableTime(
      'When it ends; null if it lasts until it is revoked. An unused connection ends after 60 days.',
    ),
  },
  { description: 'An assistant that may use the MCP endpoint.' },
)
export type Connection = Static<typeof Connection>

export const ConnectionStep = Type.Object(
  {
    id: text('The id.'),
    step: oneOf(
      connectionSteps,
      'The step: a client reads the metadata (discovery), registers itself (registration), a person decides (authorization), the client fetches or refreshes its tokens (token) and first calls the MCP endpoint (call).',
    ),
    isOk: Type.Boolean({ description: 'Whether the step succeeded.' }),
    error: nullableText(
      'The error code of OAuth with which it failed, such as invalid_grant; null if it succeeded.',
    ),
    detail: nullableText('What failed, in a sentence; null if the step succeeded.'),
    clientId: nullableText(
      'The OAuth client; null in steps that belong to no account yet, which every account sees.',
    ),
    clientName: nullableText('The name that the client gave itself; it is not verified.'),
    connectionId: nullableText('The connection, once a person has approved it.'),
    userAgent: nullableText(
      'The program that made the request, as it named itself; null for steps in a browser.',
    ),
    occurredAt: time('When it happened.'),
  },
  { description: 'A step of the sign-in of an assistant.' },
)
export type ConnectionStep = Static<typeof ConnectionStep>

export const ConnectionClient = Type.Object(
  {
    id: text('The client id to enter in the assistant. It has no secret.'),
    name: text('The name that the consent page shows.'),
    redirectUris: Type.Array(Type.String(), { description: 'Where sign-ins may return to.' }),
    createdAt: time('When the client was created.'),
  },
  { description: 'An OAuth client that a person created for an assistant.' },
)
export type ConnectionClient = Static<typeof ConnectionClient>

const CreateConnectionClient = Type.Object(
  {
    name: displayName({
      minLength: 1,
      maxLength: CLIENT_NAME_LENGTH_MAX,
      description: 'The name that the consent page shows.',
    }),
    redirectUris: Type.Array(Type.String({ minLength: 1, maxLength: REDIRECT_URI_LENGTH_MAX }), {
      minItems: 1,
      maxItems: REDIRECT_URIS_MAX,
      description:
        'Where sign-ins may return to, as the assistant states it: https, http on a loopback address, or a scheme of a program.',
    }),
  },
  { additionalProperties: false },
)

export const connectionOperations = {
  'connections.list': {
    method: 'GET',
    path: '/v1/connections',
    tag: 'Connections',
    summary: 'List connections.',
    notes: 'Newest first. Connections that have expired, or whose key was revoked, are not listed.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of connections.',
      schema: listOf(Connection, 'A page of connections.'),
    },
    errors: [],
  },
  'connections.delete': {
    method: 'DELETE',
    path: '/v1/connections/{id}',
    tag: 'Connections',
    summary: 'Revoke a connection.',
    notes: 'Its tokens stop working immediately.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a connection.' },
    success: { status: 204, description: 'The connection is revoked.' },
    errors: [],
  },
  'connections.listSteps': {
    method: 'GET',
    path: '/v1/connections/steps',
    tag: 'Connections',
    summary: 'List the steps of sign-ins.',
    notes:
      'The steps of the last seven days, newest first, which show where the sign-in of an assistant ended. Steps before the sign-in with a key belong to no account: every account sees them, without the client.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of steps.',
      schema: listOf(ConnectionStep, 'A page of steps.'),
    },
    errors: [],
  },
  'connections.createClient': {
    method: 'POST',
    path: '/v1/connections/clients',
    tag: 'Connections',
    summary: 'Create an OAuth client.',
    notes:
      'Needed only for assistants that ask for a client id. Others register themselves or have a metadata document.',
    auth: 'key',
    isRateLimited: true,
    body: CreateConnectionClient,
    success: { status: 201, description: 'The client.', schema: ConnectionClient },
    errors: ['connection_client_limit_reached'],
  },
  'connections.listClients': {
    method: 'GET',
    path: '/v1/connections/clients',
    tag: 'Connections',
    summary: 'List created OAuth clients.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of clients.',
      schema: listOf(ConnectionClient, 'A page of clients.'),
    },
    errors: [],
  },
  'connections.deleteClient': {
    method: 'DELETE',
    path: '/v1/connections/clients/{id}',
    tag: 'Connections',
    summary: 'Delete an OAuth client.',
    notes: 'Its connections are revoked.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of a client that was created for an assistant.' },
    success: { status: 204, description: 'The client is deleted.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
