// The fields of a message's header section to the values that are stored and acted on.

import type { Mailbox, ParsedHeaders } from '#mime/parsed-message.ts'
import { parseAddressList } from './address-list.ts'
import { automaticReason } from './automatic.ts'
import { parseDateTime } from './date-time.ts'
import { decodeWords } from './encoded-word.ts'
import type { HeaderField } from './header-fields.ts'
import { parseMessageId, parseMessageIds } from './message-id.ts'
import { cleanLine } from './safe-text.ts'

/** X-Loop fields that are read: more than the hops that may each have added one. */
const LOOP_MARKS_MAX = 100
/** In characters; the service's own have 26. */
const LOOP_MARK_LENGTH_MAX = 100

/** The first field of a name counts, those after it are not read. Never throws. */
export function readHeaders(fields: readonly HeaderField[]): ParsedHeaders {
  const first = new Map<string, string>()
  const loopMarks: string[] = []
  let receivedCount = 0
  let fromCount = 0
  for (const { name, value } of fields) {
    if (name === 'received') receivedCount += 1
    else if (name === 'x-loop') addLoopMark(loopMarks, value)
    else if (!first.has(name)) first.set(name, value)
    if (name === 'from') fromCount += 1
  }
  const authors = mailboxesOf(first.get('from'))
  const from = authors[0] ?? null
  const date = first.get('date')
  return {
    messageId: idOf(first.get('message-id')),
    inReplyTo: idsOf(first.get('in-reply-to')),
    references: idsOf(first.get('references')),
    subject: cleanLine(decodeWords(first.get('subject') ?? '')),
    from,
    authorCount: authors.length + Math.max(0, fromCount - 1),
    to: mailboxesOf(first.get('to')),
    cc: mailboxesOf(first.get('cc')),
    replyTo: mailboxesOf(first.get('reply-to')),
    date: date === undefined ? null : parseDateTime(date),
    automaticReason: automaticReason(fields, from?.address ?? null),
    receivedCount,
    loopMarks,
    hasListId: (first.get('list-id') ?? '') !== '',
  }
}

function addLoopMark(marks: string[], value: string): void {
  if (value.length > LOOP_MARK_LENGTH_MAX || marks.length >= LOOP_MARKS_MAX) return
  const mark = cleanLine(value)
  if (mark !== '') marks.push(mark)
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
