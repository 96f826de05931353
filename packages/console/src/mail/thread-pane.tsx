// A thread: its newest messages, earlier ones on request, and its actions.

import type { Message, Thread } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { plural } from '#data/format.ts'
import { useKeys } from '#data/keyboard.ts'
import { useMailChanges } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { useReviewsOf } from '#data/reviews.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { ActionButton, Button } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Skeleton, Trouble } from '#parts/notice.tsx'
import { useTitle } from '#parts/page.tsx'
import { MessageCard } from './message-card.tsx'
import { openForward, openReply, openReplyToAll } from './open-reply.ts'
import { isUnsent } from './standing.tsx'

/** Messages shown at first, and added each time. */
const STEP = 20
const REQUEST_MAX = 100

type Shown = { thread: Thread; first: number; messages: Message[] }

export function ThreadPane({
  threadId,
  inboxId,
  onChanged,
}: {
  threadId: string
  inboxId: string
  onChanged: () => void
}) {
  const [span, setSpan] = useState(STEP)
  const shown = useResource(`thread ${threadId}`, (signal) => readThread(threadId, span, signal))
  useMailChanges(inboxId, shown.reload)
  useEffect(() => {
    if (span !== STEP) shown.reload()
  }, [span])
  const { value } = shown
  const last = value?.messages.at(-1)
  useTitle(value?.thread.subject || 'Thread')
  const reviews = useReviewsOf(inboxId, value?.messages ?? [])
  const answered = value?.messages.findLast((one) => !isUnsent(one, reviews.get(one.id)))
  useKeys(
    answered === undefined
      ? {}
      : {
          r: () => openReply(answered),
          a: () => openReplyToAll(answered),
          f: () => openForward(answered),
        },
  )

  if (shown.error && value === undefined)
    return <Trouble error={shown.error} retry={shown.reload} />
  if (value === undefined) return <Skeleton rows={4} label="Loading the thread" />
  const { thread, first, messages } = value
  const setRead = async (isRead: boolean) => {
    const changed = await client.threads.update(threadId, { is_read: isRead })
    shown.replace((before) => ({ ...before, thread: changed }))
    onChanged()
  }
  return (
    <article class="thread-view" aria-label={thread.subject || 'Thread'}>
      <header class="thread-head">
        <a class="way-back" href={paths.inbox(inboxId)}>
          <Icon name="back" size={14} />
          Threads
        </a>
        <div class="thread-head-row">
          <div class="thread-words">
            <h2>{thread.subject === '' ? '(no subject)' : thread.subject}</h2>
            <p class="muted">{plural(thread.messageCount, 'message')}</p>
          </div>
          <div class="row">
            <ActionButton
              icon={thread.isRead ? 'unread' : 'check'}
              action={() => setRead(!thread.isRead)}
            >
              {thread.isRead ? 'Mark unread' : 'Mark read'}
            </ActionButton>
            {answered && (
              <Button kind="primary" icon="reply" onClick={() => openReply(answered)}>
                Reply
              </Button>
            )}
          </div>
        </div>
      </header>
      {first > 0 && (
        <div class="earlier">
          <Button isBusy={shown.isLoading} onClick={() => setSpan(span + STEP)}>
            Show {Math.min(STEP, first)} earlier of {first}
          </Button>
        </div>
      )}
      <ol class="messages">
        {messages.map((message) => (
          <li key={message.id}>
            <MessageCard
              message={message}
              review={reviews.get(message.id)}
              isOpenAtFirst={message.id === last?.id}
            />
          </li>
        ))}
      </ol>
    </article>
  )
}

/** The last `span` messages, oldest first, in as many requests as needed. */
async function readThread(id: string, span: number, signal: AbortSignal): Promise<Shown> {
  const thread = await client.threads.get(id, { signal })
  const first = Math.max(0, thread.messageCount - span)
  const messages: Message[] = []
  for (let offset = first; offset < thread.messageCount; offset += REQUEST_MAX) {
    const limit = Math.min(REQUEST_MAX, thread.messageCount - offset)
    const { data } = await client.threads.messages(id, { limit, offset, signal })
    messages.push(...data)
  }
  return { thread, first, messages }
}
