// The stored drafts of a thread, below its messages.

import type { Message, Draft as SavedDraft } from '@mailroom/sdk'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { openSaved, openWriting } from '#data/open-draft.ts'
import { draftOf, forwardedIn } from '#data/saved-draft.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { discarded, draftChanges } from '#data/writing.ts'
import { Badge } from '#parts/notice.tsx'
import { Time } from '#parts/small.tsx'

/** Only the newest drafts of the inbox are searched for those of the thread. */
const DRAFTS_READ = 100

export function ThreadDrafts({
  inboxId,
  threadId,
  messages,
}: {
  inboxId: string
  threadId: string
  messages: readonly Message[]
}) {
  const { query } = useLocation()
  const stored = useResource(`drafts in ${threadId}`, async (signal) => {
    const { data } = await client.drafts.list(inboxId, { limit: DRAFTS_READ, signal }).page()
    return data
  })
  const changes = draftChanges.value
  useEffect(() => {
    if (changes > 0) stored.reload()
  }, [changes])
  const forwardedBy = (draft: SavedDraft) => messages.find(({ id }) => id === forwardedIn(draft))
  const own = (stored.value ?? []).filter(
    (draft) => draft.threadId === threadId || forwardedBy(draft) !== undefined,
  )
  const open = (saved: SavedDraft) => {
    const forwarded = forwardedBy(saved) ?? null
    const replied = forwarded === null ? (messages.at(-1) ?? null) : null
    openSaved(draftOf(saved, { replied, forwarded }), saved)
  }
  const wanted = own.find(({ id }) => id === query.draft)
  useEffect(() => {
    if (wanted !== undefined) open(wanted)
  }, [wanted?.id])
  const openId = openWriting.value?.state.value.saved?.id
  const shown = own.filter(({ id }) => id !== openId && !discarded.value.has(id))
  if (shown.length === 0) return null
  return (
    <ul class="thread-drafts" aria-label="Drafts">
      {shown.map((draft) => (
        <li key={draft.id}>
          <button type="button" class="message thread-draft" onClick={() => open(draft)}>
            <Badge tone="warn">Draft</Badge>
            <span class="message-line">{draft.body || 'No text yet'}</span>
            <span class="muted nowrap">
              <Time at={draft.updatedAt} isInList />
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}
