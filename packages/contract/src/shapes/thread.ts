// Threads: messages of an inbox that answer one another, with a flag for what was dealt with.

import { type Static, Type } from '#schema.ts'
import { Message } from './message.ts'
import { count, text, time } from './text.ts'

export const Thread = Type.Object(
  {
    id: text('Assigned by the service.'),
    inboxId: text('The inbox that holds the thread.'),
    subject: text('Subject of the first message.'),
    lastMessageAt: time('When the newest message came.'),
    isRead: Type.Boolean({
      description: 'Set by the client and by a reply; cleared by new inbound mail.',
    }),
    messageCount: count('Messages in the thread.'),
    createdAt: time('When the first message came.'),
  },
  { description: 'A conversation in an inbox.' },
)
export type Thread = Static<typeof Thread>

export const UpdateThread = Type.Object(
  { is_read: Type.Boolean({ description: 'Whether the thread has been dealt with.' }) },
  { additionalProperties: false },
)
export type UpdateThread = Static<typeof UpdateThread>

export const ThreadMessages = Type.Object(
  {
    threadId: text('The thread.'),
    subject: text('Its subject.'),
    isRead: Type.Boolean({ description: 'Its read state, which reading does not change.' }),
    data: Type.Array(Message, { description: 'The messages, oldest first.' }),
  },
  { description: 'The messages of a thread.' },
)
export type ThreadMessages = Static<typeof ThreadMessages>
