// Who is calling: turns the Authorization header into an account and a key, or the operator, or a
// refusal. Failed attempts are limited for each address, and past the limit no key is looked at.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Auth } from '@mailroom/contract/operations/operation.ts'
import type { Authenticate, Identity } from '#actions/key/authenticate.ts'
import { AppError } from '#base/app-error.ts'
import { clientGroup } from '#base/client-address.ts'
import { notFound } from '#model/problem.ts'
import { rateLimited } from './problems.ts'
import type { SlidingWindow } from './rate-limit.ts'

export type Caller =
  | ({ readonly kind: 'key' } & Identity)
  | { readonly kind: 'operator' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'anyone' }

export type Presented = {
  readonly authorization: string | undefined
  readonly clientAddress: string
  /** Whether the URL carries any part of a signature. */
  readonly isSigned: boolean
}

export type Identify = (auth: Auth, presented: Presented) => Promise<Caller>

export type IdentifyOptions = {
  readonly authenticate: Authenticate
  /** undefined hides the operator's routes. */
  readonly operatorToken: string | undefined
  readonly failures: SlidingWindow
}

/** Rejects with `unauthorized`, `rate_limit_exceeded` or, on hidden routes, `not_found`. */
export function identifier(options: IdentifyOptions): Identify {
  const { authenticate, operatorToken, failures } = options
  const operatorDigest = operatorToken === undefined ? null : digest(operatorToken)

  function refuse(clientAddress: string, message: string): AppError {
    // Counted here and not before the look-up, so that a good key is never held up by its own kind;
    // attempts that were under way together still get no more refusals than the limit.
    const allowance = failures.take(clientGroup(clientAddress))
    return allowance.isAllowed
      ? new AppError('unauthorized', message)
      : tooManyFailures(allowance.resetSeconds)
  }

  return async (auth, { authorization, clientAddress, isSigned }) => {
    if (auth === 'none') return { kind: 'anyone' }
    if (auth === 'key-or-signature' && isSigned) return { kind: 'signed' }
    if (auth === 'operator' && operatorDigest === null) throw notFound()

    const allowance = failures.peek(clientGroup(clientAddress))
    if (!allowance.isAllowed) throw tooManyFailures(allowance.resetSeconds)

    const token = bearerToken(authorization)
    if (token === null) {
      const message =
        authorization === undefined
          ? 'The Authorization header is missing.'
          : 'The Authorization header is not of the form "Bearer <key>".'
      throw refuse(clientAddress, message)
    }
    if (auth === 'operator') {
      const isOperator = operatorDigest !== null && timingSafeEqual(digest(token), operatorDigest)
      if (!isOperator) throw refuse(clientAddress, 'The bearer token is not the operator’s.')
      return { kind: 'operator' }
    }
    const identity = await authenticate(token)
    if (!identity) throw refuse(clientAddress, 'The API key is unknown or revoked.')
    return { kind: 'key', accountId: identity.accountId, keyId: identity.keyId }
  }
}

// RFC 6750 §2.1 (b64token), RFC 9110 §11.1 (the scheme in any case).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null
}

/** Digests are of one length, so comparing them tells nothing of the token's. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function tooManyFailures(retryAfterSeconds: number): AppError {
  return rateLimited(
    'Too many failed authentications from this address.',
    Math.max(1, retryAfterSeconds),
  )
}
