// What a view is made of: a message as far as its reader needs it, apart from how it is stored.

import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import type { ViewBody } from './plain-body.ts'

export type ViewedMessage = {
  readonly id: string
  readonly threadId: string
  readonly inboxAddress: string
  readonly direction: 'inbound' | 'outbound'
  readonly status: string
  /** When it was received, or accepted for sending. */
  readonly dateMs: number
  readonly from: string
  readonly to: string
  readonly cc: readonly string[]
  readonly replyTo: string | null
  readonly subject: string
  /** Of an inbound message; `unchecked` where nothing was found out about its sender. */
  readonly sender:
    | { readonly kind: 'verified'; readonly domain: string | null }
    | { readonly kind: 'unverified' }
    | { readonly kind: 'unchecked' }
    | { readonly kind: 'own' }
  /** Whether nobody had written to the inbox from this address before; null when that is not known. */
  readonly isFirstContact: boolean | null
  /** One of the service's own words. */
  readonly automaticReason: string | null
  readonly attachments: readonly ParsedAttachment[]
  readonly body: ViewBody
  /** Whether the message itself is longer than what was read of it, or was left out for its thread's length. */
  readonly isBeyond: boolean
}
