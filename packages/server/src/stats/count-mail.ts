import {
  FAN_OUT_UNKEPT_EVENTS_MAX,
  FAN_OUT_UNKEPT_MS_MAX,
  findReaderPosition,
} from '#events/event-rows.ts'
// From the log of events to hourly figures: reads on from where the last process stopped, and adds what
// it found in the transaction that moves this place, so that of several processes one counts it.

import type { LogPosition } from '#events/event.ts'
import type { Clock } from '#platform/clock.ts'
import { addLatencies, latencyClass } from '#platform/telemetry/latency.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import {
  addMailHours,
  type CountedEvent,
  type MailHour,
  readLogToCount,
} from './mail-hours-rows.ts'

export const STATS_STEP_EVENTS = 500

export type MailCounter = {
  /** Counts some of the log; true when there may be more. */
  step(): Promise<boolean>
}

type Place = { kept: LogPosition; read: LogPosition; unkept: number; keptMs: number }

/** One for a process. */
export function openMailCounter(deps: { db: Db; clock: Clock }): MailCounter {
  const { db, clock } = deps
  /** As the database has it, and how far this process has read on since without finding anything. */
  let place: Place | null = null

  async function findPlace(): Promise<Place> {
    const kept = await findReaderPosition(db, 'figures')
    return { kept, read: kept, unkept: 0, keptMs: clock.monotonic() }
  }

  return {
    async step() {
      const here = place ?? (await findPlace())
      place = here
      const events = await readLogToCount(db, { after: here.read, limit: STATS_STEP_EVENTS })
      const to = events.at(-1)?.position
      if (to === undefined) return false
      const hours = hoursOf(events)
      const unkept = here.unkept + events.length
      const isLate =
        unkept >= FAN_OUT_UNKEPT_EVENTS_MAX ||
        clock.monotonic() - here.keptMs >= FAN_OUT_UNKEPT_MS_MAX
      if (hours.length === 0 && !isLate) {
        place = { ...here, read: to, unkept }
      } else {
        const isKept = await db.write(addMailHours, { from: here.kept, to, hours })
        // Another process was there first.
        place = isKept ? { kept: to, read: to, unkept: 0, keptMs: clock.monotonic() } : null
      }
      return place === null || events.length === STATS_STEP_EVENTS
    },
  }
}

type AccountHour = MailHour & { accountId: string }

/** What the events come to, for each account and hour that something happened in. */
function hoursOf(events: readonly CountedEvent[]): AccountHour[] {
  const hours = new Map<string, AccountHour>()
  for (const { kind, accountId, occurredAtMs, acceptedAtMs } of events) {
    const field = FIELDS[kind]
    if (field === undefined) continue
    const hourAtMs = Math.floor(occurredAtMs / HOUR_MS) * HOUR_MS
    const key = `${accountId} ${hourAtMs}`
    const hour = hours.get(key) ?? {
      accountId,
      hourAtMs,
      received: 0,
      sent: 0,
      failed: 0,
      latencies: {},
    }
    hour[field] += 1
    if (field === 'sent' && acceptedAtMs !== null) {
      const latency = { [latencyClass(occurredAtMs - acceptedAtMs)]: 1 }
      hour.latencies = addLatencies(hour.latencies, latency)
    }
    hours.set(key, hour)
  }
  // In one order, so that no two processes wait for each other's rows.
  return [...hours.values()].sort((a, b) => compare(a, b))
}

const FIELDS: Readonly<Record<string, 'received' | 'sent' | 'failed'>> = {
  'message.received': 'received',
  'message.sent': 'sent',
  'message.failed': 'failed',
}

function compare(a: AccountHour, b: AccountHour): number {
  if (a.accountId !== b.accountId) return a.accountId < b.accountId ? -1 : 1
  return a.hourAtMs - b.hourAtMs
}
