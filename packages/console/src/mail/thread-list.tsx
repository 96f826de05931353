// A paged list of threads.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { claimWords } from '#data/claims.ts'
import { formatDay, formatMoment, subjectOf } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client, session } from '#data/session.ts'
import { Empty } from '#parts/notice.tsx'
import type { PageBounds } from '#parts/pager.tsx'
import { type Paged, PagedList } from '#parts/pager.tsx'
import { CopyText, Time } from '#parts/small.tsx'
import { CategoryBadge } from './category.tsx'
import { LabelMarks, useSeenLabels } from './labels.tsx'
import type { Selection } from './selection.ts'
import { SimulateButton } from './simulate-mail.tsx'
import { removedAt } from './thread-actions.ts'
import { askedOf, filterQuery, type ThreadFilter } from './thread-filter.ts'

export function ThreadList({
  list,
  inboxId,
  currentId,
  isUnreadOnly,
  filter,
  address,
  selection,
}: {
  list: Paged<Thread>
  inboxId: string
  currentId: string | undefined
  isUnreadOnly: boolean
  filter: ThreadFilter
  address: string | null
  selection: Selection
}) {
  return (
    <PagedList
      list={list}
      label="threads"
      rows={8}
      empty={<NoThreads filter={filter} isUnreadOnly={isUnreadOnly} address={address} />}
    >
      <ul class="threads" aria-label="Threads">
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

function NoThreads({
  filter,
  isUnreadOnly,
  address,
}: {
  filter: ThreadFilter
  isUnreadOnly: boolean
  address: string | null
}) {
  const { place, category, label, assignee } = filter
  if (category !== null || label !== '' || assignee !== '') {
    return (
      <Empty icon="inbox" title="No such threads">
        No thread here matches the filter.
      </Empty>
    )
  }
  if (place === 'trash') {
    return (
      <Empty icon="trash" title="The trash is empty">
        Threads in the trash are permanently removed after 30 days.
      </Empty>
    )
  }
  if (place === 'snoozed') return <Empty icon="clock" title="No thread is snoozed" />
  if (isUnreadOnly) {
    return (
      <Empty icon="check" title="No unread threads">
        Everything in this inbox has been read.
      </Empty>
    )
  }
  return (
    <Empty
      icon="inbox"
      title={place === 'all' ? 'No mail yet' : 'No such threads'}
      actions={session.value?.isSandbox && address !== null && <SimulateButton address={address} />}
    >
      New mail appears here as it arrives.
      {address !== null && <CopyText text={address} label="address" />}
    </Empty>
  )
}

export function ThreadRow({
  thread,
  inbox,
  href,
  isCurrent,
  isSelected,
  onToggle,
}: {
  thread: Thread
  /** The inbox of the thread, shown in lists of several inboxes. */
  inbox?: string | undefined
  href: string
  isCurrent: boolean
  isSelected: boolean
  onToggle: (isRange: boolean) => void
}) {
  const element = useRef<HTMLAnchorElement>(null)
  const { isRead, messageCount, unreadCount, lastMessageAt, snippet, category } = thread
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  useSeenLabels(thread.labels)
  return (
    <li class={isSelected ? 'thread-row selected' : 'thread-row'}>
      <label class="thread-check">
        <input
          type="checkbox"
          aria-label={`Select ${subjectOf(thread)}`}
          checked={isSelected}
          onClick={(event) => onToggle(event.shiftKey)}
        />
      </label>
      <a
        ref={element}
        href={href}
        class={isRead ? 'thread' : 'thread unread'}
        aria-current={isCurrent ? 'true' : undefined}
      >
        <span class="thread-top">
          <span class="thread-who" dir="auto">
            {!isRead && (
              <span class="unseen" dir="ltr">
                Unread:{' '}
              </span>
            )}
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
          {inbox !== undefined && (
            <span class="thread-inbox">
              <span class="unseen">In </span>
              {inbox}
            </span>
          )}
          <span class="thread-time">
            <Time at={lastMessageAt} isInList />
          </span>
        </span>
        <span class="thread-subject" dir="auto">
          {subjectOf(thread)}
        </span>
        <span class="thread-beginning" dir="auto">
          {snippet || '\u00a0'}
        </span>
        <ThreadMarks thread={thread} />
      </a>
    </li>
  )
}

/** Labels, assignee and snooze. */
function ThreadMarks({ thread }: { thread: Thread }) {
  const { labels, assignee, snoozedUntil, claim, trashedAt } = thread
  const words = [
    trashedAt !== null && `Permanently removed on ${formatDay(removedAt(trashedAt))}`,
    claim !== null && claimWords(claim),
    assignee !== null && `Assigned to ${assignee}`,
    snoozedUntil !== null && `Snoozed until ${formatMoment(snoozedUntil)}`,
  ].filter((text) => text !== false)
  if (labels.length === 0 && words.length === 0) return null
  return (
    <span class="thread-marks">
      <LabelMarks labels={labels} />
      {words.map((text) => (
        <span key={text} class="thread-mark">
          {text}
        </span>
      ))}
    </span>
  )
}

/** The newest participants; a single participant with the full name. */
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
  order: ThreadOrder,
  filter: ThreadFilter,
  bounds: PageBounds,
): Promise<ThreadPage> {
  const asked = askedOf(filter)
  // The trash is not split into unread and read.
  if (order === 'unread-first' && filter.place !== 'trash') {
    return readUnreadFirst(inboxId, bounds, asked)
  }
  const isUnreadOnly = order === 'unread' && filter.place !== 'trash'
  return client.threads
    .list(inboxId, { ...bounds, ...asked, ...(isUnreadOnly && { is_read: false }) })
    .page()
}

/** Reads unread threads first, then read threads, in two requests. */
async function readUnreadFirst(
  inboxId: string,
  { limit, offset, signal }: PageBounds,
  asked: ReturnType<typeof askedOf>,
): Promise<ThreadPage> {
  const unread = await client.threads
    .list(inboxId, { is_read: false, limit, offset, signal, ...asked })
    .page()
  const room = limit - unread.data.length
  const read = await client.threads
    .list(inboxId, {
      is_read: true,
      // If unread threads fill the page, only the total of read threads is needed.
      limit: Math.max(1, room),
      offset: Math.max(0, offset - unread.total),
      signal,
      ...asked,
    })
    .page()
  // A thread marked as read between the two requests appears in both.
  const ids = new Set(unread.data.map(({ id }) => id))
  const others = read.data.filter(({ id }) => !ids.has(id)).slice(0, room)
  return { data: [...unread.data, ...others], total: unread.total + read.total }
}
