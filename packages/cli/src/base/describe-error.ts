// The text and exit code of a failed command.

import { MailroomConnectionError, MailroomError } from '@mailroom/sdk'
import { type ExitName, exitCodes, Failure } from './failure.ts'
import { plainBlock, plainLine } from './plain-text.ts'
import { howToSignIn } from './session.ts'

export type DescribedError = {
  readonly exitCode: number
  /** Lines for standard error. */
  readonly text: string
}

/** The service that the command called, if known. */
export type Called = {
  readonly baseUrl: string
  readonly keySource: string | null
  readonly hasLeaseToken: boolean
}

export function describeError(error: unknown, called: Called | null): DescribedError {
  const { exit, message, more } = explain(error, called)
  const lines = more.flatMap((text) => plainBlock(text).split('\n'))
  return {
    exitCode: exitCodes[exit].code,
    text: [`mailroom: ${plainBlock(message)}`, ...lines.map((line) => `  ${line}`), ''].join('\n'),
  }
}

type Explained = { exit: ExitName; message: string; more: string[] }

function explain(error: unknown, called: Called | null): Explained {
  if (error instanceof Failure) {
    return { exit: error.exit, message: error.message, more: error.fix === null ? [] : [error.fix] }
  }
  if (error instanceof MailroomError) return explainRefusal(error, called)
  if (error instanceof MailroomConnectionError) {
    const where = called?.baseUrl ?? 'the service'
    const reason = reasonOf(error)
    return {
      exit: 'unavailable',
      message: `Cannot connect to ${where}: ${reason}`,
      more: [
        'Is the service running? "npm start" in its checkout starts it. For another service, set --url or MAILROOM_BASE_URL.',
      ],
    }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { exit: 'failed', message, more: [] }
}

function explainRefusal(error: MailroomError, called: Called | null): Explained {
  const { status, code, requestId, fix, details, retryAfterSeconds } = error
  const isUnauthorized = status === 401
  const more = details
    .filter(({ path, message }) => !error.message.includes(`${path} ${message}`))
    .map(({ path, message }) => plainLine(`${path}: ${message}`))
  if (isUnauthorized && called !== null) {
    const { baseUrl, keySource } = called
    if (keySource !== null) more.push(`The key is from ${keySource}, for ${baseUrl}.`)
    more.push(howToSignIn(baseUrl))
  } else if (code === 'lease_lost' && called?.hasLeaseToken === false) {
    more.push(
      'Give --lease-token or set MAILROOM_LEASE_TOKEN. Without the token, claim the thread after the current claim ends.',
    )
  } else if (fix !== null) more.push(fix)
  if (retryAfterSeconds !== null) more.push(`Try again in ${retryAfterSeconds} seconds.`)
  if (requestId !== null) more.push(`Request ${plainLine(requestId)}`)
  return { exit: exitOf(status, code), message: `${error.message} (${code})`, more }
}

function exitOf(status: number, code: string): ExitName {
  if (code === 'webhook_failed') return 'failed'
  if (status === 401) return 'unauthorized'
  if (status === 404) return 'notFound'
  if (status === 429) return 'rateLimited'
  return status >= 500 ? 'unavailable' : 'refused'
}

/** Finds the system error, which is nested several causes deep. */
function reasonOf(error: MailroomConnectionError): string {
  let reason = error.message
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return `${reason} (${cause.code})`
    if (!(cause instanceof TypeError) && cause.message !== '') reason = cause.message
  }
  return reason
}
