// Keyboard shortcuts of a thread list beside the open thread.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useKeys } from '#data/keyboard.ts'
import { client } from '#data/session.ts'
import { toastFailure } from '#data/toasts.ts'
import type { Selection } from './selection.ts'
import { changeThread } from './thread-actions.ts'

type Place = Pick<Thread, 'id' | 'inboxId'>

export function useThreadKeys({
  key,
  threads,
  open,
  hrefOf,
  listHref,
  selection,
}: {
  /** Identifies the list and its page. */
  key: string
  threads: readonly Place[]
  open: Place | null
  hrefOf: (thread: Place) => string
  listHref: string
  selection: Selection
}): void {
  const { route } = useLocation()
  // Use the position at opening, because a thread marked as read moves in the list.
  const shownAround = useRef<readonly Place[]>([])
  useEffect(() => {
    shownAround.current = threads
  }, [open?.id, key])
  const step = (by: number) => {
    const isKnown = shownAround.current.some(({ id }) => id === open?.id)
    const known = isKnown ? shownAround.current : threads
    const at = known.findIndex(({ id }) => id === open?.id)
    const next = known[at === -1 ? 0 : at + by]
    if (next !== undefined) route(hrefOf(next), open !== null)
  }
  const toggleRead = async (thread: Place) => {
    try {
      const { isRead } = await client.threads.get(thread.id)
      const change = { is_read: !isRead }
      await changeThread(thread, (id) => client.threads.update(id, change))
    } catch (error) {
      toastFailure(error)
    }
  }
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ...(open === null
      ? { Enter: () => step(0) }
      : {
          u: () => void toggleRead(open),
          Escape: () => route(listHref),
          x: () => selection.toggle(open.id, false),
        }),
  })
}
