// Describes claims of workers on threads.

import { MailroomError, type Thread } from '@mailroom/sdk'
import { formatClock, formatRelative } from './format.ts'
import { client } from './session.ts'

type Claim = NonNullable<Thread['claim']>

export function claimWords({ owner, expiresAt }: Claim): string {
  return `${owner} has this thread until ${formatClock(expiresAt)} (${formatRelative(expiresAt)})`
}

/** Adds the owner of the claim to a `thread_claimed` error. Other errors are returned unchanged. */
export async function nameOwner(error: unknown, threadId: string): Promise<unknown> {
  if (!(error instanceof MailroomError) || error.code !== 'lease_lost') return error
  const thread = await client.threads.get(threadId).catch(() => null)
  if (!thread?.claim) return error
  return new Error(
    `${claimWords(thread.claim)}. Until then, no one else can change the thread or send in it.`,
  )
}
