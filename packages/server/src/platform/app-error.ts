// An outcome that a caller must be told: a code of the public vocabulary, a text for the caller and,
// apart from it, a cause for the log. Doors turn it into a response; nothing else does.

export const RETRY_AFTER_SECONDS = 2

export type ErrorDetail = { path: string; message: string }

export type AppErrorOptions = {
  /** One sentence: what the caller can do next. */
  fix?: string
  details?: ErrorDetail[]
  /** Whole seconds until a repeat may succeed. */
  retryAfterSeconds?: number
  /** Further headers of the answer, names in lower case. */
  headers?: Record<string, string>
  /** Further public fields of the error body. */
  fields?: Record<string, string>
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
