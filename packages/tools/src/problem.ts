// Error texts for a model: what happened, and what to do next.

import { MailroomConnectionError, MailroomError } from '@mailroom/sdk'
import { oneLine } from './fence.ts'

const MESSAGE_LENGTH_MAX = 500
const DETAILS_MAX = 10

/** An expected failure whose message says what the model can do. */
export class ToolProblem extends Error {
  override readonly name = 'ToolProblem'
}

/** The text for anything thrown, without details of unexpected errors. */
export function explain(thrown: unknown): string {
  if (thrown instanceof ToolProblem) return thrown.message
  if (thrown instanceof MailroomError) return explainRefusal(thrown)
  if (thrown instanceof MailroomConnectionError) {
    return `The Mailroom service could not be reached: ${oneLine(thrown.message)} The call may or may not have taken effect. Wait a few seconds and call again: a send with the same content is not sent twice. If that does not help, tell the person that the service seems to be down.`
  }
  return 'The tool failed. Call it again once; if it fails again, tell the person.'
}

export function isExpected(thrown: unknown): boolean {
  return [ToolProblem, MailroomError, MailroomConnectionError].some(
    (kind) => thrown instanceof kind,
  )
}

/** Models name these in `files`. */
const FILE_REFERENCE = /^attachments\[\d+\]\.(?:uploadId|messageId)$/
const FILE_FIELD = /The field "attachments\[\d+\]\.\w+"/
const FILE_FIX =
  'Upload the file to a URL of upload_link first, and name its id; or name a file of a message: msg_…/filename.'

function explainRefusal(error: MailroomError): string {
  if (error.status === 401) {
    return 'The service refused the API key: it is missing, unknown or revoked. No tool can fix this. Tell the person that this connection needs another key (MAILROOM_API_KEY, or the Authorization header).'
  }
  const details = error.details
    .filter(({ message }) => !error.message.includes(message))
    .slice(0, DETAILS_MAX)
    .map(({ path, message }) => `- ${oneLine(path)}: ${oneLine(message)}`)
  const { retryAfterSeconds } = error
  const wait = retryAfterSeconds === null ? '' : `Wait ${retryAfterSeconds} seconds first.`
  const reference = `(${[error.code, error.requestId].filter(Boolean).join(', ')})`
  const isOfFile = error.details.some(({ path }) => FILE_REFERENCE.test(path))
  const message = isOfFile ? error.message.replace(FILE_FIELD, 'An entry of files') : error.message
  const sentences = [
    oneLine(message, MESSAGE_LENGTH_MAX),
    oneLine(isOfFile ? FILE_FIX : (error.fix ?? '')),
    wait,
    reference,
  ]
  return [sentences.filter((part) => part !== '').join(' '), ...details].join('\n')
}

export function isNotFound(thrown: unknown): boolean {
  return thrown instanceof MailroomError && thrown.code === 'not_found'
}

/** Rejects with `problem` in place of the service's "not found"; otherwise the same promise. */
export async function orElse<Value>(
  asked: Promise<Value>,
  problem: () => ToolProblem,
): Promise<Value> {
  try {
    return await asked
  } catch (thrown) {
    throw isNotFound(thrown) ? problem() : thrown
  }
}
