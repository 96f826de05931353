// The token endpoint (RFC 6749 §4.1.3 and §6), revocation (RFC 7009) and registration (RFC 7591).

import { hash } from 'node:crypto'
import { connectionScopes } from '@mailroom/contract/vocabulary.ts'
import type { Chance } from '#platform/chance.ts'
import type { Store } from '#store/store.ts'
import { noKnownScope, requireParameter, requireResource } from './authorization-request.ts'
import { type FindClient, isDocumentUrl, readClientName, readRedirectUris } from './clients.ts'
import {
  ACCESS_TOKEN_MS,
  hashSecret,
  newToken,
  OauthError,
  readParameters,
  readScopes,
  UNUSED_CLIENT_MS,
} from './model.ts'
import type { From, RecordStep } from './record-step.ts'
import {
  type Connection,
  type Issued,
  type NewTokens,
  redeemCode,
  refreshTokens,
  revokeToken,
} from './store/connections.ts'
import { insertClient } from './store/oauth-clients.ts'

type TokenDeps = Store & {
  readonly chance: Chance
  readonly publicUrl: () => string
  readonly findClient: FindClient
  readonly recordStep: RecordStep
}

/** A refusal with the connection that it is about. */
class RefusedToken extends OauthError {
  readonly connection: Connection | undefined

  constructor(description: string, connection?: Connection) {
    super('invalid_grant', description)
    this.connection = connection
  }
}

/** Throws `OauthError`. Every outcome is recorded as a step. */
export async function issueTokens(
  deps: TokenDeps,
  form: URLSearchParams,
  from: From,
): Promise<object> {
  try {
    const { connection, answer } = await answerGrant(deps, form)
    await deps.recordStep({ step: 'token', from, connection })
    return answer
  } catch (error) {
    if (!(error instanceof OauthError)) throw error
    const failure = { error: error.code, detail: error.message }
    const connection = error instanceof RefusedToken ? error.connection : undefined
    await deps.recordStep({ step: 'token', from, failure, ...(connection && { connection }) })
    throw error
  }
}

async function answerGrant(deps: TokenDeps, form: URLSearchParams) {
  const given = readParameters(form)
  const grantType = requireParameter(given, 'grant_type')
  const clientId = requireParameter(given, 'client_id')
  // A client whose registration was removed gets invalid_client, so that it registers again.
  if (!isDocumentUrl(clientId)) await deps.findClient(clientId)
  requireResource(given, deps.publicUrl())
  const nowMs = deps.clock.now()
  const access = newToken(deps.chance, 'access')
  const refresh = newToken(deps.chance, 'refresh')
  const tokens = {
    access: { hash: hashSecret(access), expiresAtMs: nowMs + ACCESS_TOKEN_MS },
    refresh: hashSecret(refresh),
  }
  const issued = await redeem(deps, { grantType, given, clientId, tokens, nowMs })
  const { connection, scopes } = requireIssued(issued)
  const endMs = Math.min(
    nowMs + ACCESS_TOKEN_MS,
    connection.expiresAtMs ?? Number.POSITIVE_INFINITY,
  )
  return {
    connection,
    answer: {
      access_token: access,
      token_type: 'Bearer',
      expires_in: Math.floor((endMs - nowMs) / 1000),
      refresh_token: refresh,
      scope: scopes.join(' '),
    },
  }
}

type Grant = {
  grantType: string
  given: ReadonlyMap<string, string>
  clientId: string
  tokens: NewTokens
  nowMs: number
}

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

async function redeem({ db }: TokenDeps, { grantType, given, ...shared }: Grant): Promise<Issued> {
  if (grantType === 'authorization_code') {
    const code = requireParameter(given, 'code')
    const verifier = requireParameter(given, 'code_verifier')
    if (!VERIFIER.test(verifier)) {
      throw new OauthError('invalid_request', 'The code_verifier must have 43 to 128 characters.')
    }
    return db.write(redeemCode, {
      ...shared,
      codeHash: hashSecret(code),
      redirectUri: given.get('redirect_uri') ?? null,
      codeChallenge: hash('sha256', verifier, 'base64url'),
    })
  }
  if (grantType === 'refresh_token') {
    const scope = given.get('scope')
    const scopes = scope === undefined ? null : readScopes(scope)
    if (scopes?.length === 0) throw noKnownScope()
    return db.write(refreshTokens, {
      ...shared,
      tokenHash: hashSecret(requireParameter(given, 'refresh_token')),
      scopes,
    })
  }
  throw new OauthError(
    'unsupported_grant_type',
    'The grant_type must be authorization_code or refresh_token.',
  )
}

function requireIssued(issued: Issued): Extract<Issued, { outcome: 'issued' }> {
  switch (issued.outcome) {
    case 'issued':
      return issued
    case 'unknown':
      throw new RefusedToken('The code or token is unknown, or its connection was revoked.')
    case 'expired':
      throw new RefusedToken('The code, token or connection has expired.')
    case 'mismatch':
      throw new RefusedToken(
        'The code or token belongs to another client, redirect_uri or code_verifier.',
        issued.connection,
      )
    case 'reused':
      throw new RefusedToken(
        'The code or token was used a second time, so the connection was revoked.',
        issued.connection,
      )
    case 'scope_exceeded':
      throw new OauthError('invalid_scope', 'The scope exceeds what was granted.')
  }
}

/** Succeeds for unknown tokens too (RFC 7009 §2.2). */
export async function revokeByClient(deps: TokenDeps, form: URLSearchParams): Promise<void> {
  const given = readParameters(form)
  const tokenHash = hashSecret(requireParameter(given, 'token'))
  const clientId = requireParameter(given, 'client_id')
  await deps.db.write(revokeToken, { tokenHash, clientId, nowMs: deps.clock.now() })
}

const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const

/** Throws `OauthError`. Every client is public, so it gets no secret. */
export async function registerClient(
  deps: TokenDeps,
  metadata: unknown,
  from: From,
): Promise<object> {
  try {
    const made = readRegistration(metadata)
    const nowMs = deps.clock.now()
    const client = {
      id: deps.makeId('ocl'),
      accountId: null,
      ...made,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + UNUSED_CLIENT_MS,
    }
    await deps.db.write(insertClient, client)
    await deps.recordStep({ step: 'registration', from, client })
    return {
      client_id: client.id,
      client_id_issued_at: Math.floor(nowMs / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: GRANT_TYPES,
      response_types: ['code'],
      scope: connectionScopes.join(' '),
    }
  } catch (error) {
    if (!(error instanceof OauthError)) throw error
    const failure = { error: error.code, detail: error.message }
    await deps.recordStep({ step: 'registration', from, failure })
    throw error
  }
}

function readRegistration(metadata: unknown): { name: string; redirectUris: string[] } {
  const fields = Object(metadata) as Record<string, unknown>
  const { redirectUris, fault } = readRedirectUris(fields.redirect_uris)
  if (fault !== null)
    throw new OauthError('invalid_redirect_uri', `The redirect_uris are invalid: ${fault}.`)
  const { grant_types: grants, response_types: responses } = fields
  const lacks = (list: unknown, word: string) => list !== undefined && !asList(list).includes(word)
  if (lacks(grants, 'authorization_code') || lacks(responses, 'code')) {
    throw new OauthError(
      'invalid_client_metadata',
      'Only the grant type authorization_code with the response type code is supported.',
    )
  }
  return { name: readClientName(fields.client_name) ?? 'Unnamed client', redirectUris }
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value]
}
