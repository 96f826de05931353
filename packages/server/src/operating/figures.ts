// Metrics of the queues: those of this process, and those in the database, which one query after another
// reads for each scrape, within a time limit.

import type { SmtpServer } from '@mailroom/smtp/server/server.ts'
import { findUnsettledSince } from '#events/events-rows.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import { STRAINED_WRITE_MS, type StorePressure } from '#platform/db/paced-db.ts'
import type { GaugeName, Metrics } from '#platform/telemetry/metrics.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Dispatcher } from '#queue/dispatcher.ts'
import type { PeriodicTasks } from '#queue/periodic-tasks.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import type { Indexer } from '#search/search.ts'
import { findUncounted } from '#stats/stats-rows.ts'
import type { EventHub } from '#streams/streams.ts'
import type { Webhooks } from '#webhooks/webhooks.ts'
import {
  readDueDomainChecks,
  readFanOutLag,
  readJobFigures,
  readQueueFigures,
} from './queue-figures-rows.ts'

/** For all queries of one scrape together. */
const FIGURES_MS_MAX = 5 * SECOND_MS

type Watched = {
  db: Db
  clock: Clock
  storePressure: StorePressure
  queueClock: QueueClock
  events: EventHub
  /** Messages that wait for a parser thread. */
  parserQueue: () => number
  smtp: SmtpServer | null
  dispatcher: Dispatcher | null
  webhooks: Webhooks | null
  background: { tasks: Pick<PeriodicTasks, 'led'>; indexer: Pick<Indexer, 'lag'> }
}

/** Has every scrape read the queues of this process and of the database. */
export function watchQueues(metrics: Metrics, watched: Watched): void {
  const { db, storePressure: pressure, smtp, dispatcher, webhooks, background } = watched
  metrics.watch('smtpConnections', () => smtp?.stats().connections ?? 0)
  metrics.watch('intakeBytes', () => smtp?.stats().heldBytes ?? 0)
  metrics.watch('writeQueue', () => pressure.load().waiting)
  metrics.watch('oldestWrite', () => pressure.load().oldestMs / 1000)
  metrics.watch('storeStrained', () =>
    pressure.isStrained() || pressure.load().oldestMs >= STRAINED_WRITE_MS ? 1 : 0,
  )
  metrics.watch('parseQueue', watched.parserQueue)
  metrics.watch('transactionsOut', () => dispatcher?.active() ?? 0)
  metrics.watch('webhookAttempts', () => webhooks?.active() ?? 0)
  metrics.watch('eventCatchUpsWaiting', () => watched.events.waiting)
  metrics.watch('databaseConnections', () => db.connections?.() ?? {})
  metrics.watch('periodicTasks', () =>
    Object.fromEntries(background.tasks.led().map((task) => [task, 1])),
  )
  // Of several processes, the leader of the task knows; what another one saw last is out of date.
  const isIndexing = () => db.engine === 'sqlite' || background.tasks.led().includes('search index')
  const searchLag = () => (isIndexing() ? background.indexer.lag() : { inboxes: 0, waitedMs: 0 })
  metrics.watch('searchInboxesWaiting', () => searchLag().inboxes)
  metrics.watch('searchLag', () => searchLag().waitedMs / 1000)
  const read = shared(() => readStored(watched))
  for (const name of STORED) metrics.watch(name, async () => (await read())[name])
}

const STORED = [
  'jobsWaiting',
  'jobsLeased',
  'jobsDueAge',
  'deliveriesReady',
  'deliveriesWaiting',
  'deliveriesLeased',
  'deliveriesDueAge',
  'webhookDeliveriesReady',
  'webhookDeliveriesWaiting',
  'webhookDeliveriesLeased',
  'webhookDeliveriesDueAge',
  'eventLogLag',
  'fanOutEvents',
  'fanOutLag',
  'domainChecksDue',
  'domainChecksDueAge',
  'mailHoursLag',
] as const satisfies GaugeName[]

async function readStored({
  db,
  clock,
  queueClock,
}: Watched): Promise<Record<(typeof STORED)[number], number>> {
  const mail = await readQueueFigures(db, 'deliveries')
  const webhooks = await readQueueFigures(db, 'webhook_deliveries')
  const queueMs = queueClock.now()
  const nowMs = clock.now()
  const jobs = await readJobFigures(db, nowMs)
  const checks = await readDueDomainChecks(db, nowMs)
  const fanOut = await readFanOutLag(db)
  return {
    jobsWaiting: jobs.due.count,
    jobsLeased: jobs.leased,
    jobsDueAge: ageOf(jobs.due.oldestAtMs, nowMs),
    deliveriesReady: mail.ready,
    deliveriesWaiting: mail.waiting,
    deliveriesLeased: mail.leased,
    deliveriesDueAge: ageOf(mail.dueAtMs, queueMs),
    webhookDeliveriesReady: webhooks.ready,
    webhookDeliveriesWaiting: webhooks.waiting,
    webhookDeliveriesLeased: webhooks.leased,
    webhookDeliveriesDueAge: ageOf(webhooks.dueAtMs, queueMs),
    eventLogLag: ageOf(await findUnsettledSince(db), nowMs),
    fanOutEvents: fanOut.count,
    fanOutLag: ageOf(fanOut.oldestAtMs, nowMs),
    domainChecksDue: checks.count,
    domainChecksDueAge: ageOf(checks.oldestAtMs, nowMs),
    mailHoursLag: ageOf((await findUncounted(db)).sinceMs, nowMs),
  }
}

/** In seconds. */
function ageOf(sinceMs: number | null, nowMs: number): number {
  return sinceMs === null ? 0 : Math.max(0, nowMs - sinceMs) / 1000
}

/** Callers during one read share its result; rejects when it takes longer than FIGURES_MS_MAX. */
function shared<Value extends object>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | null = null
  return async () => {
    reading ??= read().finally(() => {
      reading = null
    })
    const figures = await raceAbort(reading, { timeoutMs: FIGURES_MS_MAX })
    if (figures === null) throw new Error('The figures took too long.')
    return figures
  }
}
