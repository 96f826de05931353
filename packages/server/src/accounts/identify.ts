// Who is calling: turns the Authorization header, or without one the cookie of a session, into an account
// and a key, or the operator, or a refusal. Failed attempts are limited for each address. A good key is
// never refused for them: others may be behind the same address, such as that of a proxy.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Auth } from '@mailroom/contract/operations/operation.ts'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { ComingSession } from '#http/event-readers.ts'
import { isForeignPage, requireCsrfToken, requireOwnOrigin } from '#http/own-origin.ts'
import { rateLimited } from '#http/problems.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import type { RateWindow } from '#rate-limits/budgets.ts'
import type { Authenticate, Identity } from './authenticate.ts'
import { sessionId } from './session.ts'
import { endedSessionCookie, readSessionCookie } from './session-cookie.ts'
import type { Sessions, SignedIn } from './sessions.ts'

export type Caller =
  /** `session`: theirs of the console; null for a key. */
  | ({ readonly kind: 'key'; readonly session: ComingSession | null } & Identity)
  | { readonly kind: 'session'; readonly signedIn: SignedIn }
  | { readonly kind: 'operator' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'anyone' }

/** Where a request comes from. */
type Sender = {
  readonly clientAddress: string
  /** With the cookie and what the browser says of where the request comes from. */
  readonly headers: IncomingHttpHeaders
}

export type Presented = Sender & {
  readonly authorization: string | undefined
  /** Whether the URL carries any part of a signature. */
  readonly isSigned: boolean
  /** What a page of another origin may ask for without being told the answer. */
  readonly isReading: boolean
  /** The answer can be read by pages of any origin. */
  readonly isSocket?: boolean
}

export type Identify = (auth: Auth, presented: Presented) => Promise<Caller>

export type SignIn = (
  token: string,
  from: Sender,
) => Promise<NonNullable<Awaited<ReturnType<Sessions['create']>>>>

export type IdentifyOptions = {
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly publicUrl: () => string
  /** undefined hides the operator's routes. */
  readonly operatorToken: string | undefined
  readonly failures: RateWindow
}

/** One for a server: what failed from an address is counted over all its requests. */
export class Identifier {
  readonly #options: IdentifyOptions
  readonly #operatorDigest: Buffer | null

  constructor(options: IdentifyOptions) {
    const { operatorToken } = options
    this.#options = options
    this.#operatorDigest = operatorToken === undefined ? null : digest(operatorToken)
  }

  /**
   * Rejects with `unauthorized`, `rate_limit_exceeded` or, on hidden routes, `not_found`; of those who
   * come with a session also with `forbidden_origin` and `invalid_csrf_token`.
   */
  readonly identify: Identify = async (auth, presented) => {
    const { authorization, isSigned, headers } = presented
    if (auth === 'none') return { kind: 'anyone' }
    if (auth === 'session') return this.#requireSession(presented)
    if (auth === 'signature') return { kind: 'signed' }
    if (auth === 'key-or-signature' && isSigned) return { kind: 'signed' }
    if (auth === 'operator' && this.#operatorDigest === null) throw notFound()
    const isByCookie = authorization === undefined && this.#cookieOf(headers) !== ''
    if (auth === 'operator' || !isByCookie) return this.#requireBearer(auth, presented)
    const { session } = await this.#findSession(presented)
    const { accountId, keyId, expiresAtMs: endsAtMs } = session
    return { kind: 'key', accountId, keyId, session: { id: sessionId(session), endsAtMs } }
  }

  /** Rejects with `unauthorized` and `rate_limit_exceeded`. */
  readonly signIn: SignIn = async (token, from) => {
    const made = await this.#options.sessions.create(token)
    if (made === null) throw await this.#refuse(from, 'The API key is unknown or revoked.')
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
    if (!identity) throw await this.#refuse(presented, 'The API key is unknown or revoked.')
    const { accountId, keyId } = identity
    return { kind: 'key', accountId, keyId, session: null }
  }

  /** As `#findSession`; where there is none, the browser is told to forget its cookie. */
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
    requireOwnOrigin(headers, { publicUrl: publicUrl(), mustTell: isSocket })
    const found = await sessions.find(this.#cookieOf(headers))
    // No failure that counts: nobody guesses what is sealed, and an open page comes with it many times.
    if (found === null) throw problem('unauthorized', SESSION_OVER)
    if (!isReading) requireCsrfToken(headers, found.session.csrfToken)
    return found
  }

  #cookieOf(headers: IncomingHttpHeaders): string {
    return readSessionCookie(headers, this.#options.publicUrl())
  }

  /**
   * Whose failures are counted together: those of an address. Pages of other sites are counted apart, for
   * any page that somebody looks at could else lock out the agents at the same address.
   */
  #groupOf({ clientAddress, headers }: Sender): string {
    const group = clientGroup(clientAddress)
    return isForeignPage(headers, this.#options.publicUrl()) ? `page ${group}` : group
  }

  async #refuse(from: Sender, message: string): Promise<AppError> {
    const allowance = await this.#options.failures.take(this.#groupOf(from))
    return allowance.isAllowed
      ? new AppError('unauthorized', message)
      : tooManyFailures(allowance.resetSeconds)
  }
}

const NO_SESSION = 'The request has no session cookie.'
const SESSION_OVER = 'The session has ended: it expired, was signed out, or its key was revoked.'

// RFC 6750 §2.1 (b64token), RFC 9110 §11.1 (the scheme in any case).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

/** Of an Authorization header; null where it has none. */
export function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null
}

/** Digests are of one length, so comparing them tells nothing of the token's. */
export function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function tooManyFailures(retryAfterSeconds: number): AppError {
  return rateLimited(
    'Too many failed sign-ins from this IP address.',
    Math.max(1, retryAfterSeconds),
  )
}
