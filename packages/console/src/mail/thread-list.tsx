// The threads of an inbox, page by page.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { Empty } from '#parts/notice.tsx'
import type { PageBounds } from '#parts/pager.tsx'
import { type Paged, PagedList } from '#parts/pager.tsx'
import { CopyText, Time } from '#parts/small.tsx'
import { type Category, CategoryBadge } from './category.tsx'

export function ThreadList({
  list,
  inboxId,
  currentId,
  isUnreadOnly,
  isOfKind,
  address,
}: {
  list: Paged<Thread>
  inboxId: string
  currentId: string | undefined
  isUnreadOnly: boolean
  /** Whether only threads of one category are shown. */
  isOfKind: boolean
  address: string | null
}) {
  const empty = isOfKind ? (
    <Empty icon="inbox" title="No such threads">
      This inbox has no mail of that kind here.
    </Empty>
  ) : isUnreadOnly ? (
    <Empty icon="check" title="No unread threads">
      Everything in this inbox has been read.
    </Empty>
  ) : (
    <Empty icon="inbox" title="No mail yet">
      New mail appears here as it arrives.
      {address !== null && <CopyText text={address} label="address" />}
    </Empty>
  )
  return (
    <PagedList list={list} label="threads" rows={8} empty={empty}>
      <ul class="threads" aria-label="Threads">
        {list.items.map((thread) => (
          <ThreadRow
            key={thread.id}
            thread={thread}
            inboxId={inboxId}
            isCurrent={thread.id === currentId}
          />
        ))}
      </ul>
    </PagedList>
  )
}

function ThreadRow({
  thread,
  inboxId,
  isCurrent,
}: {
  thread: Thread
  inboxId: string
  isCurrent: boolean
}) {
  const element = useRef<HTMLAnchorElement>(null)
  const { id, subject, isRead, messageCount, unreadCount, lastMessageAt, snippet, category } =
    thread
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  return (
    <li>
      <a
        ref={element}
        href={paths.thread(inboxId, id)}
        class={isRead ? 'thread' : 'thread unread'}
        aria-current={isCurrent ? 'true' : undefined}
      >
        <span class="thread-top">
          <span class="thread-who">
            {!isRead && <span class="unseen">Unread: </span>}
            {whoIsIn(thread)}
          </span>
          {messageCount > 1 && (
            <span class="thread-count" title={`${messageCount} messages, ${unreadCount} unread`}>
              {unreadCount > 0 && unreadCount < messageCount
                ? `${unreadCount} of ${messageCount}`
                : messageCount}
            </span>
          )}
          <CategoryBadge category={category} />
          <span class="thread-time">
            <Time at={lastMessageAt} isInList />
          </span>
        </span>
        <span class="thread-subject">{subject === '' ? '(no subject)' : subject}</span>
        <span class="thread-beginning">{snippet || '\u00a0'}</span>
      </a>
    </li>
  )
}

/** The newest participants; a single one with the full name. */
function whoIsIn({ participants }: Thread): string {
  const names = participants.map(({ name, address }) => name ?? address)
  const shown = names.slice(0, PARTICIPANTS_SHOWN).join(', ')
  return names.length > PARTICIPANTS_SHOWN
    ? `${shown} +${names.length - PARTICIPANTS_SHOWN}`
    : shown || '(nobody)'
}

const PARTICIPANTS_SHOWN = 3

export const threadOrders = [
  { value: 'unread-first', text: 'Unread first' },
  { value: 'newest', text: 'Newest' },
  { value: 'unread', text: 'Unread' },
] as const
export type ThreadOrder = (typeof threadOrders)[number]['value']

type ThreadPage = { data: readonly Thread[]; total: number }

export function readThreads(
  inboxId: string,
  { order, category }: { order: ThreadOrder; category: Category | null },
  bounds: PageBounds,
): Promise<ThreadPage> {
  const kind = category !== null && { category }
  if (order === 'unread-first') return readUnreadFirst(inboxId, { ...bounds, ...kind })
  const isUnreadOnly = order === 'unread'
  return client.threads
    .list(inboxId, { ...bounds, ...kind, ...(isUnreadOnly && { is_read: false }) })
    .page()
}

/** Unread threads first, then the others, in two requests. */
async function readUnreadFirst(
  inboxId: string,
  { limit, offset, ...asked }: PageBounds & { category?: Category },
): Promise<ThreadPage> {
  const unread = await client.threads
    .list(inboxId, { is_read: false, limit, offset, ...asked })
    .page()
  const room = limit - unread.data.length
  const read = await client.threads
    .list(inboxId, {
      is_read: true,
      // If the page has no room for them, only their total is needed.
      limit: Math.max(1, room),
      offset: Math.max(0, offset - unread.total),
      ...asked,
    })
    .page()
  // A thread that was read between the two requests is in both.
  const ids = new Set(unread.data.map(({ id }) => id))
  const others = read.data.filter(({ id }) => !ids.has(id)).slice(0, room)
  return { data: [...unread.data, ...others], total: unread.total + read.total }
}
