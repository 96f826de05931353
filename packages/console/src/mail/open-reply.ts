// Opens the draft of a reply or forward with its recipients and subject.

import type { Message } from '@mailroom/sdk'
import { replyRecipient } from '@mailroom/sdk/sending.ts'
import { formatPerson, readPerson } from '#data/format.ts'
import { openCompose } from '#data/open-draft.ts'
import { everybodyIn, keyOf } from '#data/recipients.ts'

export function openReply(message: Message): void {
  openCompose({
    inboxId: message.inboxId,
    replied: message,
    to: replyAddress(message),
    subject: subjectAfter('Re', message),
  })
}

/** The recipient of the reply, with the author's name if it is the author. */
function replyAddress(message: Message): string {
  const recipient = replyRecipient(message)
  const author = readPerson(message.fromAddr)
  return keyOf(recipient) === author.address.toLowerCase() ? formatPerson(author) : recipient
}

export function openReplyToAll(message: Message): void {
  const everybody = everybodyIn(message)
  openCompose({
    inboxId: message.inboxId,
    replied: message,
    everybody,
    to: everybody.to.join(', '),
    cc: everybody.cc,
    subject: subjectAfter('Re', message),
  })
}

export function openForward(message: Message): void {
  openCompose({
    inboxId: message.inboxId,
    forwarded: message,
    subject: subjectAfter('Fwd', message),
  })
}

/** Whether a reply to all has more than one recipient. */
export function hasOthers(message: Message): boolean {
  const { to, cc } = everybodyIn(message)
  return to.length + cc.length > 1
}

function subjectAfter(prefix: 'Re' | 'Fwd', { subject }: Message): string {
  return subject.toLowerCase().startsWith(`${prefix.toLowerCase()}:`)
    ? subject
    : `${prefix}: ${subject}`
}
