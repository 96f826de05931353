// Errors that are reported to callers, with codes of the contract.

import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import type { LimitScope } from '@mailroom/contract/vocabulary.ts'
import { asStorageError, type StorageErrorKind } from '#platform/db/storage-error.ts'
import { presentTime } from './clock.ts'

export const RETRY_AFTER_SECONDS = 2

export type ErrorDetail = { path: string; message: string }

export type AppErrorOptions = {
  /** A sentence that says what the caller can do next. */
  fix?: string
  details?: ErrorDetail[]
  retryAfterSeconds?: number
  /** Header names are in lower case. */
  headers?: Record<string, string>
  fields?: Record<string, string | number | readonly object[]>
  cause?: unknown
}

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: string
  readonly options: AppErrorOptions

  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.options = options
  }
}

export function problem(
  code: ErrorCode,
  message?: string,
  options: AppErrorOptions = {},
): AppError {
  return new AppError(code, message ?? errorCodes[code].sentence, options)
}

/** `message` follows the field's name. */
export function wrongField(
  path: string,
  message: string,
  code: ErrorCode = 'bad_request',
): AppError {
  const fix = `Correct the field "${path}", and send the request again.`
  return problem(code, `The field "${path}" ${message}.`, {
    details: [{ path, message }],
    ...(code === 'bad_request' && { fix }),
  })
}

export function wrongQuery(path: string, message: string): AppError {
  return problem('bad_request', `The query parameter "${path}" ${message}.`, {
    details: [{ path, message }],
    fix: `Correct the query parameter "${path}", and send the request again.`,
  })
}

export function limitFields({
  scope,
  limit,
  resetsAtMs,
}: {
  scope: LimitScope
  limit: number
  resetsAtMs: number
}): Record<string, string | number> {
  return { scope, limit, resetsAt: presentTime(resetsAtMs) }
}

/** One error for missing resources, another account's resources and unknown routes. */
export function notFound(): AppError {
  return problem('not_found', 'The account has no such resource, or the API has no such route.')
}

export function storageErrorKind(error: unknown): StorageErrorKind | null {
  return asStorageError(error)?.kind ?? null
}

/** Converts storage errors to `service_unavailable`; returns other errors unchanged. */
export function withStorageProblem(error: unknown): unknown {
  const cause = asStorageError(error)
  if (cause === null) return error
  const retryAfterSeconds = RETRY_AFTER_SECONDS
  return problem('service_unavailable', TEXTS[cause.kind], { retryAfterSeconds, cause })
}

const TEXTS: Record<StorageErrorKind, string> = {
  full: 'The service has no storage left; nothing was changed.',
  busy: 'The service is too busy; nothing was changed.',
  unavailable: 'The storage of the service cannot be reached; nothing was changed.',
}
