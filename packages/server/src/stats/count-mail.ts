// Counts the events of the log in hourly figures.

import { LOG_START, type LogReader, openLogReader } from '#events/events.ts'
import type { Clock } from '#platform/clock.ts'
import { addLatencies, latencyClass } from '#platform/telemetry/latency.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { type AccountHour, addMailHours, type CountedEvent, readLogToCount } from './stats-rows.ts'

export const STATS_STEP_EVENTS = 500

/** Counts the mail of all accounts. One for a process. */
export function openMailCounter(deps: { db: Db; clock: Clock }): LogReader {
  const limit = STATS_STEP_EVENTS
  return openLogReader<CountedEvent, AccountHour>(deps, {
    name: 'figures',
    limit,
    read: (after) => readLogToCount(deps.db, { after, limit }),
    async match(events) {
      return { work: hoursOf(events), to: events.at(-1)?.position ?? LOG_START }
    },
    write: ({ from, to, work }) => deps.db.write(addMailHours, { from, to, hours: [...work] }),
  })
}

/** The figures that these events add, for each account and hour. */
function hoursOf(events: readonly CountedEvent[]): AccountHour[] {
  const hours = new Map<string, AccountHour>()
  for (const { kind, accountId, inboxId, occurredAtMs, acceptedAtMs } of events) {
    const field = FIELDS[kind]
    if (field === undefined) continue
    const hourAtMs = Math.floor(occurredAtMs / HOUR_MS) * HOUR_MS
    const key = `${accountId} ${hourAtMs}`
    const none = { received: 0, sent: 0, failed: 0 }
    const hour = hours.get(key) ?? { accountId, hourAtMs, ...none, latencies: {}, inboxes: {} }
    hour[field] += 1
    if (inboxId !== null) {
      const counts = hour.inboxes[inboxId] ?? none
      hour.inboxes[inboxId] = { ...counts, [field]: counts[field] + 1 }
    }
    if (field === 'sent' && acceptedAtMs !== null) {
      const latency = { [latencyClass(occurredAtMs - acceptedAtMs)]: 1 }
      hour.latencies = addLatencies(hour.latencies, latency)
    }
    hours.set(key, hour)
  }
  // In one order, so that no two processes wait for each other's rows.
  return [...hours.values()].sort((a, b) =>
    a.accountId === b.accountId ? a.hourAtMs - b.hourAtMs : a.accountId < b.accountId ? -1 : 1,
  )
}

const FIELDS: Readonly<Record<string, 'received' | 'sent' | 'failed'>> = {
  'message.received': 'received',
  'message.sent': 'sent',
  'message.failed': 'failed',
}
