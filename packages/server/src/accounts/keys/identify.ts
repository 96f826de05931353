// Identifies the caller of a request. Failed attempts are limited for each address. They never
// block a valid key, because several clients may share an address behind a proxy.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Auth } from '@mailroom/contract/operation.ts'
import { ACCESS_TOKEN_PREFIX, CSRF_HEADER } from '@mailroom/contract/vocabulary.ts'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import {
  endedSessionCookie,
  readSessionCookie,
  type Sessions,
  type SignedIn,
  sessionId,
} from '#accounts/sessions/sign-in.ts'
import type { CallerSession } from '#http/event-readers.ts'
import { rateLimited } from '#http/problems.ts'
import type { RateWindow } from '#limits/limits.ts'
import type { Clock } from '#platform/clock.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import type { Authenticate, Identity } from './issue-key.ts'

export type Caller =
  | {
      readonly kind: 'key'
      readonly accountId: string
      readonly keyId: string
      readonly session: CallerSession | null
    }
  | { readonly kind: 'approver'; readonly accountId: string; readonly approverId: string }
  | { readonly kind: 'session'; readonly signedIn: SignedIn }
  | { readonly kind: 'operator' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'anyone' }

type Sender = {
  readonly clientAddress: string
  readonly headers: IncomingHttpHeaders
}

type Presented = Sender & {
  readonly authorization: string | undefined
  readonly isSigned: boolean
  /** Needs no CSRF token, because it changes nothing and other origins cannot see the answer. */
  readonly isReading: boolean
  /** Pages of any origin can read a WebSocket, so the request must include its origin. */
  readonly isSocket?: boolean
}

export type Identify = (auth: Auth, presented: Presented) => Promise<Caller>

export type SignIn = (
  token: string,
  from: Sender,
) => Promise<NonNullable<Awaited<ReturnType<Sessions['create']>>>>

type IdentifyOptions = {
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly publicUrl: () => string
  /** If undefined, the operator's routes are hidden. */
  readonly operatorToken: string | undefined
  readonly failures: RateWindow
  readonly clock: Clock
}

/** One instance per server, because it counts failures across all requests. */
export class Identifier {
  readonly #options: IdentifyOptions
  readonly #operatorDigest: Buffer | null

  constructor(options: IdentifyOptions) {
    const { operatorToken } = options
    this.#options = options
    this.#operatorDigest = operatorToken === undefined ? null : digest(operatorToken)
  }

  /**
   * Throws `unauthorized`, `rate_limit_exceeded` or, on hidden routes, `not_found`. Throws
   * `forbidden` for an approver where a key is required, and `approver_required` for a key where an
   * approver is. With a session, also throws `forbidden_origin` and `invalid_csrf_token`.
   */
  readonly identify: Identify = async (auth, presented) => {
    const { authorization, isSigned, headers } = presented
    if (auth === 'none') return { kind: 'anyone' }
    if (auth === 'session') return this.#requireSession(presented)
    if (auth === 'signature') return { kind: 'signed' }
    if (isSigned && OPEN_TO_SIGNED_URLS.has(auth)) return { kind: 'signed' }
    if (auth === 'operator' && this.#operatorDigest === null) throw notFound()
    const isByCookie = authorization === undefined && this.#cookieOf(headers) !== ''
    if (auth === 'operator' || !isByCookie) return this.#requireBearer(auth, presented)
    const { session } = await this.#findSession(presented)
    const id = sessionId(session)
    return admitted(auth, session, { id, endsAtMs: session.expiresAtMs })
  }

  readonly signIn: SignIn = async (token, from) => {
    const made = await this.#options.sessions.create(token)
    if (made === null) throw await this.#refuse(from, UNKNOWN_TOKEN)
    return made
  }

  async #requireBearer(auth: Auth, presented: Presented): Promise<Caller> {
    const { authorization } = presented
    const token = bearerToken(authorization)
    if (token === null) {
      const message =
        authorization === undefined
          ? 'The Authorization header is missing.'
          : 'The Authorization header must have the form "Bearer <key>".'
      throw await this.#refuse(presented, message)
    }
    if (auth === 'operator') {
      const expected = this.#operatorDigest
      const isOperator = expected !== null && timingSafeEqual(digest(token), expected)
      if (!isOperator)
        throw await this.#refuse(presented, 'The bearer token is not the operator token.')
      return { kind: 'operator' }
    }
    const identity = await this.#options.authenticate(token)
    if (!identity) {
      const isOfConnection = token.startsWith(ACCESS_TOKEN_PREFIX)
      throw await this.#refuse(presented, isOfConnection ? UNKNOWN_ACCESS : UNKNOWN_TOKEN)
    }
    return admitted(auth, identity, null)
  }

  /** After a refusal, the browser drops its cookie. */
  async #requireSession(presented: Presented): Promise<Caller> {
    try {
      if (this.#cookieOf(presented.headers) === '') throw problem('unauthorized', NO_SESSION)
      return { kind: 'session', signedIn: await this.#findSession(presented) }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error
      const cookie = endedSessionCookie(this.#options.publicUrl())
      throw new AppError('unauthorized', error.message, {
        headers: { 'set-cookie': cookie },
        fix: 'Sign in to the console again.',
      })
    }
  }

  async #findSession(presented: Presented): Promise<SignedIn> {
    const { headers, isReading, isSocket = false } = presented
    const { sessions, publicUrl } = this.#options
    requireOwnOrigin(headers, { publicUrl: publicUrl(), isOriginRequired: isSocket })
    const found = await sessions.find(this.#cookieOf(headers))
    // Not limited, because a sealed cookie cannot be guessed and an open page sends it often.
    if (found === null) throw problem('unauthorized', SESSION_OVER)
    if (!isReading) requireCsrfToken(headers, found.session.csrfToken)
    return found
  }

  #cookieOf(headers: IncomingHttpHeaders): string {
    return readSessionCookie(headers, this.#options.publicUrl())
  }

  /** Pages of other sites have a separate limit, so they cannot lock out agents at the address. */
  #groupOf({ clientAddress, headers }: Sender): string {
    const group = clientGroup(clientAddress)
    return isForeignPage(headers, this.#options.publicUrl()) ? `page ${group}` : group
  }

  async #refuse(from: Sender, message: string): Promise<AppError> {
    const allowance = await this.#options.failures.take(this.#groupOf(from))
    return allowance.isAllowed
      ? new AppError('unauthorized', message)
      : rateLimited('Too many failed sign-ins from this IP address.', {
          scope: 'address',
          refusal: allowance,
          clock: this.#options.clock,
          setting: 'failedAuthPerMinute',
        })
  }
}

const OPEN_TO_SIGNED_URLS: ReadonlySet<Auth> = new Set([
  'key-or-signature',
  'key-or-approver-or-signature',
])

function admitted(
  auth: Auth,
  { accountId, actor }: Identity,
  session: CallerSession | null,
): Caller {
  if (actor.kind === 'approver') {
    if (auth === 'key' || auth === 'key-or-signature') throw problem('forbidden')
    return { kind: 'approver', accountId, approverId: actor.approverId }
  }
  if (auth === 'approver') throw problem('approver_required')
  return { kind: 'key', accountId, keyId: actor.keyId, session }
}

/** Approvers have a separate share, which an agent cannot use up. Null without a caller. */
export function payerOf(caller: Caller | null): string | null {
  if (caller?.kind === 'key') return caller.accountId
  return caller?.kind === 'approver' ? caller.approverId : null
}

export function approverDeleted(): AppError {
  return problem('unauthorized', UNKNOWN_TOKEN)
}

const UNKNOWN_TOKEN = 'The API key is unknown or revoked.'
/** The same at every path, so that it does not say whether a token is good. */
const UNKNOWN_ACCESS =
  'The access token is unknown, expired or revoked here; tokens of connections work only at /mcp.'
const NO_SESSION = 'The request has no session cookie.'
const SESSION_OVER =
  'The session has ended: it expired, was signed out, or its key was revoked or approver deleted.'

// RFC 6750 §2.1 (b64token), RFC 9110 §11.1 (the scheme in any case).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

export function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null
}

/** Digests have equal lengths, so a comparison does not reveal the length of the token. */
export function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * Throws `forbidden_origin` for a page of another site, by `Sec-Fetch-Site` (W3C Fetch Metadata
 * §2.3) or `Origin` (RFC 6454 §7). Programs and old browsers send neither field and are allowed
 * unless the origin is required.
 */
export function requireOwnOrigin(
  headers: IncomingHttpHeaders,
  { publicUrl, isOriginRequired = false }: { publicUrl: string; isOriginRequired?: boolean },
): void {
  const isOriginMissing = isOriginRequired && headers.origin === undefined
  if (isOriginMissing || isForeignPage(headers, publicUrl)) throw problem('forbidden_origin')
}

function isForeignPage(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  if (site === 'cross-site' || site === 'same-site') return true
  return origin !== undefined && !isOwn(origin, host, publicUrl)
}

function requireCsrfToken(headers: IncomingHttpHeaders, csrfToken: string): void {
  const sent = Buffer.from(String(headers[CSRF_HEADER.toLowerCase()] ?? ''))
  const expected = Buffer.from(csrfToken)
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
    throw problem('invalid_csrf_token')
  }
}

/**
 * Accepts either scheme, because TLS may end at a proxy. If the public URL is https, a page that
 * was loaded by plain http is foreign.
 */
function isOwn(origin: string, host: string | undefined, publicUrl: string): boolean {
  if (!URL.canParse(origin) || !/^https?:\/\//i.test(origin)) return false
  const { host: from, hostname, protocol } = new URL(origin)
  const ours = new URL(publicUrl)
  if (hostname === ours.hostname && ours.protocol === 'https:' && protocol === 'http:') return false
  if (from === ours.host) return true
  // The Host field may include the scheme's own port, which an origin omits.
  return URL.canParse(`${protocol}//${host}`) && from === new URL(`${protocol}//${host}`).host
}
