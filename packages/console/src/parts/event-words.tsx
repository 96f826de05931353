// Describes an event in one line.

import type { EventKind } from '@mailroom/contract/vocabulary.ts'
import type { Event } from '@mailroom/sdk'
import { readPerson, subjectOf } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { Badge, type Tone } from './notice.tsx'

const kinds: Readonly<Record<EventKind, { tone: Tone; word: string }>> = {
  'message.received': { tone: 'info', word: 'Received' },
  'message.quarantined': { tone: 'warn', word: 'Quarantined' },
  'message.sent': { tone: 'good', word: 'Sent' },
  'message.failed': { tone: 'bad', word: 'Failed' },
  'message.bounced': { tone: 'bad', word: 'Bounced' },
  'message.complained': { tone: 'bad', word: 'Complaint' },
  'message.held': { tone: 'warn', word: 'Held' },
  'message.rejected': { tone: 'bad', word: 'Rejected' },
  'message.review_edited': { tone: 'info', word: 'Edited' },
  'message.review_commented': { tone: 'info', word: 'Comment' },
  'attachment.extracted': { tone: 'calm', word: 'Attachment read' },
  'thread.loop_suspected': { tone: 'warn', word: 'Loop' },
  'thread.updated': { tone: 'calm', word: 'Thread changed' },
  'thread.claimed': { tone: 'calm', word: 'Claimed' },
  'thread.released': { tone: 'calm', word: 'Released' },
  'inbox.expired': { tone: 'calm', word: 'Inbox expired' },
  'approver.created': { tone: 'info', word: 'Approver created' },
  'approver.deleted': { tone: 'warn', word: 'Approver deleted' },
  'domain.verified': { tone: 'good', word: 'Domain verified' },
  'domain.failed': { tone: 'bad', word: 'Domain failed' },
  'webhook.disabled': { tone: 'bad', word: 'Webhook disabled' },
  'account.quota_exceeded': { tone: 'bad', word: 'Storage full' },
  'webhook.test': { tone: 'calm', word: 'Webhook test' },
}

export function EventBadge({ event }: { event: Event }) {
  const { tone, word } = kinds[event.event as EventKind] ?? { tone: 'calm', word: event.event }
  return <Badge tone={tone}>{word}</Badge>
}

export function EventSubject({ event }: { event: Event }) {
  const { message, quarantined, domain, webhook, inbox, inbox_id, thread_id } = event
  if (quarantined !== undefined) return <span>{subjectOf(quarantined)}</span>
  if (domain !== undefined) return <a href={paths.domain(domain.id)}>{domain.domain}</a>
  if (inbox !== undefined) return <span>{inbox.address}</span>
  if (webhook !== undefined) return <a href={paths.webhook(webhook.id)}>{webhook.url}</a>
  const words = message === undefined ? 'Thread' : subjectOf(message)
  if (inbox_id !== null && thread_id !== null) {
    return <a href={paths.thread(inbox_id, thread_id)}>{words}</a>
  }
  return <span>{message === undefined ? event.event : words}</span>
}

export function eventParties({ message, quarantined, recipient }: Event): string {
  if (quarantined !== undefined) return `${quarantined.from} → ${quarantined.to}`
  if (message === undefined) return ''
  const from = readPerson(message.from)
  return `${from.name ?? from.address} → ${recipient ?? message.to}`
}
