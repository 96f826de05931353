// The text typed in the open draft. It is kept when a reply's thread is left and opened again.

import { signal } from '@preact/signals'
import { type ComposedMessage, composedOf } from './composed-message.ts'
import { composeDraft, type Draft, isDraftTouched } from './open-draft.ts'

type Writing = {
  readonly key: string
  readonly composed: ComposedMessage
  readonly inboxId: string
}

const writing = signal<Writing | null>(null)

export function useWriting(draft: Draft) {
  const key = draft.idempotencyKey
  const current = () =>
    writing.value?.key === key
      ? writing.value
      : { key, composed: composedOf(draft), inboxId: draft.inboxId ?? '' }
  const change = (changed: Partial<Writing>) => {
    writing.value = { ...current(), ...changed }
  }
  const { composed, inboxId } = current()
  return {
    composed,
    inboxId,
    setComposed: (next: ComposedMessage) => change({ composed: next }),
    setInboxId: (next: string) => change({ inboxId: next }),
    noteTouched() {
      if (composeDraft.value === draft) isDraftTouched.value = true
    },
  }
}
