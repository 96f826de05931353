// Turns thrown values into error responses. Internal details go only to the log.

import type { ErrorBody } from '@mailroom/contract/error.ts'
import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import type { LimitScope } from '@mailroom/contract/vocabulary.ts'
import { fixOfLimit } from '#config/limit-fix.ts'
import type { LimitSettings } from '#config/settings.ts'
import type { Allowance, Budgets, RateWindow } from '#limits/limits.ts'
import type { Clock } from '#platform/clock.ts'
import {
  AppError,
  type AppErrorOptions,
  limitFields,
  notFound,
  RETRY_AFTER_SECONDS,
  withStorageProblem,
} from '#platform/problem.ts'
import { MINUTE_MS } from '#platform/units.ts'

export type Problem = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody
  /** Whether the service is at fault, so that the cause must be logged. */
  readonly isOurs: boolean
}

export function problemOf(thrown: unknown, requestId: string): Problem {
  const refusal = frameworkRefusal(thrown)
  if (refusal) return problem(refusal.code, refusal.message, {}, requestId)
  const translated = withStorageProblem(thrown)
  if (translated instanceof AppError && isErrorCode(translated.code)) {
    return problem(translated.code, translated.message, translated.options, requestId)
  }
  return problem('internal_error', errorCodes.internal_error.sentence, {}, requestId)
}

export function rateLimited(
  message: string,
  {
    scope,
    refusal: { limit, resetSeconds },
    clock,
    setting,
  }: {
    scope: LimitScope
    refusal: Pick<Allowance, 'limit' | 'resetSeconds'>
    clock: Pick<Clock, 'now'>
    setting?: keyof LimitSettings
  },
): AppError {
  const resetsAtMs = clock.now() + resetSeconds * 1000
  return new AppError('rate_limit_exceeded', message, {
    retryAfterSeconds: resetSeconds,
    ...(setting === undefined ? {} : { fix: fixOfLimit(setting) }),
    fields: limitFields({ scope, limit, resetsAtMs }),
  })
}

/** Counts uses per minute in all processes. Throws `rate_limit_exceeded`. */
export function limiter(
  { budgets, clock }: { budgets: Budgets; clock: Pick<Clock, 'now'> },
  {
    name,
    perMinute,
    message,
    scope = 'address',
  }: { name: string; perMinute: number; message: string; scope?: LimitScope },
): (key: string) => Promise<void> {
  const window = budgets.openWindow({ name, limit: perMinute, windowMs: MINUTE_MS })
  return async (key) => {
    const refusal = await window.take(key)
    if (!refusal.isAllowed) throw rateLimited(message, { scope, refusal, clock })
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code)
}

function problem(
  code: ErrorCode,
  message: string,
  options: AppErrorOptions,
  requestId: string,
): Problem {
  const entry: { status: number; fix?: string } = errorCodes[code]
  const { status } = entry
  const fix = options.fix ?? entry.fix
  const headers: Record<string, string> = { ...options.headers }
  if (status === 401) headers['www-authenticate'] ??= 'Bearer'
  if (status === 429 || status === 503) {
    const seconds = Math.ceil(options.retryAfterSeconds ?? RETRY_AFTER_SECONDS)
    headers['retry-after'] = String(Math.max(1, seconds))
  }
  return {
    status,
    headers,
    body: {
      error: code,
      message,
      requestId,
      ...(fix === undefined ? {} : { fix }),
      ...(options.details === undefined ? {} : { details: options.details }),
      ...options.fields,
    },
    isOurs: status === 500,
  }
}

type Refusal = { code: ErrorCode; message: string }

/** Responses by error codes of the framework and of the HTTP parser. */
const refusals: Readonly<Record<string, Refusal>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 'payload_too_large',
    message: 'The request body is larger than this route accepts.',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    message: 'The Content-Type of the request is not supported; send application/json.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'bad_request',
    message: 'The Content-Length of the request does not match its body.',
  },
  // A path that cannot be decoded does not name a resource.
  FST_ERR_BAD_URL: { code: 'not_found', message: notFound().message },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'uri_too_long', message: 'A part of the path is too long.' },
  HPE_HEADER_OVERFLOW: {
    code: 'header_fields_too_large',
    message: 'The header fields of the request are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request_timeout',
    message: 'The request did not arrive in time.',
  },
  ECONNRESET: { code: 'bad_request', message: 'The request ended too early.' },
}

function frameworkRefusal(thrown: unknown): Refusal | null {
  const code = errorCodeOf(thrown)
  if (code === null) return null
  // A database socket may also report ECONNRESET, but only an aborted request says "aborted".
  if (code === 'ECONNRESET' && !(thrown instanceof Error && thrown.message === 'aborted'))
    return null
  const known = Object.hasOwn(refusals, code) ? refusals[code] : undefined
  if (known) return known
  if (!code.startsWith('HPE_')) return null
  const { reason } = thrown as { reason?: unknown }
  const rule = typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
  return { code: 'bad_request', message: `The request is not well-formed HTTP${rule}.` }
}

function errorCodeOf(thrown: unknown): string | null {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return null
  return typeof thrown.code === 'string' ? thrown.code : null
}

/** Rejects with `rate_limit_exceeded`, or with `service_unavailable` if the count is unknown. */
export async function takeRequest(
  { requests, clock }: { requests: RateWindow; clock: Pick<Clock, 'now'> },
  accountId: string,
  setHeader: (name: string, value: string) => void,
): Promise<void> {
  const allowance = await requests.take(accountId)
  const { isAllowed, limit, remaining, resetSeconds } = allowance
  setHeader('ratelimit-limit', String(limit))
  setHeader('ratelimit-remaining', String(remaining))
  setHeader('ratelimit-reset', String(resetSeconds))
  if (isAllowed) return
  const text = `The account may make ${limit} requests a minute.`
  const refusal = { scope: 'account', refusal: allowance, clock, setting: 'apiPerMinute' } as const
  throw rateLimited(text, refusal)
}
