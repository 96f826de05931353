// A message as it lies in one inbox. The bytes it was read from are a raw message, which several
// inboxes may share.

import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'

export type Direction = 'inbound' | 'outbound'
export type MessageStatus = 'pending' | 'sent' | 'received' | 'failed'
export type DeliveryRole = 'to' | 'cc'

export type Message = {
  id: string
  threadId: string
  inboxId: string
  rawId: string
  direction: Direction
  status: MessageStatus
  rfcMessageId: string | null
  fromAddr: string
  toAddr: string
  headerTo: string | null
  deliveryRole: DeliveryRole | null
  cc: string[]
  replyTo: string | null
  references: string[]
  subject: string
  bodyText: string
  bodyHtml: string
  extractedText: string
  attachments: ParsedAttachment[]
  authentication: unknown
  automaticReason: string | null
  failureReason: string | null
  defects: string[]
  createdAtMs: number
}
