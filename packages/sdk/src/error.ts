// The errors that the SDK throws.

import type { ErrorCode } from '@mailroom/contract/error-codes.ts'

export type MailroomErrorDetail = { path: string; message: string }

/** Codes known to this version, and any that the service may add. */
export type MailroomErrorCode = ErrorCode | (string & Record<never, never>)

/** The service responded with an error. */
export class MailroomError extends Error {
  override readonly name = 'MailroomError'
  readonly status: number
  readonly code: MailroomErrorCode
  /** The request's id in the log of the service; null if a gateway responded. */
  readonly requestId: string | null
  /** What to do next, in one sentence; null if unknown. */
  readonly fix: string | null
  /** The invalid fields. */
  readonly details: readonly MailroomErrorDetail[]
  /** Whole seconds after which a retry may succeed. */
  readonly retryAfterSeconds: number | null
  /** The complete error body, with the additional fields of some codes. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, headers: Headers, text: string) {
    const body = readBody(text)
    super(stringOf(body.message) ?? `The service responded with ${status}.`)
    this.status = status
    this.body = body
    this.code = stringOf(body.error) ?? codeOfStatus(status)
    this.requestId = stringOf(body.requestId) ?? headers.get('x-request-id')
    this.fix = stringOf(body.fix)
    this.details = Array.isArray(body.details) ? body.details.filter(isDetail) : []
    this.retryAfterSeconds = readRetryAfter(headers)
  }
}

/** There was no response, or the response cannot be parsed; `cause` has the reason. */
export class MailroomConnectionError extends Error {
  override readonly name: string = 'MailroomConnectionError'
}

/** There was no response within `timeoutMs`. */
export class MailroomTimeoutError extends MailroomConnectionError {
  override readonly name = 'MailroomTimeoutError'
}

/** Seconds from Retry-After (RFC 9110 §10.2.3), a number or a date; null without the header. */
export function readRetryAfter(headers: Headers): number | null {
  const value = headers.get('retry-after')
  if (value === null) return null
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

function readBody(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** The code for a response of a gateway, which has no code of the service. */
function codeOfStatus(status: number): MailroomErrorCode {
  if (status === 401) return 'unauthorized'
  if (status === 404) return 'not_found'
  if (status === 413) return 'payload_too_large'
  if (status === 429) return 'rate_limit_exceeded'
  return status >= 500 ? 'service_unavailable' : 'bad_request'
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function isDetail(value: unknown): value is MailroomErrorDetail {
  if (typeof value !== 'object' || value === null) return false
  return (
    'path' in value &&
    typeof value.path === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  )
}
