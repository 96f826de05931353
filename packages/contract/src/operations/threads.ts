// Operations on threads.

import { Type } from '#schema.ts'
import { LISTED_BODIES_NOTE, VIEW_NOTES, ViewQuery } from '#shapes/message.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { Thread, ThreadMessages, UpdateThread } from '#shapes/thread.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a thread.' } as const

export const threadOperations = {
  'threads.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/threads',
    tag: 'Threads',
    summary: 'List threads of an inbox.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      is_read: Type.Optional(
        Type.Boolean({
          description:
            'Only read (true) or only unread (false) threads. isRead means the same; different values for both are refused.',
        }),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of threads.',
      schema: listOf(Thread, 'A page of threads.'),
    },
    errors: [],
  },
  'threads.get': {
    method: 'GET',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Get a thread.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The thread.', schema: Thread },
    errors: [],
  },
  'threads.update': {
    method: 'PATCH',
    path: '/v1/threads/{id}',
    tag: 'Threads',
    summary: 'Mark a thread as read or unread.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateThread,
    success: { status: 200, description: 'The thread as it is now.', schema: Thread },
    errors: [],
  },
  'threads.messages': {
    method: 'GET',
    path: '/v1/threads/{id}/messages',
    tag: 'Threads',
    summary: 'List messages of a thread.',
    notes: `Oldest first. Returns all messages unless limit is given. Reading never changes the read state. ${LISTED_BODIES_NOTE}`,
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'How many messages to return; above 100 is treated as 100.',
        }),
      ),
      offset: Type.Optional(
        Type.Integer({ minimum: 0, description: 'How many messages to skip.' }),
      ),
    }),
    success: { status: 200, description: 'The thread’s messages.', schema: ThreadMessages },
    errors: [],
  },
  'threads.view': {
    method: 'GET',
    path: '/v1/threads/{id}/view',
    tag: 'Threads',
    summary: 'View a thread as text for a language model.',
    notes: `Oldest message first. ${VIEW_NOTES} In a thread with more than 100 messages, the newest 51 to 100 are shown.`,
    auth: 'key',
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
