// The inboxes that a form offers: the newest ones, and the ones already chosen.

import type { Inbox } from '@mailroom/sdk'
import { client } from './session.ts'

const CHOICES_MAX = 100

/** `meant` has the ids of inboxes to include. Deleted inboxes are omitted. */
export async function readInboxChoices(
  meant: readonly string[],
  signal: AbortSignal,
): Promise<Inbox[]> {
  const { data } = await client.inboxes.list({ limit: CHOICES_MAX, signal }).page()
  const missing = meant.filter((id) => id !== '' && data.every((inbox) => inbox.id !== id))
  const others = await Promise.all(
    missing.map((id) => client.inboxes.get(id, { signal }).catch(() => null)),
  )
  return [...others.filter((inbox) => inbox !== null), ...data]
}

export function inboxOptions(inboxes: readonly Inbox[] | undefined) {
  return (inboxes ?? []).map(({ id, address }) => ({ value: id, text: address }))
}
