// A paged list of threads.

import type { Thread } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { Button } from '#parts/button.tsx'
import type { IconName } from '#parts/icon.tsx'
import { Empty } from '#parts/notice.tsx'
import type { PageBounds } from '#parts/pager.tsx'
import { type Paged, PagedList } from '#parts/pager.tsx'
import { CopyText } from '#parts/small.tsx'
import type { Selection } from './selection.ts'
import { SimulateButton } from './simulate-mail.tsx'
import {
  askedOf,
  filterQuery,
  isNarrowed,
  noFilter,
  type ThreadFilter,
  type ThreadPlace,
} from './thread-filter.ts'
import { ThreadRow } from './thread-row.tsx'

export function ThreadList({
  list,
  inboxId,
  currentId,
  filter,
  onFilter,
  address,
  selection,
}: {
  list: Paged<Thread>
  inboxId: string
  currentId: string | undefined
  filter: ThreadFilter
  onFilter: (filter: ThreadFilter) => void
  address: string | null
  selection: Selection
}) {
  return (
    <PagedList
      list={list}
      label="threads"
      rows={8}
      empty={
        <NoThreads
          filter={filter}
          onFilter={onFilter}
          address={address}
          actions={
            session.value?.isSandbox &&
            filter.place === 'all' &&
            address !== null && <SimulateButton address={address} />
          }
        />
      }
    >
      <ul class={`threads${selection.ids.size > 0 ? ' selecting' : ''}`} aria-label="Threads">
        {list.items.map((thread) => (
          <ThreadRow
            key={thread.id}
            thread={thread}
            href={paths.thread(inboxId, thread.id, filterQuery(filter))}
            isCurrent={thread.id === currentId}
            isSelected={selection.ids.has(thread.id)}
            onToggle={(isRange) => selection.toggle(thread.id, isRange)}
          />
        ))}
      </ul>
    </PagedList>
  )
}

/** `address` is the address of the inbox; null in a list of several inboxes. */
export function NoThreads({
  filter,
  onFilter,
  address,
  actions,
}: {
  filter: ThreadFilter
  onFilter: (filter: ThreadFilter) => void
  address: string | null
  actions?: ComponentChildren
}) {
  if (isNarrowed(filter)) {
    return (
      <Empty
        icon="filter"
        title="No threads match this filter."
        actions={<Button onClick={() => onFilter(noFilter)}>Clear filter</Button>}
      />
    )
  }
  const { icon, title, text } = emptyPlaces[filter.place]
  return (
    <Empty icon={icon} title={title} actions={actions}>
      {text}
      {filter.place === 'all' && address !== null && <CopyText text={address} label="address" />}
    </Empty>
  )
}

const emptyPlaces: Readonly<Record<ThreadPlace, { icon: IconName; title: string; text: string }>> =
  {
    all: { icon: 'inbox', title: 'No mail yet', text: 'New mail appears here as it arrives.' },
    unread: { icon: 'check', title: 'No unread threads', text: 'Everything has been read.' },
    sent: { icon: 'send', title: 'Nothing sent yet', text: 'Threads with sent mail appear here.' },
    awake: { icon: 'inbox', title: 'No threads', text: 'All threads are snoozed.' },
    snoozed: {
      icon: 'clock',
      title: 'No snoozed threads',
      text: 'A snoozed thread is listed here until its snooze ends.',
    },
    trash: {
      icon: 'trash',
      title: 'The trash is empty',
      text: 'Threads in the trash are permanently removed after 30 days.',
    },
  }

export type ThreadOrder = 'unread-first' | 'newest'

type ThreadPage = { data: readonly Thread[]; total: number }

export async function readThreads(
  inboxId: string,
  order: ThreadOrder,
  filter: ThreadFilter,
  bounds: PageBounds,
  /** The page that is currently shown; initially empty. */
  before: readonly Thread[],
): Promise<ThreadPage> {
  const asked = askedOf(filter)
  if (order === 'newest' || !canOrder(filter)) {
    return client.threads.list(inboxId, { ...bounds, ...asked }).page()
  }
  const page = await readUnreadFirst(inboxId, bounds, asked)
  return { ...page, data: keepPlaces(before, page.data) }
}

/** Sent mail and the trash are not divided into unread and read. */
export function canOrder({ place }: ThreadFilter): boolean {
  return place === 'all' || place === 'awake' || place === 'snoozed'
}

/**
 * Keeps the threads of the shown page in their positions when a reply or a flag would move them to
 * another part of the list. New mail still moves its thread. A thread that is new on the page is
 * inserted after its predecessor in the fresh page.
 */
function keepPlaces(before: readonly Thread[], fresh: readonly Thread[]): Thread[] {
  const shown = new Map(before.map((thread) => [thread.id, thread]))
  const byId = new Map(fresh.map((thread) => [thread.id, thread]))
  const isKept = ({ id, isRead, lastMessageAt }: Thread) => {
    const old = shown.get(id)
    return old !== undefined && (isRead || old.lastMessageAt === lastMessageAt)
  }
  const placed = before.flatMap(({ id }) => {
    const thread = byId.get(id)
    return thread !== undefined && isKept(thread) ? thread : []
  })
  for (const [at, thread] of fresh.entries()) {
    if (isKept(thread)) continue
    const previous = fresh[at - 1]
    placed.splice(previous === undefined ? 0 : placed.indexOf(previous) + 1, 0, thread)
  }
  return placed
}

/** Reads unread threads first, then read threads, in two requests. */
async function readUnreadFirst(
  inboxId: string,
  { limit, offset, signal }: PageBounds,
  asked: ReturnType<typeof askedOf>,
): Promise<ThreadPage> {
  const unread = await client.threads
    .list(inboxId, { ...asked, is_read: false, limit, offset, signal })
    .page()
  const room = limit - unread.data.length
  const read = await client.threads
    .list(inboxId, {
      ...asked,
      is_read: true,
      // If unread threads fill the page, only the total of read threads is needed.
      limit: Math.max(1, room),
      offset: Math.max(0, offset - unread.total),
      signal,
    })
    .page()
  // A thread marked as read between the two requests appears in both.
  const ids = new Set(unread.data.map(({ id }) => id))
  const others = read.data.filter(({ id }) => !ids.has(id)).slice(0, room)
  return { data: [...unread.data, ...others], total: unread.total + read.total }
}
