// The threads of an inbox, page by page.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { paths } from '#data/paths.ts'
import { Empty } from '#parts/notice.tsx'
import { type Paged, PagedList } from '#parts/pager.tsx'
import { CopyText, Time } from '#parts/small.tsx'

export function ThreadList({
  list,
  inboxId,
  currentId,
  isUnreadOnly,
  address,
}: {
  list: Paged<Thread>
  inboxId: string
  currentId: string | undefined
  isUnreadOnly: boolean
  address: string | null
}) {
  const empty = isUnreadOnly ? (
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
  const { id, subject, isRead, messageCount, unreadCount, lastMessageAt, snippet } = thread
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

/** The newest of those who take part; a single one by the whole name. */
function whoIsIn({ participants }: Thread): string {
  const names = participants.map(({ name, address }) => name ?? address)
  const shown = names.slice(0, PARTICIPANTS_SHOWN).join(', ')
  return names.length > PARTICIPANTS_SHOWN
    ? `${shown} +${names.length - PARTICIPANTS_SHOWN}`
    : shown || '(nobody)'
}

const PARTICIPANTS_SHOWN = 3
