// Finds the people an inbox or a thread knows. A header field is used only if its author is proven.

import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { addressKey } from '#platform/email-address.ts'
import {
  findWriters,
  readThreadMessages,
  SENDER_PROOFS,
  type SenderProof,
  type ThreadMessage,
} from '#policy/store/send-policies.ts'
import { CannotExamine } from './cannot-examine.ts'
import type { GuardDeps } from './judged-message.ts'

/** A message of a longer thread is held without examining the thread. */
const THREAD_MESSAGES_MAX = 5_000

export async function readThread(
  { db }: GuardDeps,
  { accountId }: Inbox,
  threadId: string,
): Promise<ThreadMessage[]> {
  const asked = { accountId, threadId, limit: THREAD_MESSAGES_MAX }
  const thread = await readThreadMessages(db, asked)
  if (thread === null) throw new CannotExamine('The thread is too long to be examined.')
  return thread
}

/** In the sandbox no mail leaves the machine, and nothing can be proven. */
export function proofMinOf({ carrier }: GuardDeps): SenderProof {
  return carrier === null ? SENDER_PROOFS.claimed : SENDER_PROOFS.verified
}

/** Proof is SPF or DKIM. Mail that an API key released from quarantine is never proof. */
export function findProvenWriters(
  deps: GuardDeps,
  { id: inboxId }: Inbox,
  keys: readonly string[],
): Promise<Set<string>> {
  return findWriters(deps.db, { inboxId, proofMin: proofMinOf(deps) }, keys)
}

export async function recipientsOf(
  deps: GuardDeps,
  inbox: Inbox,
  thread: readonly ThreadMessage[],
): Promise<Set<string>> {
  const proven = await provenOf(deps, inbox, thread)
  return keysOf(proven, ({ to, cc, bcc, isReceived }) => [...to, ...cc, ...(isReceived ? [] : bcc)])
}

async function provenOf(
  deps: GuardDeps,
  inbox: Inbox,
  thread: readonly ThreadMessage[],
): Promise<ThreadMessage[]> {
  const received = thread.filter(({ isReceived }) => isReceived)
  const authors = [...keysOf(received, ({ from }) => [from])]
  // A message that a key released may be verified, but its author does not become known.
  const writers = await findProvenWriters(deps, inbox, authors)
  return thread.filter((message) => {
    if (!message.isReceived) return true
    const isVerified = deps.carrier === null || message.isVerified
    const [author = ''] = keysOf([message], ({ from }) => [from])
    return !message.isImported && isVerified && writers.has(author)
  })
}

/** Finds addresses in From and Reply-To of the thread, and in To and Cc of proven authors. */
export async function peopleOf(
  deps: GuardDeps,
  inbox: Inbox,
  thread: readonly ThreadMessage[],
): Promise<Set<string>> {
  const proven = await provenOf(deps, inbox, thread)
  // The agent itself may have written imported messages.
  const own = thread.filter(({ isReceived, isImported }) => !isReceived || !isImported)
  return new Set([
    ...keysOf(own, ({ from, replyTo }) => [from, replyTo ?? '']),
    ...keysOf(proven, ({ to, cc }) => [...to, ...cc]),
  ])
}

function keysOf(
  messages: readonly ThreadMessage[],
  fieldsOf: (message: ThreadMessage) => readonly string[],
): Set<string> {
  const addresses = messages.flatMap((message) =>
    fieldsOf(message).flatMap((field) => parseAddressList(field).map(({ address }) => address)),
  )
  return new Set(addresses.map(addressKey))
}
