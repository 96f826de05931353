// A thread: the messages of one inbox that answer each other, with a flag for its reader.

export type Thread = {
  id: string
  inboxId: string
  subject: string
  isRead: boolean
  messageCount: number
  lastMessageAtMs: number
  createdAtMs: number
}
