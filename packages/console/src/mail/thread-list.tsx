// The threads of an inbox, page by page.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { readPerson } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { type Paged, Pager } from '#parts/pager.tsx'
import { CopyText, Time } from '#parts/small.tsx'
import { hints, useThreadHints } from './thread-hints.ts'

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
  useThreadHints(inboxId, list.items, list.offset)
  if (list.error && list.value === undefined)
    return <Trouble error={list.error} retry={list.reload} />
  if (list.value === undefined) return <Skeleton rows={8} label="Loading threads" />
  if (list.items.length === 0) {
    return isUnreadOnly ? (
      <Empty icon="check" title="Nothing unread">
        Everything in this inbox has been dealt with.
      </Empty>
    ) : (
      <Empty icon="inbox" title="No mail yet">
        Mail appears here as it comes in, without reloading.
        {address !== null && <CopyText text={address} label="address" />}
      </Empty>
    )
  }
  return (
    <>
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
      <Pager list={list} label="threads" />
    </>
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
  const { id, subject, isRead, messageCount, lastMessageAt } = thread
  const hint = hints.value.get(id)
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
            {hint ? whoOf(hint) : '…'}
          </span>
          {messageCount > 1 && (
            <span class="thread-count" title={`${messageCount} messages`}>
              {messageCount}
            </span>
          )}
          <span class="thread-time">
            <Time at={lastMessageAt} isInList />
          </span>
        </span>
        <span class="thread-subject">{subject === '' ? '(no subject)' : subject}</span>
        <span class="thread-beginning">{hint?.beginning || '\u00a0'}</span>
      </a>
    </li>
  )
}

function whoOf({ who, isOwn }: { who: string; isOwn: boolean }): string {
  const { name, address } = readPerson(who)
  return isOwn ? `To ${name ?? address}` : (name ?? address)
}
