// Errors that a caller is informed of, with codes of the contract.

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
  /** Whole seconds until a retry may succeed. */
  retryAfterSeconds?: number
  /** Further response headers, with names in lower case. */
  headers?: Record<string, string>
  /** Further fields of the error body. */
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

/** An error with a code of the contract; the text defaults to the code's sentence. */
export function problem(
  code: ErrorCode,
  message?: string,
  options: AppErrorOptions = {},
): AppError {
  return new AppError(code, message ?? errorCodes[code].sentence, options)
}

/** A field whose value is refused; `message` follows its name. */
export function wrongField(
  path: string,
  message: string,
  code: ErrorCode = 'bad_request',
): AppError {
  return problem(code, `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

/** A query parameter whose value is refused; `message` follows its name. */
export function wrongQuery(path: string, message: string): AppError {
  return problem('bad_request', `The query parameter "${path}" ${message}.`, {
    details: [{ path, message }],
  })
}

/** Fields of a 429: the limit that was reached, and when a repeat may succeed. */
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

/** The error for resources that are missing or another account's; the same as for an unknown route. */
export function notFound(): AppError {
  return problem('not_found', 'The account has no such resource, or the API has no such route.')
}

/** The kind of a storage error; null for other errors. */
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
