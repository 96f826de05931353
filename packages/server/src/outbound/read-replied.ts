// The thread that a send replies in, as far as the reply has to know it.

import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { COMPOSED_HEADER_OCTETS_MAX } from '@mailroom/mail/compose/reply-fields.ts'
import type { Inbox } from '#inboxes/inbox.ts'
import type { Message } from '#mailbox/message.ts'
import type { Thread } from '#mailbox/thread.ts'
import { findCopiedFrom, findLastMessage, listThreadIds } from '#mailbox/thread-chain-rows.ts'
import { findThread } from '#mailbox/thread-rows.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { findSuppressed } from './suppression-rows.ts'

export type Replied = {
  thread: Thread
  /** The newest message. */
  last: Message
  /** Message-IDs of its messages, oldest first: all, or the first and the newest where no header holds all. */
  rfcMessageIds: string[]
  /** Who wrote to others and copied the inbox; null where nobody did, or nobody to write to. */
  copiedBy: string | null
}

/** Null for a send that starts a thread; `not_found` when the inbox has no such thread. */
export async function readReplied(
  deps: { db: Db },
  input: { accountId: string; inbox: Inbox; threadId: string | null },
): Promise<Replied | null> {
  const { accountId, inbox, threadId } = input
  if (threadId === null) return null
  const thread = await findThread(deps.db, accountId, threadId)
  if (thread === null || thread.inboxId !== inbox.id) throw noThread()
  const [last, rfcMessageIds, from] = await Promise.all([
    findLastMessage(deps.db, { accountId, threadId }),
    listThreadIds(deps.db, { accountId, threadId, octetsMax: COMPOSED_HEADER_OCTETS_MAX }),
    findCopiedFrom(deps.db, { accountId, threadId }),
  ])
  // Its inbox was deleted since.
  if (last === null) throw notFound()
  return { thread, last, rfcMessageIds, copiedBy: await findCopier(deps, accountId, from) }
}

function noThread() {
  const fix = 'Use the id of a thread of this inbox, or leave threadId out to start one.'
  return problem('not_found', notFound().message, { fix })
}

/** Their bare address, unless the account does not write to it. */
async function findCopier(
  deps: { db: Db },
  accountId: string,
  fromAddr: string | null,
): Promise<string | null> {
  const address = fromAddr === null ? undefined : parseAddressList(fromAddr)[0]?.address
  if (address === undefined || checkEmailAddress(address) !== null) return null
  const suppressed = await findSuppressed(deps.db, accountId, [addressKey(address)])
  return suppressed === null ? address : null
}
