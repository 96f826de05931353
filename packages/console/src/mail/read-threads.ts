// The threads of an inbox in the order that a person wants them.

import type { Thread } from '@mailroom/sdk'
import { client } from '#data/session.ts'
import type { PageBounds } from '#parts/pager.tsx'

export const threadOrders = [
  { value: 'unread-first', text: 'Unread first' },
  { value: 'newest', text: 'Newest' },
  { value: 'unread', text: 'Unread' },
] as const
export type ThreadOrder = (typeof threadOrders)[number]['value']

type ThreadPage = { data: readonly Thread[]; total: number }

export function readThreads(
  inboxId: string,
  order: ThreadOrder,
  bounds: PageBounds,
): Promise<ThreadPage> {
  if (order === 'unread-first') return readUnreadFirst(inboxId, bounds)
  const isUnreadOnly = order === 'unread'
  return client.threads.list(inboxId, { ...bounds, ...(isUnreadOnly && { is_read: false }) }).page()
}

/** The unread ones, and behind the last of them the others: two requests, each for its part. */
async function readUnreadFirst(
  inboxId: string,
  { limit, offset, signal }: PageBounds,
): Promise<ThreadPage> {
  const unread = await client.threads
    .list(inboxId, { is_read: false, limit, offset, signal })
    .page()
  const room = limit - unread.data.length
  const read = await client.threads
    .list(inboxId, {
      is_read: true,
      // Of a page without room for them only the total is wanted.
      limit: Math.max(1, room),
      offset: Math.max(0, offset - unread.total),
      signal,
    })
    .page()
  // What was read between the two requests is in both.
  const ids = new Set(unread.data.map(({ id }) => id))
  const others = read.data.filter(({ id }) => !ids.has(id)).slice(0, room)
  return { data: [...unread.data, ...others], total: unread.total + read.total }
}
