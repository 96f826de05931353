// Threads: messages of an inbox that answer each other, with a read flag.

import { type Static, Type } from '#schema.ts'
import { Message } from './message.ts'
import { count, nullableText, text, time } from './text.ts'

export const Participant = Type.Object(
  {
    name: nullableText(
      'The name as the messages show it, at most 100 characters; null without one.',
    ),
    address: text('The email address.'),
  },
  { description: 'A correspondent of the inbox in a thread.' },
)
export type Participant = Static<typeof Participant>

export const Thread = Type.Object(
  {
    id: text('Assigned by the service.'),
    inboxId: text('The inbox of the thread.'),
    subject: text('Subject of the first message.'),
    lastMessageAt: time('When the newest message was received or accepted for sending.'),
    isRead: Type.Boolean({
      description: 'Set by the client and by a reply; cleared by new inbound mail.',
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
      'The beginning of the newest message, at most 160 characters on one line: its new text, or the quoted text if it has no new text. Empty without text.',
    ),
    createdAt: time('When the first message was received or accepted for sending.'),
  },
  { description: 'A conversation in an inbox.' },
)
export type Thread = Static<typeof Thread>

export const UpdateThread = Type.Object(
  {
    is_read: Type.Optional(
      Type.Boolean({
        description: 'Whether the thread is read. This or isRead is required.',
      }),
    ),
    isRead: Type.Optional(Type.Boolean({ description: 'The same as is_read.' })),
  },
  { additionalProperties: false },
)
export type UpdateThread = Static<typeof UpdateThread>

export const ThreadMessages = Type.Object(
  {
    threadId: text('The thread.'),
    inboxId: text('The inbox of the thread.'),
    subject: text('Its subject.'),
    isRead: Type.Boolean({ description: 'The read state; reading a thread does not change it.' }),
    data: Type.Array(Message, { description: 'The messages, oldest first.' }),
  },
  { description: 'The messages of a thread.' },
)
export type ThreadMessages = Static<typeof ThreadMessages>
