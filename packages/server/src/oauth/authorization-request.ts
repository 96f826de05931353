// Checks authorization requests (RFC 6749 §4.1.1, RFC 7636, RFC 8707) and answers them.

import { type ConnectionScope, connectionScopes } from '@mailroom/contract/vocabulary.ts'
import type { Sealer } from '#platform/seal.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Client, FindClient } from './clients.ts'
import {
  isRegistered,
  OauthError,
  readParameters,
  readScopes,
  redirectUriFault,
  resourceOf,
} from './model.ts'

/** A request that a person decides about. The page carries it, sealed. */
export type AuthorizationRequest = {
  readonly clientId: string
  readonly clientName: string
  /** The only account that may approve; null for any. */
  readonly ownerId: string | null
  readonly isLoopbackOnly: boolean
  readonly redirectUri: string
  readonly state: string | null
  readonly codeChallenge: string
  readonly scopes: readonly ConnectionScope[]
}

/** The sender of a refused request; `replyTo` is null if the error must not be sent there. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly reason: OauthError
  readonly client: Client | undefined
  readonly replyTo: ReplyTo | null

  constructor(reason: OauthError, client: Client | undefined, replyTo: ReplyTo | null) {
    super(reason.message)
    this.reason = reason
    this.client = client
    this.replyTo = replyTo
  }
}

export type ReplyTo = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

const STATE_LENGTH_MAX = 2_000
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Throws `RefusedRequest`. */
export async function readAuthorizationRequest(
  query: URLSearchParams,
  { findClient, publicUrl }: { findClient: FindClient; publicUrl: string },
): Promise<AuthorizationRequest> {
  let client: Client | undefined
  let replyTo: ReplyTo | null = null
  try {
    const given = readParameters(query)
    client = await findClient(requireParameter(given, 'client_id'))
    const redirectUri = redirectUriOf(given.get('redirect_uri'), client)
    const state = given.get('state') ?? null
    replyTo = { redirectUri, state: null }
    if (state !== null && state.length > STATE_LENGTH_MAX) {
      throw new OauthError('invalid_request', 'The parameter state is too long.')
    }
    replyTo = { redirectUri, state }
    return {
      clientId: client.id,
      clientName: client.name,
      ownerId: client.accountId,
      isLoopbackOnly: client.redirectUris.every((uri) => new URL(uri).protocol === 'http:'),
      redirectUri,
      state,
      codeChallenge: challengeOf(given),
      scopes: scopesOf(given, publicUrl),
    }
  } catch (error) {
    if (error instanceof OauthError) throw new RefusedRequest(error, client, replyTo)
    throw error
  }
}

export function requireParameter(given: ReadonlyMap<string, string>, name: string): string {
  const value = given.get(name)
  if (value !== undefined) return value
  throw new OauthError('invalid_request', `The parameter ${name} is missing.`)
}

function redirectUriOf(given: string | undefined, { redirectUris }: Client): string {
  const [only = '', ...others] = redirectUris
  if (given === undefined && others.length > 0) {
    throw new OauthError('invalid_request', 'The parameter redirect_uri is missing.')
  }
  const uri = given ?? only
  const fault = redirectUriFault(uri)
  if (fault !== null) throw new OauthError('invalid_request', `The redirect_uri ${fault}.`)
  if (isRegistered(uri, redirectUris)) return uri
  throw new OauthError(
    'invalid_request',
    'The parameter redirect_uri is not one of the redirect_uris of the client.',
  )
}

function challengeOf(given: ReadonlyMap<string, string>): string {
  if (requireParameter(given, 'response_type') !== 'code') {
    throw new OauthError('unsupported_response_type', 'The response_type must be code.')
  }
  if ((given.get('response_mode') ?? 'query') !== 'query') {
    throw new OauthError('invalid_request', 'The response_mode must be query.')
  }
  const challenge = requireParameter(given, 'code_challenge')
  if (given.get('code_challenge_method') !== 'S256' || !CHALLENGE.test(challenge)) {
    throw new OauthError(
      'invalid_request',
      'A code_challenge with the code_challenge_method S256 is required.',
    )
  }
  return challenge
}

function scopesOf(
  given: ReadonlyMap<string, string>,
  publicUrl: string,
): readonly ConnectionScope[] {
  requireResource(given, publicUrl)
  const text = given.get('scope')
  const scopes = text === undefined ? connectionScopes : readScopes(text)
  if (scopes.length > 0) return scopes
  throw noKnownScope()
}

export function noKnownScope(): OauthError {
  const known = connectionScopes.join(', ')
  return new OauthError('invalid_scope', `The scope must contain at least one of ${known}.`)
}

/** Older clients send no resource. */
export function requireResource(given: ReadonlyMap<string, string>, publicUrl: string): void {
  const resource = given.get('resource')
  const own = resourceOf(publicUrl)
  if (resource === undefined || resource === own || resource === `${own}/`) return
  throw new OauthError('invalid_target', `The parameter resource must be ${own}.`)
}

/** RFC 9207: the issuer is in every response. */
export function replyUrl(
  { redirectUri, state }: ReplyTo,
  answer: Readonly<Record<string, string>>,
  publicUrl: string,
): string {
  const parameters = new URLSearchParams(answer)
  if (state !== null) parameters.set('state', state)
  parameters.set('iss', publicUrl)
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`
}

const CONTEXT = 'authorization-request'
/** Enough to read the page and find the API key. */
const PAGE_MS = 15 * MINUTE_MS
const SEALED_LENGTH_MAX = 48 * 1024

/** `signedIn` is null until a person has signed in. */
export type PendingRequest = {
  readonly request: AuthorizationRequest
  readonly signedIn: { readonly accountId: string; readonly keyId: string } | null
}

export function sealRequest(sealer: Sealer, pending: PendingRequest, nowMs: number): string {
  const text = JSON.stringify({ ...pending, expiresAtMs: nowMs + PAGE_MS })
  return Buffer.from(sealer.seal(Buffer.from(text), CONTEXT)).toString('base64url')
}

/** Null for a text that was not sealed here, or whose page has expired. */
export function openRequest(sealer: Sealer, text: string, nowMs: number): PendingRequest | null {
  if (text.length > SEALED_LENGTH_MAX) return null
  const plain = sealer.open(Buffer.from(text, 'base64url'), CONTEXT)
  if (plain === null) return null
  const { expiresAtMs, ...pending } = JSON.parse(Buffer.from(plain).toString())
  return expiresAtMs > nowMs ? pending : null
}
