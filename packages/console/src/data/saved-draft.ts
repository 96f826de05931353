// Opening a stored draft where it belongs: a reply or forward in its thread, others by themselves.

import { MailroomError, type Message, type Draft as SavedDraft } from '@mailroom/sdk'
import { replyRecipient } from '@mailroom/sdk/sending.ts'
import { type Draft, forwardMark } from './composed-message.ts'
import { everybodyIn } from './recipients.ts'
import { client } from './session.ts'

export type OpenedDraft = { saved: SavedDraft; draft: Draft }

/** The draft, with the newest message of its thread or the message that it forwards. */
export async function readSavedDraft(id: string, signal: AbortSignal): Promise<OpenedDraft> {
  const saved = await client.drafts.get(id, { signal })
  const forwardedId = forwardedIn(saved)
  const forwarded =
    forwardedId === null ? null : await found(() => client.messages.get(forwardedId, { signal }))
  const { threadId } = saved
  const replied = threadId === null ? null : await found(() => newestIn(threadId, signal))
  return { saved, draft: draftOf(saved, { replied, forwarded }) }
}

/** The message that the draft forwards. */
export function forwardedIn({ clientId }: SavedDraft): string | null {
  return clientId?.startsWith(forwardMark)
    ? (clientId.slice(forwardMark.length).split(' ')[0] ?? null)
    : null
}

export function draftOf(
  saved: SavedDraft,
  { replied, forwarded }: { replied: Message | null; forwarded: Message | null },
): Draft {
  const isToAll = saved.replyAll && saved.to.length === 0
  const everybody = isToAll && replied !== null ? everybodyIn(replied) : null
  const to = everybody?.to ?? saved.to
  return {
    inboxId: saved.inboxId,
    replied,
    forwarded,
    everybody,
    to: to.join(', ') || (replied === null ? '' : replyRecipient(replied)),
    cc: [...(everybody?.cc ?? []), ...saved.cc],
    subject: saved.subject ?? replied?.subject ?? '',
  }
}

async function newestIn(threadId: string, signal: AbortSignal): Promise<Message | null> {
  const { messageCount } = await client.threads.get(threadId, { signal })
  const newest = { limit: 1, offset: Math.max(0, messageCount - 1), signal }
  return (await client.threads.messages(threadId, newest)).data[0] ?? null
}

/** Returns null if the message no longer exists. */
async function found(read: () => Promise<Message | null>): Promise<Message | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof MailroomError && error.status === 404) return null
    throw error
  }
}
