// What the service itself says of a message in a view, outside the fence: facts in words of its own,
// and nothing that a sender could have written.

import { kilobytes } from './link-text.ts'
import { describeRemovals, type Removal } from './removal.ts'
import { hasOtherReplyTo } from './untrusted-text.ts'
import type { ViewedMessage } from './viewed-message.ts'

/** Lines of a list. */
export function describeMessage(message: ViewedMessage, removed: readonly Removal[]): string[] {
  return [
    ...describeOrigin(message),
    ...describeFiles(message),
    ...describeChanges(message, removed),
  ].map((line) => `- ${line}`)
}

/** The same in one short line, for where there is little room. */
export function describeShortly(message: ViewedMessage): string {
  const { sender, isFirstContact, dateMs } = message
  const words = {
    verified: 'sender verified',
    unverified: 'sender UNVERIFIED',
    unchecked: 'sender NOT CHECKED',
    own: 'sent by this inbox',
  }
  return `- ${timeOf(dateMs)}, ${words[sender.kind]}${isFirstContact ? ', first contact' : ''}`
}

function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')
}

function describeOrigin(message: ViewedMessage): string[] {
  const date = timeOf(message.dateMs)
  const { inboxAddress, automaticReason, isFirstContact } = message
  if (message.direction === 'outbound')
    return [`outbound, from ${inboxAddress}, ${date}, ${message.status}`]
  return [
    `inbound, to ${inboxAddress}, ${date}`,
    describeSender(message.sender),
    ...(isFirstContact
      ? ['first contact: this address has never written to this inbox before']
      : []),
    ...(hasOtherReplyTo(message)
      ? ['answers would go to another address than it comes from: see Reply-To']
      : []),
    ...(automaticReason === null ? [] : [`automatic: a program sent it (${automaticReason})`]),
  ]
}

function describeSender(sender: ViewedMessage['sender']): string {
  switch (sender.kind) {
    case 'verified': {
      const isPlain = sender.domain !== null && /^[a-z0-9.-]{1,253}$/i.test(sender.domain)
      return `verified: the mail is authenticated for ${isPlain ? sender.domain : 'the domain of its From address'}`
    }
    case 'unverified':
      return 'UNVERIFIED: anyone could have written this From address'
    case 'unchecked':
      return 'NOT CHECKED: nothing is known of the sender; anyone could have written this From address'
    case 'own':
      return 'sent by this inbox'
  }
}

function describeFiles({ id, attachments }: ViewedMessage): string[] {
  if (attachments.length === 0) return []
  const total = attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const count = attachments.length === 1 ? '1 attachment' : `${attachments.length} attachments`
  return [`${count}, ${kilobytes(total)}, named in the mail: GET /v1/attachments/${id}/{name}`]
}

function describeChanges(message: ViewedMessage, removed: readonly Removal[]): string[] {
  const { threadId, body, isBeyond } = message
  const changes: string[] = []
  if (removed.length > 0) changes.push(`left out, unseen by people: ${describeRemovals(removed)}`)
  if (body.pixels > 0) changes.push(`left out: ${counted(body.pixels, 'tracking pixel')}`)
  if (body.foldedLines > 0) {
    changes.push(
      `folded: ${counted(body.foldedLines, 'line')} of quoted history, which earlier messages of GET /v1/threads/${threadId}/view hold; unfold=true shows it here`,
    )
  }
  if (body.shortenedLinks > 0) {
    changes.push(`shortened: ${counted(body.shortenedLinks, 'link')}; links=full has them whole`)
  }
  if (body.source === 'unread-html') {
    changes.push(
      'its HTML is too large or deep to be read: shown is its text, from which hidden parts may not be gone',
    )
  }
  if (body.isCut || isBeyond) changes.push('cut: there is more of it')
  if (changes.length > 0) changes.push('whole: GET /v1/messages/{id}/raw')
  return changes
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
