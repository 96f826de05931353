// The message that is being written: at most one. A reply and a forward stand in their thread, a new message over any page.

import type { Message } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import type { Everybody } from './recipients.ts'

export type Draft = {
  /** The same for every attempt to send the draft, so that it is sent once. */
  readonly idempotencyKey: string
  /** Below the message that it is about, instead of over the page. */
  readonly isInThread: boolean
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
/** Whether something would be lost with the draft. */
export const isDraftTouched = signal(false)
/** What somebody asked to write while another message is unsent. */
export const nextDraft = signal<Draft | null>(null)
/** The thread that is open, in which replies are written. */
export const shownThreadId = signal<string | null>(null)
/** The inbox whose page is open, from which new messages are sent unless another is chosen. */
export const currentInboxId = signal<string | null>(null)

/** Counts the wishes to write what is already being written. */
export const wishes = signal(0)

export function openCompose(draft: Partial<Omit<Draft, 'idempotencyKey' | 'isInThread'>>): void {
  const about = draft.replied ?? draft.forwarded
  const opened: Draft = {
    inboxId: currentInboxId.value,
    replied: null,
    forwarded: null,
    everybody: null,
    to: '',
    cc: [],
    subject: '',
    ...draft,
    idempotencyKey: crypto.randomUUID(),
    isInThread: about != null && about.threadId === shownThreadId.value,
  }
  const current = composeDraft.value
  if (current === null || !isDraftTouched.value) beginDraft(opened)
  else if (isSame(current, opened)) wishes.value += 1
  else nextDraft.value = opened
}

function isSame(a: Draft, b: Draft): boolean {
  return (
    a.isInThread &&
    b.isInThread &&
    a.replied?.id === b.replied?.id &&
    a.forwarded?.id === b.forwarded?.id &&
    (a.everybody === null) === (b.everybody === null)
  )
}

/** Discards what is being written. */
export function beginDraft(draft: Draft): void {
  closeCompose()
  composeDraft.value = draft
}

export function closeCompose(): void {
  composeDraft.value = null
  isDraftTouched.value = false
  nextDraft.value = null
}

/** The message that a draft answers or passes on. */
export function aboutOf({ replied, forwarded }: Draft): Message | null {
  return replied ?? forwarded
}

/** The draft that is written in the thread. */
export function draftIn(threadId: string): Draft | null {
  const draft = composeDraft.value
  return draft?.isInThread && aboutOf(draft)?.threadId === threadId ? draft : null
}
