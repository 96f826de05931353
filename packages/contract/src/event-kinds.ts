// The table in docs/event-kinds.md: when each kind of event occurs and which fields it has.

import { type EventKind, eventKinds, type ReviewEventKind, reviewEventKinds } from './vocabulary.ts'

type Explained = {
  /** When the event occurs, in one sentence. */
  readonly happens: string
  /** Envelope fields of this kind of event, in addition to the fields of every event. */
  readonly holds: string
}

const MESSAGE = '`inbox_id`, `pod_id`, `thread_id`, `message`'
const THREAD = '`inbox_id`, `pod_id`, `thread_id`'
const APPROVER = '`approver` with `id` and `name`'
const DOMAIN = '`pod_id`, `domain` with `id`, `domain`, `status` and `pod_id`'

const REVIEW = '`inbox_id`, `pod_id`, `thread_id`, `review` with `id`, `message_id`, `status`'

export const eventKindTable: Readonly<Record<EventKind | ReviewEventKind, Explained>> = {
  'message.received': { happens: 'Mail arrived at an inbox.', holds: MESSAGE },
  'message.quarantined': {
    happens: 'Mail for an inbox was quarantined by a rule or for malware.',
    holds:
      '`inbox_id`, `pod_id`, `quarantined` with `id`, `from`, `to`, `subject`, `reason`, `rule_id`, `auto_replyable` (false), `category`, `category_reasons`, `verdict` and `spam_score`, without the text',
  },
  'message.sent': {
    happens:
      'The delivery to every recipient is final, and at least one server accepted the message.',
    holds: MESSAGE,
  },
  'message.failed': {
    happens: 'The delivery to every recipient is final, and no server accepted the message.',
    holds: `${MESSAGE} with \`failure_reason\``,
  },
  'message.bounced': {
    happens: 'A report says that an accepted message could not be delivered to a recipient.',
    holds: `${MESSAGE}, \`recipient\`, \`bounce\` with \`class\`, \`enhanced_code\` and \`response\``,
  },
  'message.complained': {
    happens: 'A recipient reported a message as unwanted.',
    holds: `${MESSAGE}, \`recipient\``,
  },
  'message.held': {
    happens: 'A message is held until a person approves it.',
    holds: `${MESSAGE}, \`hold\` with \`id\`, \`reasons\`, \`digest\` and \`expires_at\``,
  },
  'message.rejected': {
    happens: 'A person rejected a message, or its approval expired. It is not sent.',
    holds: `${MESSAGE}, \`review\` with \`id\`, \`status\` and \`reason\``,
  },
  'message.review_edited': {
    happens: 'An approver edited a held message, which is still held.',
    holds: `${MESSAGE}, \`review\` with \`id\`, \`status\`, \`reason\` (null), \`digest\` and \`changed\``,
  },
  'message.review_commented': {
    happens: 'An approver or a key commented on a held or decided message.',
    holds: `${MESSAGE}, \`review\` with \`id\`, \`status\`, \`reason\` and \`comment_id\``,
  },
  'attachment.extracted': {
    happens:
      'Text extraction from an attachment succeeded or failed, either after its message arrived or on request.',
    holds: `${MESSAGE}, \`attachment\` with \`filename\`, \`contentType\`, \`extractionMethod\` and \`isTruncated\``,
  },
  'thread.loop_suspected': {
    happens: 'Two programs seem to reply to each other endlessly in a thread.',
    holds: THREAD,
  },
  'thread.updated': {
    happens:
      'A client changed the read flag, labels, metadata, assignee or snooze of a thread. Not emitted when mail is received or sent.',
    holds: `${THREAD}, \`thread\` with \`changed\`, \`is_read\`, \`labels\`, \`assignee\` and \`snoozed_until\``,
  },
  'thread.claimed': {
    happens: 'A worker claimed a thread. Not emitted for renewals.',
    holds: `${THREAD}, \`claim\` with \`owner\`, \`fence\` and \`expires_at\``,
  },
  'thread.released': {
    happens: 'A worker released its claim on a thread, or its lease expired.',
    holds: `${THREAD}, \`claim\` with \`owner\`, \`fence\`, \`expires_at\` and \`reason\``,
  },
  'inbox.expired': {
    happens: 'An inbox deleted itself at its `expiresAt`.',
    holds: '`inbox_id`, `pod_id`, `inbox` with `id`, `address` and `expires_at`',
  },
  'approver.created': {
    happens: 'An approver was created by a key, by another approver or on the server.',
    holds: APPROVER,
  },
  'approver.deleted': {
    happens: 'An approver was deleted.',
    holds: APPROVER,
  },
  'domain.verified': {
    happens: 'The DNS records of a custom domain are correct.',
    holds: DOMAIN,
  },
  'domain.failed': {
    happens: 'The DNS records of a custom domain have been wrong or missing for too long.',
    holds: DOMAIN,
  },
  'webhook.disabled': {
    happens: 'A webhook was disabled after failing for five days.',
    holds: '`webhook` with `id`, `url` and `reason`',
  },
  'account.quota_exceeded': {
    happens:
      'The account reached its storage quota, and mail to its inboxes is refused. Emitted once each time the quota is reached.',
    holds: '`storage` with `stored_bytes` and `limit_bytes`',
  },
  'webhook.test': {
    happens: 'A webhook was tested; only that webhook receives the event.',
    holds: '`webhook` with `id` and `url`',
  },
  'review.created': {
    happens: 'A message was held and awaits a decision. Only webhooks of approvers get this event.',
    holds: `${REVIEW} (pending), \`reason\` (null), \`digest\`, \`reasons\` and \`expires_at\``,
  },
  'review.edited': {
    happens: 'An approver edited a held message. Only webhooks of approvers get this event.',
    holds: `${REVIEW} (pending), \`reason\` (null), \`digest\`, \`reasons\`, \`changed\` and \`edited_by\``,
  },
  'review.commented': {
    happens:
      'An approver or a key commented on a review. Only webhooks of approvers get this event.',
    holds: `${REVIEW}, \`reason\`, \`comment_id\` and \`author_id\``,
  },
  'review.decided': {
    happens:
      'A review was approved or rejected, expired, or ended because its message was cancelled or removed. Only webhooks of approvers get this event.',
    holds: `${REVIEW}, \`reason\` and \`decided_by\``,
  },
}

export function renderEventKindsPage(): string {
  const rows = [...eventKinds, ...reviewEventKinds].map((kind) => {
    const { happens, holds } = eventKindTable[kind]
    return `| \`${kind}\` | ${happens} | ${holds} |`
  })
  return `# Kinds of events

<!-- Made by \`npm run generate\` from packages/contract/src/event-kinds.ts; do not edit. -->

Every event has \`event\` (its kind), \`event_id\`, \`occurred_at\`, \`delivered_at\`, \`attempt\`, \`inbox_id\`,
\`pod_id\` and \`thread_id\`; the last three are \`null\` if they do not apply.

| Kind | Happens when | Fields |
|---|---|---|
${rows.join('\n')}
`
}
