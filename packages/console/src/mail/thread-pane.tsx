// A thread: its newest messages, earlier ones on request, and its actions.

import type { Message, Thread } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { aboutOf } from '#data/composed-message.ts'
import { plural, subjectOf } from '#data/format.ts'
import { useKeys } from '#data/keyboard.ts'
import { useMailChanges } from '#data/live.ts'
import { closeCompose, shownThreadId, writingIn } from '#data/open-draft.ts'
import { useReviewsOf } from '#data/reviews.ts'
import { client, isApprover } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { InlineCompose } from '#mail/composer.tsx'
import { Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Skeleton, Trouble } from '#parts/notice.tsx'
import { useTitle } from '#parts/page.tsx'
import { ClaimNotice, useAfter } from './handoff.tsx'
import { MessageCard } from './message-card.tsx'
import { isUnsent } from './message-status.tsx'
import { openForward, openReply, openReplyToAll } from './open-reply.ts'
import { ThreadDrafts } from './thread-drafts.tsx'
import { ThreadStatus, ThreadTools } from './thread-tools.tsx'

/** Messages shown at first, and added each time. */
const STEP = 20
const REQUEST_MAX = 100

type Shown = { thread: Thread; first: number; messages: Message[] }

export function ThreadPane({
  threadId,
  inboxId,
  listHref,
}: {
  threadId: string
  inboxId: string
  /** The list beside the thread. */
  listHref: string
}) {
  const { route } = useLocation()
  const [span, setSpan] = useState(STEP)
  const hasScrolled = useRef(false)
  const toFirstUnread = (element: HTMLElement | null) => {
    if (element === null || hasScrolled.current) return
    hasScrolled.current = true
    element.scrollIntoView({ block: 'start' })
  }
  const shown = useResource(`thread ${threadId}`, (signal) => readThread(threadId, span, signal))
  useMailChanges(inboxId, shown.reload)
  useEffect(() => {
    if (span !== STEP) shown.reload()
  }, [span])
  const { value } = shown
  // Messages that arrive later do not move what is being read.
  useEffect(() => {
    if (value !== undefined) hasScrolled.current = true
  }, [value === undefined])
  const last = value?.messages.at(-1)
  const isMissing = shown.error !== undefined && shown.value === undefined
  useEffect(() => {
    if (isMissing) return
    shownThreadId.value = threadId
    return () => {
      if (shownThreadId.value === threadId) shownThreadId.value = null
      if (writingIn(threadId) !== null) closeCompose()
    }
  }, [threadId, isMissing])
  useTitle(value?.thread.subject || 'Thread')
  const reviews = useReviewsOf(inboxId, value?.messages ?? [])
  const answered =
    value?.messages.findLast(({ direction }) => direction === 'inbound') ??
    value?.messages.findLast((one) => !isUnsent(one, reviews.get(one.id)))
  const thread = value?.thread
  const isTrashed = thread !== undefined && thread.trashedAt !== null
  const isTaken = thread !== undefined && thread.claim !== null
  const answerable = isTrashed || isTaken ? undefined : answered
  useAfter(thread?.claim?.expiresAt ?? null, shown.reload)
  useAfter(thread?.snoozedUntil ?? null, shown.reload)
  useKeys(
    answerable === undefined
      ? {}
      : {
          r: () => openReply(answerable),
          a: () => openReplyToAll(answerable),
          f: () => openForward(answerable),
        },
  )

  if (isMissing) return <Trouble error={shown.error} retry={shown.reload} />
  if (value === undefined || thread === undefined) {
    return <Skeleton rows={4} label="Loading the thread" />
  }
  const { first, messages } = value
  const unread = unreadIn(value)
  const [firstUnread] = unread
  const writing = writingIn(threadId)
  const about = writing === null ? null : aboutOf(writing.draft)
  // The message may have been removed in the meantime.
  const below = messages.some(({ id }) => id === about?.id) ? about?.id : last?.id
  const noteChange = (changed: Thread) =>
    shown.replace((before) => ({ ...before, thread: changed }))
  return (
    <article class="thread-view" aria-label={thread.subject || 'Thread'}>
      <header class="thread-head">
        <a class="way-back" href={listHref}>
          <Icon name="back" size={14} />
          Threads
        </a>
        <div class="thread-head-row">
          <div class="thread-words">
            <h2 class="bounded" title={subjectOf(thread)}>
              {subjectOf(thread)}
            </h2>
          </div>
          <ThreadTools thread={thread} onChanged={noteChange} onGone={() => route(listHref)} />
        </div>
        <div class="thread-status">
          <p class="muted">{plural(thread.messageCount, 'message')}</p>
          <ThreadStatus thread={thread} onChanged={noteChange} />
        </div>
      </header>
      {thread.claim !== null && <ClaimNotice claim={thread.claim} />}
      {first > 0 && (
        <div class="earlier">
          <Button isBusy={shown.isLoading} onClick={() => setSpan(span + STEP)}>
            Show {Math.min(STEP, first)} earlier of {first}
          </Button>
        </div>
      )}
      <ol class="messages">
        {messages.map((message, index) => (
          <li
            key={message.id}
            ref={message.id === firstUnread && index > 0 ? toFirstUnread : undefined}
          >
            <MessageCard
              message={message}
              review={reviews.get(message.id)}
              isOpenAtFirst={message.id === last?.id || unread.has(message.id)}
              thread={thread}
              later={{ messages: messages.slice(index + 1), reviews }}
            />
            {writing !== null && message.id === below && (
              <InlineCompose key={writing} writing={writing} />
            )}
          </li>
        ))}
      </ol>
      {!isApprover.value && (
        <ThreadDrafts inboxId={inboxId} threadId={threadId} messages={messages} />
      )}
    </article>
  )
}

/** The ids of the messages received since the thread was last read, oldest first. */
function unreadIn({ thread, messages }: Shown): Set<string> {
  const received = messages.filter(({ direction }) => direction === 'inbound')
  return new Set(received.slice(received.length - thread.unreadCount).map(({ id }) => id))
}

/** The last `span` messages and all unread ones, oldest first, in as many requests as needed. */
async function readThread(id: string, span: number, signal: AbortSignal): Promise<Shown> {
  const thread = await client.threads.get(id, { signal })
  const wanted = Math.max(span, Math.min(thread.unreadCount, REQUEST_MAX))
  const first = Math.max(0, thread.messageCount - wanted)
  const messages: Message[] = []
  for (let offset = first; offset < thread.messageCount; offset += REQUEST_MAX) {
    const limit = Math.min(REQUEST_MAX, thread.messageCount - offset)
    const { data } = await client.threads.messages(id, { limit, offset, signal })
    messages.push(...data)
  }
  return { thread, first, messages }
}
