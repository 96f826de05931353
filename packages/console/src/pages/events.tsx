// Events of the account: live, or from the log of the last 30 days.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import type { Event } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatExact, formatNumber, formatWhole } from '#data/format.ts'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { liveState, recentEvents, useNewestEvents, withOlder } from '#data/live.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { EventBadge, eventParties } from '#parts/event-words.tsx'
import { SelectField } from '#parts/field.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Choice, CodeBlock, CopyButton } from '#parts/small.tsx'

const views = [
  { value: 'live', text: 'Live' },
  { value: 'log', text: 'Log' },
] as const
type View = (typeof views)[number]['value']

type Filter = { kind: EventKind | ''; inboxId: string }

export function EventsPage() {
  const [view, setView] = useState<View>('live')
  const [filter, setFilter] = useState<Filter>({ kind: '', inboxId: '' })
  const inboxes = useResource('event inboxes', (signal) => readInboxChoices([], signal))
  return (
    <Page
      title="Events"
      intro="Everything that happened to your mail, domains and webhooks, as webhooks and WebSocket clients receive it."
      actions={<Choice label="Events" value={view} options={views} onValue={setView} />}
    >
      <div class="toolbar">
        <SelectField
          label="Kind"
          name="kind"
          value={filter.kind}
          onValue={(kind) =>
            setFilter({ ...filter, kind: eventKinds.find((one) => one === kind) ?? '' })
          }
          options={[
            { value: '', text: 'All kinds' },
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
      {view === 'live' ? <LiveTail filter={filter} /> : <Log filter={filter} />}
    </Page>
  )
}

/** Earlier events at the start of the live view. */
const LIVE_BEFORE = 20

function LiveTail({ filter }: { filter: Filter }) {
  const [paused, setPaused] = useState<readonly Event[] | null>(null)
  const isWanted = (event: Event) =>
    (filter.kind === '' || event.event === filter.kind) &&
    (filter.inboxId === '' || event.inbox_id === filter.inboxId)
  const before = useNewestEvents(LIVE_BEFORE, filter)
  const live = (paused ?? recentEvents.value).filter(isWanted)
  const events = withOlder(live, before.value?.data)
  const missed = paused === null ? 0 : newerThan(recentEvents.value, paused).filter(isWanted).length
  return (
    <>
      <div class="result-head">
        <p class="muted" role="status">
          {paused === null
            ? `${liveState.value === 'live' ? 'Listening' : 'Connecting'}; ${formatNumber(events.length)} shown`
            : `Paused; ${formatNumber(missed)} new since`}
        </p>
        <Button
          icon={paused === null ? 'pause' : 'play'}
          onClick={() => setPaused(paused === null ? recentEvents.value : null)}
        >
          {paused === null ? 'Pause' : 'Resume'}
        </Button>
      </div>
      <div class="panel">
        {events.length === 0 && before.error ? (
          <Trouble error={before.error} retry={before.reload} />
        ) : events.length === 0 && before.value === undefined ? (
          <Skeleton label="Loading events" />
        ) : events.length === 0 ? (
          <Empty icon="activity" title="No events">
            New events appear here as they happen.
          </Empty>
        ) : (
          <Tail events={events} />
        )}
      </div>
    </>
  )
}

const LOG_PAGE = 50

function Log({ filter }: { filter: Filter }) {
  const { kind, inboxId } = filter
  // The last event before each visited page; the first page begins at the newest event.
  const [starts, setStarts] = useState<{ key: string; after: readonly string[] }>({
    key: '',
    after: [],
  })
  const key = `${kind} ${inboxId}`
  const after = starts.key === key ? starts.after : []
  const page = useResource(`log ${key} ${after.at(-1)}`, (signal) =>
    client.events
      .list({
        order: 'desc',
        limit: LOG_PAGE,
        signal,
        ...(kind !== '' && { event_types: kind }),
        ...(inboxId !== '' && { inbox_id: inboxId }),
        ...(after.length > 0 && { after: after.at(-1) }),
      })
      .page(),
  )
  const events = page.value?.data ?? []
  const lastId = events.at(-1)?.event_id
  const isEnd = page.value !== undefined && events.length < LOG_PAGE
  return (
    <div class="panel">
      {page.error ? (
        <Trouble error={page.error} retry={page.reload} />
      ) : page.value === undefined ? (
        <Skeleton label="Loading the log" />
      ) : events.length === 0 ? (
        <Empty icon="activity" title={after.length > 0 ? 'No older events' : 'No events'}>
          Events are kept for 30 days.
        </Empty>
      ) : (
        <Tail events={events} />
      )}
      <nav class="pager" aria-label="Pages of the log">
        <span class="pager-place">Newest first</span>
        <Button
          kind="quiet"
          icon="back"
          label="Newer events"
          isDisabled={after.length === 0}
          onClick={() => setStarts({ key, after: after.slice(0, -1) })}
        />
        <Button
          kind="quiet"
          icon="forward"
          label="Older events"
          isDisabled={isEnd || lastId === undefined}
          onClick={() => lastId && setStarts({ key, after: [...after, lastId] })}
        />
      </nav>
    </div>
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
  const { occurred_at, message, domain, webhook } = event
  const about = message?.subject || domain?.domain || webhook?.url || ''
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
