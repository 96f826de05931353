// Operations on keys, console sessions, pairings and statistics.

import { Type } from '#schema.ts'
import {
  ApiKey,
  CreateApiKey,
  CreateSession,
  NewApiKey,
  Pairing,
  PendingPairing,
  PollPairing,
  PollPairingByUrl,
  ReadyPairing,
  Session,
  StartedPairing,
  StartPairing,
  Stats,
} from '#shapes/account.ts'
import { listOf, PageQuery } from '#shapes/page.ts'
import { oneOf } from '#shapes/text.ts'
import { statsRanges } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const path = '/auth/session'

export const sessionOperations = {
  'session.create': {
    method: 'POST',
    path,
    tag: 'Console',
    summary: 'Sign in to the console.',
    notes:
      'Sets a session cookie that scripts cannot read. The session lasts 12 hours, or until the key is revoked. Pages of other origins are refused.',
    auth: 'none',
    isRateLimited: false,
    body: CreateSession,
    success: { status: 201, description: 'The session.', schema: Session },
    setsCookie: true,
    errors: ['unauthorized', 'forbidden_origin', 'rate_limit_exceeded'],
  },
  'session.get': {
    method: 'GET',
    path,
    tag: 'Console',
    summary: 'Get the session.',
    auth: 'session',
    isRateLimited: false,
    success: { status: 200, description: 'The session.', schema: Session },
    errors: [],
  },
  'session.delete': {
    method: 'DELETE',
    path,
    tag: 'Console',
    summary: 'Sign out of the console.',
    auth: 'session',
    isRateLimited: false,
    success: { status: 204, description: 'The cookie is gone.' },
    setsCookie: true,
    errors: [],
  },
} as const satisfies Record<string, Operation>

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

const parameters = {
  userCode: 'The code that the client shows, in any case, with or without the hyphen.',
} as const

export const pairingOperations = {
  'pairing.start': {
    method: 'POST',
    path: '/auth/cli/start',
    tag: 'Console',
    summary: 'Start a pairing.',
    notes:
      'A client without a key requests one, and a person approves the request in the console. The client shows userCode and verifyUrl and polls every few seconds, for up to ten minutes. Limited to ten requests a minute per IP address.',
    auth: 'none',
    isRateLimited: false,
    body: StartPairing,
    success: { status: 200, description: 'The pairing.', schema: StartedPairing },
    errors: ['rate_limit_exceeded'],
  },
  'pairing.poll': {
    method: 'POST',
    path: '/auth/cli/poll',
    tag: 'Console',
    summary: 'Poll a pairing.',
    notes:
      'Returns the key once the pairing is approved, in one response only. A pairing that was denied, expired or already used is not_found. api_key_limit_reached means that the account has too many keys; the key is made once there is room. Limited to 60 requests a minute per IP address.',
    auth: 'none',
    isRateLimited: false,
    body: PollPairing,
    success: { status: 200, description: 'The pairing was approved.', schema: ReadyPairing },
    otherSuccess: {
      status: 202,
      description: 'The pairing awaits a decision.',
      schema: PendingPairing,
    },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.pollByUrl': {
    method: 'GET',
    path: '/auth/cli/poll',
    tag: 'Console',
    summary: 'Poll a pairing by URL.',
    notes:
      'Prefer POST: proxies log URLs, and anyone who reads the requestId there first can take the key.',
    auth: 'none',
    isRateLimited: false,
    query: PollPairingByUrl,
    success: { status: 200, description: 'The pairing was approved.', schema: ReadyPairing },
    otherSuccess: {
      status: 202,
      description: 'The pairing awaits a decision.',
      schema: PendingPairing,
    },
    errors: ['not_found', 'api_key_limit_reached', 'rate_limit_exceeded'],
  },
  'pairing.get': {
    method: 'GET',
    path: '/auth/cli/requests/{userCode}',
    tag: 'Console',
    summary: 'Get a pairing by its code.',
    notes: 'Limited to 20 codes a minute per account, including approvals and denials.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The pairing.', schema: Pairing },
    errors: [],
  },
  'pairing.approve': {
    method: 'POST',
    path: '/auth/cli/requests/{userCode}/approve',
    tag: 'Console',
    summary: 'Approve a pairing.',
    notes:
      'The client gets a key with full access to the account. The key is made when the client polls next.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The client can fetch its key.' },
    errors: ['api_key_limit_reached'],
  },
  'pairing.deny': {
    method: 'POST',
    path: '/auth/cli/requests/{userCode}/deny',
    tag: 'Console',
    summary: 'Deny a pairing.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The pairing is denied.' },
    errors: [],
  },
} as const satisfies Record<string, Operation>

export const statsOperations = {
  'stats.get': {
    method: 'GET',
    path: '/v1/stats',
    tag: 'Account',
    summary: 'Get mail statistics.',
    notes:
      'Messages received, sent and failed, and how long sends took. Counts are kept per hour for 400 days and lag by a few seconds; asOf says up to when.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      range: Type.Optional(
        oneOf(statsRanges, 'Figures by hour for 24h, by three hours for 7d, by day (UTC) for 30d.'),
      ),
    }),
    success: { status: 200, description: 'The figures.', schema: Stats },
    errors: [],
  },
} as const satisfies Record<string, Operation>
