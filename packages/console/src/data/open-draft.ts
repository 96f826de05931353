// The draft being written; there is at most one. A reply or forward is shown in its thread, a new
// message in an overlay on any page.

import type { Draft as SavedDraft } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import { aboutOf, type Draft } from './composed-message.ts'
import { toast, toastFailure } from './toasts.ts'
import { discardLater, Writing } from './writing.ts'

export const openWriting = signal<Writing | null>(null)
/** The open thread, in which replies are shown. */
export const shownThreadId = signal<string | null>(null)
/** The inbox of the current page, which new messages use as the default sender. */
export const currentInboxId = signal<string | null>(null)

/** Counts requests to open the draft that is already open. */
export const wishes = signal(0)

export function openCompose(wanted: Partial<Draft>): void {
  const draft: Draft = {
    inboxId: currentInboxId.value,
    replied: null,
    forwarded: null,
    everybody: null,
    to: '',
    cc: [],
    subject: '',
    ...wanted,
  }
  const current = openWriting.value
  if (current !== null && isSame(current.draft, draft)) wishes.value += 1
  else show(new Writing(draft, null))
}

export function openSaved(draft: Draft, saved: SavedDraft): void {
  if (openWriting.value?.state.value.saved?.id !== saved.id) show(new Writing(draft, saved))
}

function isSame(a: Draft, b: Draft): boolean {
  return (
    aboutOf(a) !== null &&
    a.replied?.id === b.replied?.id &&
    a.forwarded?.id === b.forwarded?.id &&
    (a.everybody === null) === (b.everybody === null)
  )
}

function show(writing: Writing): void {
  closeCompose()
  openWriting.value = writing
}

/** Saves the draft and closes it. If it cannot be saved, it is shown again. */
export function closeCompose(): void {
  const writing = openWriting.value
  openWriting.value = null
  if (writing === null) return
  writing.leave().then(
    (isKept) => {
      if (isKept) toast('Saved in Drafts')
    },
    (error) => {
      openWriting.value ??= writing
      toastFailure(error)
    },
  )
}

/** Closes the draft and deletes it, which can be undone for some seconds. */
export function discardCompose(): void {
  const writing = openWriting.value
  openWriting.value = null
  if (writing === null) return
  void discardLater(writing).then((restore) => {
    toast('Draft discarded', async () => {
      restore()
      show(writing)
    })
  })
}

/** Closes a draft that was sent. */
export function endCompose(writing: Writing): void {
  if (openWriting.value === writing) openWriting.value = null
}

/** The draft shown in this thread. */
export function writingIn(threadId: string): Writing | null {
  const writing = openWriting.value
  return writing !== null && aboutOf(writing.draft)?.threadId === threadId ? writing : null
}
