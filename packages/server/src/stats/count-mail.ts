import { type LogReader, openLogReader } from '#events/events.ts'
import { LOG_START, type LogOffset } from '#events/model.ts'
import { addLatencies, latencyClass } from '#platform/telemetry/latency.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import {
  type AccountHour,
  addMailHours,
  type CountedEvent,
  type CounterName,
  readLogToCount,
} from '#stats/store/stats.ts'
import { addInboxDays, NO_MAIL } from '#stats/store/usage.ts'
import type { Store } from '#store/store.ts'
import type { Row } from '#store/tables.ts'

export const STATS_STEP_EVENTS = 500

export function statsWork(deps: Store): FeatureWork {
  const count = { everyMs: 2 * SECOND_MS, by: 'leader' } as const
  return {
    tasks: [
      { name: 'hourly figures', ...count, run: openHourCounter(deps).step },
      { name: 'daily figures', ...count, run: openDayCounter(deps).step },
    ],
  }
}

export function openHourCounter(deps: Store): LogReader {
  return openCounter(deps, 'figures', hoursOf, ({ from, to, work }) =>
    deps.db.write(addMailHours, { from, to, hours: [...work] }),
  )
}

export function openDayCounter(deps: Store): LogReader {
  return openCounter(deps, 'inbox_days', daysOf, ({ from, to, work }) =>
    deps.db.write(addInboxDays, { from, to, days: [...work] }),
  )
}

function openCounter<Figures>(
  deps: Store,
  name: CounterName,
  count: (events: readonly CountedEvent[]) => Figures[],
  write: (step: { from: LogOffset; to: LogOffset; work: readonly Figures[] }) => Promise<boolean>,
): LogReader {
  const limit = STATS_STEP_EVENTS
  return openLogReader<CountedEvent, Figures>(deps, {
    name,
    limit,
    read: (after) => readLogToCount(deps.db, { after, limit }),
    async match(events) {
      return { work: count(events), to: events.at(-1)?.offset ?? LOG_START }
    },
    write,
  })
}

function hoursOf(events: readonly CountedEvent[]): AccountHour[] {
  const hours = new Map<string, AccountHour>()
  for (const { kind, accountId, occurredAtMs, releasedAtMs } of events) {
    const field = FIELDS[kind]
    if (field === undefined) continue
    const hourAtMs = Math.floor(occurredAtMs / HOUR_MS) * HOUR_MS
    const key = `${accountId} ${hourAtMs}`
    const hour = hours.get(key) ?? { accountId, hourAtMs, ...NO_MAIL, latencies: {} }
    hour[field] += 1
    if (field === 'sent' && releasedAtMs !== null) {
      const latency = { [latencyClass(occurredAtMs - releasedAtMs)]: 1 }
      hour.latencies = addLatencies(hour.latencies, latency)
    }
    hours.set(key, hour)
  }
  return inOneOrder(hours)
}

function daysOf(events: readonly CountedEvent[]): Row<'inbox_days'>[] {
  const days = new Map<string, Row<'inbox_days'>>()
  for (const { kind, accountId, inboxId, occurredAtMs } of events) {
    const field = FIELDS[kind]
    if (field === undefined || inboxId === null) continue
    const dayAtMs = Math.floor(occurredAtMs / DAY_MS) * DAY_MS
    const key = `${inboxId} ${dayAtMs}`
    const day = { account_id: accountId, day_at: dayAtMs, inbox_id: inboxId }
    const figures = days.get(key) ?? { ...day, ...NO_MAIL }
    figures[field] += 1
    days.set(key, figures)
  }
  return inOneOrder(days)
}

/** The order prevents processes from deadlocking on each other's rows. */
function inOneOrder<Figures>(figures: ReadonlyMap<string, Figures>): Figures[] {
  return [...figures].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value)
}

const FIELDS: Readonly<Record<string, 'received' | 'sent' | 'failed'>> = {
  'message.received': 'received',
  'message.sent': 'sent',
  'message.failed': 'failed',
}
