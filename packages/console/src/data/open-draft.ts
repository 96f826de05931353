// The draft being written; there is at most one. A reply or forward is shown in its thread, a new
// message in an overlay on any page.

import type { Message } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import type { Everybody } from './recipients.ts'

export type Draft = {
  /** Every attempt to send the draft uses this key, so that it is sent once. */
  readonly idempotencyKey: string
  /** Whether the draft is shown below the message that it answers, not in an overlay. */
  readonly isInThread: boolean
  readonly inboxId: string | null
  readonly replied: Message | null
  readonly forwarded: Message | null
  /** For a reply to all: its recipients, unless the person changes them. */
  readonly everybody: Everybody | null
  readonly to: string
  readonly cc: readonly string[]
  readonly subject: string
}

export const composeDraft = signal<Draft | null>(null)
/** Whether closing the draft would lose text. */
export const isDraftTouched = signal(false)
/** A draft to open once the current one is sent or discarded. */
export const nextDraft = signal<Draft | null>(null)
/** The open thread, in which replies are shown. */
export const shownThreadId = signal<string | null>(null)
/** The inbox of the current page, which new messages use as the default sender. */
export const currentInboxId = signal<string | null>(null)

/** Counts requests to open the draft that is already open. */
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

/** Discards the current draft. */
export function beginDraft(draft: Draft): void {
  closeCompose()
  composeDraft.value = draft
}

export function closeCompose(): void {
  composeDraft.value = null
  isDraftTouched.value = false
  nextDraft.value = null
}

/** The message that the draft answers or forwards. */
export function aboutOf({ replied, forwarded }: Draft): Message | null {
  return replied ?? forwarded
}

/** The draft shown in this thread. */
export function draftIn(threadId: string): Draft | null {
  const draft = composeDraft.value
  return draft?.isInThread && aboutOf(draft)?.threadId === threadId ? draft : null
}
