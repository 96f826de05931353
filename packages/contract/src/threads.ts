// Threads: messages of an inbox that reply to each other, with a read flag.

import {
  ASSIGNEE_LENGTH_MAX,
  LABELS_LISTED_MAX,
  labelChanges,
  labelsFilter,
  metadataChange,
  metadataFilter,
  shownLabels,
  shownMetadata,
} from './labels.ts'
import { FILTER_NOTES, filteredListOf, filterProperties } from './mail-filters.ts'
import { LISTED_BODIES_NOTE, Message, ViewQuery } from './messages.ts'
import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import {
  count,
  nullableLine,
  nullableOneOf,
  nullableText,
  nullableTime,
  oneOf,
  text,
  time,
} from './text.ts'
import { COUNTED_MAX, messageCategories, messageDirections, threadStates } from './vocabulary.ts'

export const Participant = Type.Object(
  {
    name: nullableText('The display name in the messages, at most 100 characters; null for none.'),
    address: text('The email address.'),
  },
  { description: 'A correspondent of the inbox in a thread.' },
)
export type Participant = Static<typeof Participant>

const LastMessage = Type.Object(
  {
    direction: oneOf(messageDirections, 'Whether the inbox received or sent the message.'),
    state: oneOf(
      threadStates,
      'received for inbound mail. Outbound: held for approval, scheduled, queued for delivery, sent, failed, rejected by an approver or not approved in time, or cancelled.',
    ),
    to: Type.Array(Participant, {
      description: 'Outbound only: the recipients in To, at most 10. Empty for inbound mail.',
    }),
  },
  { description: 'The newest message of a thread.' },
)

export const ThreadClaim = Type.Object(
  {
    owner: text('The owner in the claim.'),
    fence: count('The number of the claim; later claims of the thread have higher numbers.'),
    expiresAt: time('When the lease expires unless it is renewed.'),
  },
  { description: 'The claim that a worker holds on the thread.' },
)

export const Thread = Type.Object(
  {
    id: text('The id.'),
    inboxId: text('The inbox of the thread.'),
    subject: text('Subject of the first message.'),
    lastMessageAt: time('When the newest message was received or accepted for sending.'),
    isRead: Type.Boolean({
      description:
        'Whether the thread is read: set by the client and by a reply, cleared by new inbound mail.',
    }),
    messageCount: count('Messages in the thread.'),
    unreadCount: count(
      'Messages received since the thread was last read: 0 while isRead is true, at least 1 while it is false.',
    ),
    participants: Type.Array(Participant, {
      description:
        'Senders of received messages and recipients (to and cc) of sent ones, newest first, each address once, at most 10. The inbox itself is listed only if there is no other address.',
    }),
    snippet: text(
      'The beginning of the newest message, at most 160 characters on one line: its new text, or the quoted text if it has no new text. Empty if the message has no text.',
    ),
    lastMessage: LastMessage,
    hasAttachments: Type.Boolean({
      description: 'Whether a message of the thread has attachments.',
    }),
    category: nullableOneOf(
      messageCategories,
      'The category of the newest received message; null if no message was received.',
    ),
    labels: shownLabels,
    metadata: shownMetadata,
    assignee: nullableText(
      'The assignee of the thread, a text chosen by the client; null for none.',
    ),
    snoozedUntil: nullableTime(
      'When the snooze ends; until then, claims skip the thread. Null once the time is reached or new mail arrives.',
    ),
    claim: Type.Union([ThreadClaim, Type.Null()], {
      description: 'The current claim on the thread; null if there is none.',
    }),
    createdAt: time('When the first message was received or accepted for sending.'),
    trashedAt: nullableTime(
      'When the thread was moved to the trash; it is removed 30 days later. Null while it is not in the trash.',
    ),
  },
  { description: 'A conversation in an inbox.' },
)
export type Thread = Static<typeof Thread>

export const UpdateThread = Type.Object(
  {
    is_read: Type.Optional(
      Type.Boolean({
        description: 'Whether the thread is read; an alias of isRead.',
      }),
    ),
    isRead: Type.Optional(Type.Boolean({ description: 'An alias of is_read.' })),
    ...labelChanges,
    metadata: metadataChange,
    assignee: Type.Optional(
      nullableLine({
        minLength: 1,
        maxLength: ASSIGNEE_LENGTH_MAX,
        description: 'The assignee of the thread, a text chosen by the client; null for none.',
      }),
    ),
    snoozedUntil: Type.Optional(
      nullableTime(
        'Snoozes the thread until this time, or until new mail arrives, so that claims skip it. Null or a past time ends the snooze.',
      ),
    ),
  },
  { additionalProperties: false },
)
export type UpdateThread = Static<typeof UpdateThread>

export const ThreadMessages = Type.Object(
  {
    threadId: text('The thread.'),
    inboxId: text('The inbox of the thread.'),
    subject: text('The subject of the thread.'),
    isRead: Type.Boolean({ description: 'The read state; reading a thread does not change it.' }),
    data: Type.Array(Message, { description: 'The messages, oldest first.' }),
  },
  { description: 'The messages of a thread.' },
)
export type ThreadMessages = Static<typeof ThreadMessages>

const LabelInUse = Type.Object(
  { label: text('A label of at least one thread.') },
  { description: 'A label in use.' },
)

const parameters = { id: 'The id of a thread.' } as const

export const threadOperations = {
  'threads.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/threads',
    tag: 'Threads',
    summary: 'List threads of an inbox.',
    notes: `Ordered by newest message, newest first. With labels, metadata, assignee or snoozed, total is at most ${COUNTED_MAX}. A thread matches direction, from, to, subject and has_attachment if one of its messages matches all of them. ${FILTER_NOTES}`,
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      is_read: Type.Optional(
        Type.Boolean({
          description:
            'Only read (true) or only unread (false) threads. isRead is an alias; contradictory values are refused.',
        }),
      ),
      category: Type.Optional(
        oneOf(
          messageCategories,
          `Only threads whose newest received message has this category; total then counts up to ${COUNTED_MAX}.`,
        ),
      ),
      ...filterProperties({
        from: 'threads with a message',
        since: 'threads whose newest message is',
        files:
          'Only threads with a message that has attachments (true), or without any attachment (false).',
      }),
      direction: Type.Optional(
        oneOf(
          messageDirections,
          `Only threads with a message that the inbox received (inbound) or sent (outbound).`,
        ),
      ),
      trashed: Type.Optional(
        Type.Boolean({
          description:
            'Whether to list only the threads in the trash. By default, they are excluded.',
        }),
      ),
      labels: labelsFilter,
      metadata: metadataFilter,
      assignee: Type.Optional(
        Type.String({ description: 'Only threads whose assignee is exactly this string.' }),
      ),
      snoozed: Type.Optional(
        Type.Boolean({ description: 'Only snoozed (true) or only unsnoozed (false) threads.' }),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of threads.',
      schema: filteredListOf(Thread, 'A page of threads.'),
    },
    errors: [],
  },
  'threads.get': {
    method: 'GET',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Get a thread.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The thread.', schema: Thread },
    errors: [],
  },
  'threads.update': {
    method: 'PATCH',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Update a thread: read state, labels, metadata, assignee, snooze.',
    notes:
      'At least one field is required; others stay unchanged. While a worker has claimed the thread, the header Lease-Token of its claim is required.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateThread,
    takesLeaseToken: true,
    success: { status: 200, description: 'The updated thread.', schema: Thread },
    errors: ['label_limit_reached', 'metadata_limit_reached'],
  },
  'threads.labels': {
    method: 'GET',
    path: '/v1/labels',
    tag: 'Threads',
    summary: 'List the labels in use.',
    notes: `The labels of threads that are not in the trash, sorted. Only the first ${LABELS_LISTED_MAX} labels are listed.`,
    auth: 'key-or-approver',
    isRateLimited: true,
    query: Type.Object({
      inboxId: Type.Optional(text('Only labels of threads in this inbox.')),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of labels.',
      schema: listOf(LabelInUse, 'A page of labels.'),
    },
    errors: [],
  },
  'threads.delete': {
    method: 'DELETE',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Move a thread to the trash, or remove it.',
    notes:
      'In the trash, the thread and its messages are excluded from lists, totals, searches and waits. They can be read by id and restored for 30 days; then they are removed. Deleting a thread in the trash again has no effect. With permanent=true the thread and its messages are removed immediately. New mail never joins a thread in the trash; it starts a new thread. A thread with a message that is being sent, scheduled or held cannot be deleted.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: Type.Object({
      permanent: Type.Optional(
        Type.Boolean({
          description:
            'Whether to remove the thread immediately, even from the trash. It cannot be restored.',
        }),
      ),
    }),
    takesLeaseToken: true,
    success: { status: 204, description: 'The thread was moved to the trash or removed.' },
    errors: ['delivery_pending'],
  },
  'threads.restore': {
    method: 'POST',
    path: '/v1/threads/{id}/restore',
    tag: 'Threads',
    summary: 'Restore a thread from the trash.',
    notes:
      'The thread and its messages return to their positions in the lists. A thread that is not in the trash is unchanged.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    takesLeaseToken: true,
    success: { status: 200, description: 'The updated thread.', schema: Thread },
    errors: [],
  },
  'threads.messages': {
    method: 'GET',
    path: '/v1/threads/{id}/messages',
    tag: 'Threads',
    summary: 'List messages of a thread.',
    notes: `Oldest first. Returns all messages unless limit is given. Reading never changes the read state. ${LISTED_BODIES_NOTE}`,
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'Messages to return; values above 100 are treated as 100.',
        }),
      ),
      offset: Type.Optional(Type.Integer({ minimum: 0, description: 'Messages to skip.' })),
    }),
    success: { status: 200, description: 'The thread’s messages.', schema: ThreadMessages },
    errors: [],
  },
  'threads.view': {
    method: 'GET',
    path: '/v1/threads/{id}/view',
    tag: 'Threads',
    summary: 'View a thread as text for a language model.',
    notes:
      'Oldest message first, each as in GET /v1/messages/{id}/view. In a thread with more than 100 messages, the newest 51 to 100 are shown.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    query: ViewQuery,
    success: {
      status: 200,
      description: 'A page of the view, in UTF-8.',
      mediaType: 'text/markdown',
      headers: ['X-View-Total-Chars', 'X-View-Next-Offset'],
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
