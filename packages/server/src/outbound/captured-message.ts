// Mail that the sandbox kept instead of letting it leave the machine.

import type { Message } from '#mailbox/message.ts'

export type Captured = {
  id: string
  /** Of the envelope: those that this capture stands for. */
  recipients: string[]
  /** Of the envelope; '' where it was captured before it was kept. */
  reversePath: string
  capturedAtMs: number
  message: Message
  inReplyTo: string | null
}
