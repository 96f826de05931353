// The draft: at most one, on top of any page.

import type { Message } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import type { Everybody } from './recipients.ts'

export type Draft = {
  /** The same for every attempt to send the draft, so that it is sent once. */
  readonly idempotencyKey: string
  readonly inboxId: string | null
  readonly replied: Message | null
  readonly forwarded: Message | null
  /** In a reply to all, those whom it reaches unless the person changes them. */
  readonly everybody: Everybody | null
  readonly to: string
  readonly cc: readonly string[]
  readonly subject: string
}

export const composeDraft = signal<Draft | null>(null)
/** The inbox whose page is open, from which new messages are sent unless another is chosen. */
export const currentInboxId = signal<string | null>(null)

export function openCompose(draft: Partial<Omit<Draft, 'idempotencyKey'>>): void {
  composeDraft.value = {
    inboxId: currentInboxId.value,
    replied: null,
    forwarded: null,
    everybody: null,
    to: '',
    cc: [],
    subject: '',
    ...draft,
    idempotencyKey: crypto.randomUUID(),
  }
}

export function closeCompose(): void {
  composeDraft.value = null
}
