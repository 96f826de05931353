// Rules of OAuth that several endpoints need: tokens, scopes, redirect URIs and errors.

import { hash } from 'node:crypto'
import { REDIRECT_URI_LENGTH_MAX } from '@mailroom/contract/connections.ts'
import {
  ACCESS_TOKEN_PREFIX,
  type ConnectionScope,
  connectionScopes,
  MCP_PATH,
} from '@mailroom/contract/vocabulary.ts'
import { BASE62, type Chance, randomText } from '#platform/chance.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** A client redeems its code at once. */
export const CODE_MS = 2 * MINUTE_MS
export const ACCESS_TOKEN_MS = HOUR_MS
export const REFRESH_TOKEN_MS = 60 * DAY_MS
/** Clients may refresh in parallel, or again after a response that was lost. */
export const REUSE_GRACE_MS = 60 * SECOND_MS
/** A registered client without a connection is removed after this time. */
export const UNUSED_CLIENT_MS = DAY_MS

const PREFIXES = { access: ACCESS_TOKEN_PREFIX, refresh: 'mrr_', code: 'mrc_' } as const

/** 238 random bits, so that the digest needs neither salt nor a slow hash. */
export function newToken(chance: Chance, kind: keyof typeof PREFIXES): string {
  return PREFIXES[kind] + randomText(chance, BASE62, 40)
}

export function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

/** OAuth is available only on https and loopback, where a token cannot be read in transit. */
export function offersOauth(publicUrl: string): boolean {
  const url = new URL(publicUrl)
  return url.protocol === 'https:' || isLoopback(url)
}

/** The URL of the MCP endpoint, for which tokens are issued (RFC 8707). */
export function resourceOf(publicUrl: string): string {
  return publicUrl + MCP_PATH
}

/** The known scopes, in the contract's order. Others, such as `offline_access`, are ignored. */
export function readScopes(text: string): ConnectionScope[] {
  const asked = new Set(text.split(' '))
  return connectionScopes.filter((scope) => asked.has(scope))
}

/** An error of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2 or RFC 8707 §2. */
export class OauthError extends Error {
  override readonly name = 'OauthError'
  readonly code: OauthErrorCode
  readonly status: number

  constructor(code: OauthErrorCode, description: string, status = 400) {
    super(description)
    this.code = code
    this.status = status
  }
}

type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type'
  | 'access_denied'
  | 'temporarily_unavailable'

/** Parameters of a query or form. Throws for a parameter that occurs twice (RFC 6749 §3.1). */
export function readParameters(given: URLSearchParams): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of given) {
    if (parameters.has(name)) {
      throw new OauthError('invalid_request', 'A parameter occurs more than once.')
    }
    // An empty value counts as omitted (RFC 6749 §3.1).
    if (value !== '') parameters.set(name, value)
  }
  return parameters
}

/** Editors and assistants whose scheme is not of the form of RFC 8252 §7.1. */
const KNOWN_SCHEMES = new Set(
  'claude cursor goose kiro lmstudio raycast trae vscode vscode-insiders vscodium warp windsurf windsurf-next zed'.split(
    ' ',
  ),
)
/** A domain name in reverse, which no operating system has for itself. */
const PRIVATE_USE_SCHEME =
  /^(?!(?:x-apple|com\.apple|microsoft\.windows)\.)[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/
const URI_CHARACTERS = /^[!-~]+$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/** Explains why a redirect URI is refused, without repeating it; null if it is allowed. */
export function redirectUriFault(uri: string): string | null {
  if (uri.length > REDIRECT_URI_LENGTH_MAX) return 'is too long'
  if (!URI_CHARACTERS.test(uri) || /["<>\\^`{|}]/.test(uri)) return 'is not a URI'
  if (!SCHEME.test(uri) || !URL.canParse(uri)) return 'is not an absolute URI'
  const url = new URL(uri)
  const scheme = url.protocol.slice(0, -1)
  if (!isPermittedScheme(scheme)) {
    return 'must have the scheme https, http on a loopback host, or one with a dot, such as com.example.app'
  }
  if (uri.includes('#')) return 'must not have a fragment'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name'
  if (scheme === 'http' && !isLoopback(url)) {
    return 'must have the scheme https, unless its host is 127.0.0.1, [::1] or localhost'
  }
  // Without a path, a browser adds the slash.
  if (url.href !== uri && url.href !== `${uri}/`) {
    return 'must be written as browsers do, such as with a lower-case host and without the default port'
  }
  return null
}

function isPermittedScheme(scheme: string): boolean {
  return (
    scheme === 'https' ||
    scheme === 'http' ||
    KNOWN_SCHEMES.has(scheme) ||
    PRIVATE_USE_SCHEME.test(scheme)
  )
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])

export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.has(hostname)
}

/**
 * RFC 9700 §4.1.3: the same text, but for the port of a loopback host (RFC 8252 §7.3), which a
 * program chooses anew for each sign-in. `uri` must have no fault.
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  const bare = withoutLoopbackPort(uri)
  return registered.some((one) => withoutLoopbackPort(one) === bare)
}

function withoutLoopbackPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?=[/?]|$)/, '$1')
}
