// Outcomes that a caller is told, in the words of the contract.

import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import { AppError, type AppErrorOptions } from './app-error.ts'

/** An error with a code of the contract; the text defaults to the code's own sentence. */
export function problem(
  code: ErrorCode,
  message?: string,
  options: AppErrorOptions = {},
): AppError {
  return new AppError(code, message ?? errorCodes[code].sentence, options)
}

/** The answer for whatever is missing or not the caller's, in the door's words for no such route. */
export function notFound(): AppError {
  return problem('not_found', 'The account has no such resource, or the API has no such route.')
}
