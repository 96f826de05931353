// Turns errors into sentences for a person.

import { MailroomConnectionError, MailroomError } from '@mailroom/sdk'
import { formatDuration } from './format.ts'

export type Failure = {
  message: string
  fix: string | null
  /** Messages by field name. */
  fields: Readonly<Record<string, string>>
  isGone: boolean
}

/** Replaces hints that are meant for programs with what the console offers. */
const consoleWords: Readonly<Record<string, { message: string; fix: string }>> = {
  delivery_pending: {
    message: 'The thread has a message that is being sent, is scheduled or awaits approval.',
    fix: 'Cancel that message, or wait until its delivery has finished.',
  },
  thread_trashed: {
    message: 'The thread is in the trash, so nothing can be sent in it.',
    fix: 'Restore the thread first.',
  },
  lease_lost: {
    message: 'A worker has claimed the thread, so no one else can change it or send in it.',
    fix: 'Wait until the worker is done or its claim expires.',
  },
  organizer_unverified: {
    message: 'The organizer of this invitation could not be verified, so it cannot be answered.',
    fix: 'If you trust it, reply to the message instead.',
  },
  not_invited: {
    message: 'The invitation does not name the address of this inbox.',
    fix: 'Reply to the message instead.',
  },
}

export function describeFailure(error: unknown): Failure {
  if (error instanceof MailroomError) {
    const words = consoleWords[error.code]
    if (words !== undefined) return { ...words, fields: {}, isGone: false }
    const fields = Object.fromEntries(error.details.map(({ path, message }) => [path, message]))
    const wait = error.retryAfterSeconds
    const isToWait = wait !== null && error.fix?.includes('Retry-After')
    const fix = isToWait ? `Try again in ${formatDuration(wait * 1_000)}.` : error.fix
    return { message: error.message, fix, fields, isGone: error.status === 404 }
  }
  if (error instanceof MailroomConnectionError || error instanceof TypeError) {
    return {
      message: 'The service could not be reached.',
      fix: 'Check that it is running and that you are online, then try again.',
      fields: {},
      isGone: false,
    }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { message, fix: null, fields: {}, isGone: false }
}
