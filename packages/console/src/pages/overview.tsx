// Statistics of the account's mail, and its newest events.

import type { Event, Page as PageOf, Stats } from '@mailroom/sdk'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { formatDuration, formatNumber } from '#data/format.ts'
import { recentEvents, useMailChanges, useNewestEvents, withOlder } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { type Resource, useResource } from '#data/use-resource.ts'
import { ButtonLink } from '#parts/button.tsx'
import { Chart } from '#parts/chart.tsx'
import { EventBadge, EventSubject, eventParties } from '#parts/event-words.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { durationUnits, messageUnits } from '#parts/plot.tsx'
import { Choice, Time } from '#parts/small.tsx'
import { FirstSteps } from './first-steps.tsx'

const choices = [
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
  { value: '30d', text: '30 days' },
] as const

type Range = Stats['range']

const EVENTS_SHOWN = 10

/** Statistics lag behind events by a few seconds, and no event says when they have caught up. */
const FIGURES_AGAIN_MS = 2_000

export function OverviewPage() {
  const [range, setRange] = useState<Range>('24h')
  const stats = useResource(`stats ${range}`, (signal) => client.stats.get({ range, signal }))
  useMailChanges(null, stats.reload)
  const before = useNewestEvents(EVENTS_SHOWN)
  const events = withOlder(recentEvents.value, before.value?.data).slice(0, EVENTS_SHOWN)
  const newest = events[0]
  const isBehind = stats.value && newest && stats.value.asOf <= newest.occurred_at
  useEffect(() => {
    if (!isBehind) return
    const timer = setTimeout(stats.reload, FIGURES_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [isBehind, stats.value])
  return (
    <Page
      title="Overview"
      actions={<Choice label="Range" value={range} options={choices} onValue={setRange} />}
    >
      <FirstSteps />
      {stats.error && stats.value === undefined ? (
        <Trouble error={stats.error} retry={stats.reload} />
      ) : stats.value === undefined ? (
        <Skeleton rows={6} label="Loading figures" />
      ) : (
        <Figures stats={stats.value} />
      )}
      <Section
        title="Recent events"
        actions={
          <ButtonLink kind="quiet" href={paths.events}>
            All events
          </ButtonLink>
        }
      >
        <RecentEvents before={before} events={events} />
      </Section>
    </Page>
  )
}

function Figures({ stats }: { stats: Stats }) {
  const { totals, inboxes, unreadThreads, buckets } = stats
  const plotted = useMemo(() => {
    const of = (pick: (bucket: Stats['buckets'][number]) => number | null) => buckets.map(pick)
    return {
      times: buckets.map(({ at }) => at),
      mail: [
        { label: 'Received', color: '--received', values: of(({ received }) => received) },
        { label: 'Sent', color: '--sent', values: of(({ sent }) => sent) },
        { label: 'Failed', color: '--failed', values: of(({ failed }) => failed) },
      ] as const,
      latency: [
        { label: 'p50 (median)', color: '--sent', values: of((one) => one.latencyMsP50) },
        { label: 'p95', color: '--slow', values: of((one) => one.latencyMsP95) },
      ] as const,
    }
  }, [stats])
  return (
    <>
      <dl class="totals">
        <Total name="Received" value={totals.received} mark="received" />
        <Total name="Sent" value={totals.sent} mark="sent" />
        <Total name="Failed" value={totals.failed} mark="failed" />
        <Total name="Inboxes" value={inboxes} href={paths.inboxes} />
        <Total name="Unread threads" value={unreadThreads} href={paths.allMail('?show=unread')} />
      </dl>
      <div class="charts">
        <section class="panel panel-body">
          <h2>Mail</h2>
          <Chart
            label="Mail received, sent and failed over time"
            kind="bars"
            times={plotted.times}
            series={plotted.mail}
            units={messageUnits}
            format={formatNumber}
          />
        </section>
        <section class="panel panel-body">
          <h2>Time to delivery</h2>
          {plotted.latency.every(({ values }) => values.every((value) => value === null)) ? (
            <Empty icon="send" title="No mail sent in this period" />
          ) : (
            <Chart
              label="Time from release to delivery"
              kind="lines"
              times={plotted.times}
              series={plotted.latency}
              units={durationUnits}
              format={formatDuration}
            />
          )}
        </section>
      </div>
      <p class="hint below">
        Updated <Time at={stats.asOf} />.
      </p>
    </>
  )
}

function Total({
  name,
  value,
  mark,
  href,
}: {
  name: string
  value: number
  mark?: 'received' | 'sent' | 'failed'
  href?: string
}) {
  return (
    <div class="total">
      <dt>
        {mark && <span class={`swatch ${mark}`} aria-hidden="true" />}
        {href ? <a href={href}>{name}</a> : name}
      </dt>
      <dd>{formatNumber(value)}</dd>
    </div>
  )
}

function RecentEvents({ before, events }: { before: Resource<PageOf<Event>>; events: Event[] }) {
  if (events.length === 0 && before.error) {
    return <Trouble error={before.error} retry={before.reload} />
  }
  if (events.length === 0 && before.value === undefined) {
    return <Skeleton rows={3} label="Loading events" />
  }
  if (events.length === 0) {
    return (
      <div class="panel">
        <Empty
          icon="activity"
          title="No events in the last 30 days"
          actions={<ButtonLink href={paths.inboxes}>Go to inboxes</ButtonLink>}
        >
          Received and sent mail appears here as it happens.
        </Empty>
      </div>
    )
  }
  return (
    <ul class="panel event-lines">
      {events.map((event) => (
        <li key={event.event_id}>
          <EventBadge event={event} />
          <span class="event-subject">
            <EventSubject event={event} />
            <span class="muted">{eventParties(event)}</span>
          </span>
          <span class="muted nowrap">
            <Time at={event.occurred_at} />
          </span>
        </li>
      ))}
    </ul>
  )
}
