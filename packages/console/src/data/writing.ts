// What has been typed in the draft. It stays while the thread of a reply is left and opened again.

import { signal } from '@preact/signals'
import { composeDraft, type Draft, isDraftTouched } from './compose.ts'
import { type Letter, letterOf } from './letter.ts'

type Writing = { readonly key: string; readonly letter: Letter; readonly inboxId: string }

const writing = signal<Writing | null>(null)

export function useWriting(draft: Draft) {
  const key = draft.idempotencyKey
  const current = () =>
    writing.value?.key === key
      ? writing.value
      : { key, letter: letterOf(draft), inboxId: draft.inboxId ?? '' }
  const change = (changed: Partial<Writing>) => {
    writing.value = { ...current(), ...changed }
  }
  const { letter, inboxId } = current()
  return {
    letter,
    inboxId,
    setLetter: (next: Letter) => change({ letter: next }),
    setInboxId: (next: string) => change({ inboxId: next }),
    noteTouched() {
      if (composeDraft.value === draft) isDraftTouched.value = true
    },
  }
}
