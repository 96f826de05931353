// A row of a thread list, which always has two lines.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useRef } from 'preact/hooks'
import { claimWords } from '#data/claims.ts'
import { formatDay, formatListTime, formatMoment, subjectOf } from '#data/format.ts'
import { Icon, type IconName } from '#parts/icon.tsx'
import { Badge, type Tone } from '#parts/notice.tsx'
import { Time } from '#parts/small.tsx'
import { CategoryBadge } from './category.tsx'
import { LabelMarks } from './labels.tsx'
import { removedAt } from './thread-actions.ts'

const LABELS_SHOWN = 2
const NAMES_SHOWN = 3

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
  const { isRead, lastMessageAt, snippet, category, labels } = thread
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
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
          <MessageCount thread={thread} />
          {inbox !== undefined && (
            <span class="thread-inbox">
              <span class="unseen">In </span>
              {inbox}
            </span>
          )}
          <StateBadge thread={thread} />
          {thread.hasAttachments && (
            <span class="thread-files" title="Has attachments">
              <Icon name="attach" size={14} />
              <span class="unseen">Has attachments</span>
            </span>
          )}
          <span class="thread-time">
            <Time at={lastMessageAt} isInList />
          </span>
        </span>
        <span class="thread-line">
          <span class="thread-subject" dir="auto">
            {subjectOf(thread)}
          </span>
          <span class="thread-beginning" dir="auto">
            {snippet}
          </span>
          <span class="thread-marks">
            <CategoryBadge category={category} />
            <LabelMarks labels={labels} max={LABELS_SHOWN} />
            {marksOf(thread).map(({ icon, text, words }) => (
              <span key={words} class="thread-mark" title={words}>
                <Icon name={icon} size={13} />
                <span aria-hidden="true">{text}</span>
                <span class="unseen">{words}</span>
              </span>
            ))}
          </span>
        </span>
      </a>
    </li>
  )
}

function MessageCount({ thread: { messageCount, unreadCount } }: { thread: Thread }) {
  if (messageCount < 2) return null
  return (
    <span class="thread-count" title={`${messageCount} messages, ${unreadCount} unread`}>
      {unreadCount > 0 && unreadCount < messageCount
        ? `${unreadCount} of ${messageCount}`
        : messageCount}
    </span>
  )
}

type State = Thread['lastMessage']['state']

const states: Readonly<Partial<Record<State, { tone: Tone; word: string }>>> = {
  held: { tone: 'warn', word: 'Held' },
  scheduled: { tone: 'info', word: 'Scheduled' },
  queued: { tone: 'calm', word: 'Queued' },
  rejected: { tone: 'bad', word: 'Rejected' },
  failed: { tone: 'bad', word: 'Failed' },
  cancelled: { tone: 'calm', word: 'Cancelled' },
}

/** Renders nothing if the newest message was received or sent. */
function StateBadge({ thread }: { thread: Thread }) {
  const state = states[thread.lastMessage.state]
  return state === undefined ? null : <Badge tone={state.tone}>{state.word}</Badge>
}

type Mark = { icon: IconName; text: string; words: string }

function marksOf({ assignee, snoozedUntil, claim, trashedAt }: Thread): Mark[] {
  const marks: Mark[] = []
  if (trashedAt !== null) {
    const day = formatDay(removedAt(trashedAt))
    marks.push({ icon: 'trash', text: day, words: `Permanently removed on ${day}` })
  }
  if (claim !== null) {
    marks.push({ icon: 'activity', text: claim.owner, words: claimWords(claim) })
  }
  if (assignee !== null) {
    marks.push({ icon: 'person', text: assignee, words: `Assigned to ${assignee}` })
  }
  if (snoozedUntil !== null) {
    const words = `Snoozed until ${formatMoment(snoozedUntil)}`
    marks.push({ icon: 'clock', text: formatListTime(snoozedUntil), words })
  }
  return marks
}

/** Shows the recipients if the newest message was sent, otherwise the newest participants. */
function whoIsIn({ participants, lastMessage }: Thread): string {
  const { direction, to } = lastMessage
  const isSent = direction === 'outbound'
  const people = isSent && to.length > 0 ? to : participants
  const names = people.map(({ name, address }) => name ?? address)
  const more = names.length > NAMES_SHOWN ? ` +${names.length - NAMES_SHOWN}` : ''
  const shown = names.slice(0, NAMES_SHOWN).join(', ') || '(no one)'
  return `${isSent ? 'To ' : ''}${shown}${more}`
}
