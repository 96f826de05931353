// Opens the draft of a reply with its recipients and subject.

import type { Message } from '@mailroom/sdk'
import { replyRecipient } from '@mailroom/sdk/sending.ts'
import { openCompose } from '#data/compose.ts'
import { readPerson } from '#data/format.ts'

export function openReply(message: Message): void {
  openCompose({
    inboxId: message.inboxId,
    replied: message,
    to: replyRecipient(message),
    subject: repliedSubject(message.subject),
  })
}

/** Also to everybody who got the message, except the inbox itself. */
export function openReplyToAll(message: Message): void {
  const to = replyRecipient(message)
  const own = readPerson(message.direction === 'inbound' ? message.toAddr : message.fromAddr)
  const others = [...(message.headerTo?.split(', ') ?? []), ...message.cc]
    .map((text) => readPerson(text).address)
    .filter((address) => !isSame(address, own.address) && !isSame(address, to))
  openCompose({
    inboxId: message.inboxId,
    replied: message,
    to,
    cc: [...new Set(others)],
    subject: repliedSubject(message.subject),
  })
}

export function hasOthers(message: Message): boolean {
  return message.cc.length > 0 || (message.headerTo ?? '').includes(', ')
}

function repliedSubject(subject: string): string {
  return /^re:/i.test(subject) ? subject : `Re: ${subject}`
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
