// The fields of a message's header section to the values that are stored and acted on.

import { parseAddressList } from './address-list.ts'
import { automaticReason } from './automatic.ts'
import { parseDateTime } from './date-time.ts'
import { decodeWords } from './encoded-word.ts'
import type { HeaderField } from './header-fields.ts'
import { parseMessageId, parseMessageIds } from './message-id.ts'
import type { Mailbox, ParsedHeaders } from './parsed-message.ts'
import { cleanLine } from './safe-text.ts'

/** The first field of a name counts, those after it are not read. Never throws. */
export function readHeaders(fields: readonly HeaderField[]): ParsedHeaders {
  const first = new Map<string, string>()
  let receivedCount = 0
  for (const { name, value } of fields) {
    if (name === 'received') receivedCount += 1
    else if (!first.has(name)) first.set(name, value)
  }
  const from = mailboxesOf(first.get('from'))[0] ?? null
  const date = first.get('date')
  return {
    messageId: idOf(first.get('message-id')),
    inReplyTo: idsOf(first.get('in-reply-to')),
    references: idsOf(first.get('references')),
    subject: cleanLine(decodeWords(first.get('subject') ?? '')),
    from,
    to: mailboxesOf(first.get('to')),
    cc: mailboxesOf(first.get('cc')),
    replyTo: mailboxesOf(first.get('reply-to')),
    date: date === undefined ? null : parseDateTime(date),
    automaticReason: automaticReason(fields, from?.address ?? null),
    receivedCount,
  }
}

function mailboxesOf(field: string | undefined): Mailbox[] {
  return field === undefined ? [] : parseAddressList(field)
}

function idOf(field: string | undefined): string | null {
  return field === undefined ? null : parseMessageId(field)
}

function idsOf(field: string | undefined): string[] {
  return field === undefined ? [] : parseMessageIds(field)
}
