// A thread: the messages of one inbox that answer each other, with a flag for its reader.

import type { Participant } from './thread-summary.ts'

export type Thread = {
  id: string
  inboxId: string
  subject: string
  isRead: boolean
  messageCount: number
  lastMessageAtMs: number
  createdAtMs: number
}

/** With what a list shows of it. */
export type ShownThread = Thread & {
  /** Whoever wrote last stands first. */
  participants: Participant[]
  snippet: string
  unreadCount: number
}
