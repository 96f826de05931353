// Events of the account, newest first: live, and from the log of the last 30 days.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import type { Event } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatExact, formatNumber, formatWhole } from '#data/format.ts'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { liveState, recentEvents, useNewestEvents, withOlder } from '#data/live.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { EventBadge, eventParties } from '#parts/event-words.tsx'
import { SelectField } from '#parts/field.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { CodeBlock, CopyButton } from '#parts/small.tsx'

type Filter = { kind: EventKind | ''; inboxId: string }

const PAGE = 50

export function EventsPage() {
  const [filter, setFilter] = useState<Filter>({ kind: '', inboxId: '' })
  const inboxes = useResource('event inboxes', (signal) => readInboxChoices([], signal))
  return (
    <Page
      title="Events"
      intro="What happened to your mail, domains and webhooks in the last 30 days, newest first: as webhooks and WebSocket clients receive it."
    >
      <div class="toolbar">
        <SelectField
          label="Type"
          name="kind"
          value={filter.kind}
          onValue={(kind) =>
            setFilter({ ...filter, kind: eventKinds.find((one) => one === kind) ?? '' })
          }
          options={[
            { value: '', text: 'All types' },
            ...eventKinds.map((kind) => ({ value: kind, text: kind })),
          ]}
        />
        <SelectField
          label="Inbox"
          name="inbox"
          value={filter.inboxId}
          onValue={(inboxId) => setFilter({ ...filter, inboxId })}
          options={[{ value: '', text: 'All inboxes' }, ...inboxOptions(inboxes.value)]}
        />
      </div>
      <EventList key={`${filter.kind} ${filter.inboxId}`} filter={filter} />
    </Page>
  )
}

/** The first page also shows events live. */
function EventList({ filter: { kind, inboxId } }: { filter: Filter }) {
  const [paused, setPaused] = useState<readonly Event[] | null>(null)
  // The newest event of the page before each visited page.
  const [starts, setStarts] = useState<readonly string[]>([])
  const isNewest = starts.length === 0
  const page = useNewestEvents(PAGE, { kind, inboxId, after: starts.at(-1) })
  const isWanted = (event: Event) =>
    (kind === '' || event.event === kind) && (inboxId === '' || event.inbox_id === inboxId)
  const live = isNewest ? (paused ?? recentEvents.value).filter(isWanted) : []
  const read = page.value?.data ?? []
  const events = withOlder(live, read)
  const missed = paused === null ? 0 : newerThan(recentEvents.value, paused).filter(isWanted).length
  const lastId = read.at(-1)?.event_id
  const isEnd = page.value !== undefined && read.length < PAGE
  return (
    <>
      <div class="result-head">
        <p class="muted" role="status">
          {!isNewest
            ? 'Older events'
            : paused !== null
              ? `Paused; ${formatNumber(missed)} new since`
              : liveState.value === 'live'
                ? 'Live: new events appear at the top'
                : 'Connecting'}
        </p>
        {isNewest && (
          <Button
            icon={paused === null ? 'pause' : 'play'}
            onClick={() => setPaused(paused === null ? recentEvents.value : null)}
          >
            {paused === null ? 'Pause' : 'Resume'}
          </Button>
        )}
      </div>
      <div class="panel">
        {events.length > 0 ? (
          <Tail events={events} />
        ) : page.error ? (
          <Trouble error={page.error} retry={page.reload} />
        ) : page.value === undefined ? (
          <Skeleton label="Loading events" />
        ) : (
          <Empty icon="activity" title={isNewest ? 'No events' : 'No older events'}>
            New events appear here as they happen, and are kept for 30 days.
          </Empty>
        )}
        <nav class="pager" aria-label="Pages of events">
          <span class="pager-place">Newest first</span>
          <Button
            kind="quiet"
            icon="back"
            label="Newer events"
            isDisabled={isNewest}
            onClick={() => setStarts(starts.slice(0, -1))}
          />
          <Button
            kind="quiet"
            icon="forward"
            label="Older events"
            isDisabled={isEnd || lastId === undefined}
            onClick={() => lastId && setStarts([...starts, lastId])}
          />
        </nav>
      </div>
    </>
  )
}

function Tail({ events }: { events: readonly Event[] }) {
  return (
    <ul class="tail">
      {events.map((event) => (
        <li key={event.event_id}>
          <TailEvent event={event} />
        </li>
      ))}
    </ul>
  )
}

function TailEvent({ event }: { event: Event }) {
  const [isOpen, setIsOpen] = useState(false)
  const { occurred_at, message, quarantined, domain, webhook } = event
  const about = message?.subject || quarantined?.subject || domain?.domain || webhook?.url || ''
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <time dateTime={occurred_at} title={formatWhole(occurred_at)}>
          {formatExact(occurred_at)}
        </time>
        <EventBadge event={event} />
        <span class="event-subject">
          <span>{about}</span>
          <span class="muted">{eventParties(event)}</span>
        </span>
      </summary>
      {isOpen && <Json value={event} />}
    </details>
  )
}

function Json({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2)
  return (
    <>
      <div class="json-tools">
        <CopyButton text={text} label="event">
          Copy JSON
        </CopyButton>
      </div>
      <CodeBlock label="Event as JSON" text={text} />
    </>
  )
}

function newerThan(now: readonly Event[], before: readonly Event[]): readonly Event[] {
  const at = now.findIndex(({ event_id }) => event_id === before[0]?.event_id)
  return at === -1 ? now : now.slice(0, at)
}
