// Metrics of the queues of this process and, within a time limit, in the database.

import { findUnsettledSince } from '#events/store/log.ts'
import type { MailListener } from '#inbound/intake/intake.ts'
import {
  readDueDomainChecks,
  readFanOutLag,
  readJobFigures,
  readQueueFigures,
  readRetentionFigures,
  readWorkFigures,
} from '#operating/store/queue-figures.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import { STRAINED_WRITE_MS, type StorePressure } from '#platform/db/paced-db.ts'
import type { GaugeName, GaugeValue, Metrics } from '#platform/telemetry/metrics.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Dispatcher } from '#queue/dispatcher.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Indexer } from '#search/search.ts'
import { findUncounted } from '#stats/store/stats.ts'
import type { Db } from '#store/tables.ts'
import type { EventHub } from '#streams/streams.ts'
import type { Webhooks } from '#webhooks/webhooks.ts'

/** Time limit for all queries of one scrape together. */
const FIGURES_MS_MAX = 5 * SECOND_MS

type Watched = {
  db: Db
  clock: Clock
  storePressure: StorePressure
  queueClock: QueueClock
  events: EventHub
  parserQueue: () => number
  smtp: MailListener | null
  dispatcher: Dispatcher | null
  webhooks: Webhooks | null
  background: { led(): string[]; indexer: Pick<Indexer, 'lag'> }
}

export function watchQueues(metrics: Metrics, watched: Watched): void {
  const { db, storePressure: pressure, smtp, dispatcher, webhooks, background } = watched
  metrics.watch('smtpConnections', () => smtp?.stats().connections ?? 0)
  metrics.watch('intakeBytes', () => smtp?.stats().heldBytes ?? 0)
  // Includes the threads that receive mail.
  const loads = () => {
    const own = { ...pressure.load(), isStrained: pressure.isStrained() }
    const others = smtp !== null && 'loads' in smtp ? smtp.loads() : []
    const connections = db.connections?.() ?? null
    return [{ ...own, parserQueue: watched.parserQueue(), connections }, ...others]
  }
  const oldestMs = () => Math.max(...loads().map((load) => load.oldestMs))
  metrics.watch('writeQueue', () => sum(loads().map(({ waiting }) => waiting)))
  metrics.watch('oldestWrite', () => oldestMs() / 1000)
  metrics.watch('storeStrained', () =>
    loads().some((load) => load.isStrained) || oldestMs() >= STRAINED_WRITE_MS ? 1 : 0,
  )
  metrics.watch('parseQueue', () => sum(loads().map(({ parserQueue }) => parserQueue)))
  metrics.watch('transactionsOut', () => dispatcher?.active() ?? 0)
  metrics.watch('webhookAttempts', () => webhooks?.active() ?? 0)
  metrics.watch('eventCatchUpsWaiting', () => watched.events.waiting)
  metrics.watch('databaseConnections', (): Record<string, number> => {
    const pools = loads().flatMap(({ connections }) => connections ?? [])
    if (pools.length === 0) return {}
    const total = (state: 'busy' | 'idle' | 'waiting') => sum(pools.map((pool) => pool[state]))
    return { busy: total('busy'), idle: total('idle'), waiting: total('waiting') }
  })
  metrics.watch('periodicTasks', () =>
    Object.fromEntries(background.led().map((task) => [task, 1])),
  )
  // Only the leading process has the current lag; other processes have outdated values.
  const isIndexing = () => db.engine === 'sqlite' || background.led().includes('search index')
  const searchLag = () => (isIndexing() ? background.indexer.lag() : { inboxes: 0, waitedMs: 0 })
  metrics.watch('searchInboxesWaiting', () => searchLag().inboxes)
  metrics.watch('searchLag', () => searchLag().waitedMs / 1000)
  const read = shared(() => readStored(watched))
  for (const name of STORED) metrics.watch(name, async () => (await read())[name])
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0)
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
  'exports',
  'imports',
  'erasures',
  'retentionDue',
  'workAge',
  'fanOutEvents',
  'fanOutLag',
  'domainChecksDue',
  'domainChecksDueAge',
  'mailHoursLag',
  'inboxDaysLag',
] as const satisfies GaugeName[]

async function readStored({
  db,
  clock,
  queueClock,
}: Watched): Promise<Record<(typeof STORED)[number], GaugeValue>> {
  const mail = await readQueueFigures(db, 'deliveries')
  const webhooks = await readQueueFigures(db, 'webhook_deliveries')
  const queueMs = queueClock.now()
  const nowMs = clock.now()
  const jobs = await readJobFigures(db, nowMs)
  const checks = await readDueDomainChecks(db, nowMs)
  const work = await readWorkFigures(db, nowMs)
  const { inboxes, threads } = await readRetentionFigures(db, nowMs)
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
    exports: work.export.states,
    imports: work.import.states,
    erasures: work.erasure.states,
    retentionDue: { inboxes: inboxes.count, threads: threads.count },
    workAge: {
      exports: ageOf(work.export.oldestAtMs, nowMs),
      imports: ageOf(work.import.oldestAtMs, nowMs),
      erasures: ageOf(work.erasure.oldestAtMs, nowMs),
      retention: Math.max(ageOf(inboxes.oldestAtMs, nowMs), ageOf(threads.oldestAtMs, nowMs)),
    },
    fanOutEvents: fanOut.count,
    fanOutLag: ageOf(fanOut.oldestAtMs, nowMs),
    domainChecksDue: checks.count,
    domainChecksDueAge: ageOf(checks.oldestAtMs, nowMs),
    mailHoursLag: ageOf((await findUncounted(db, 'figures')).sinceMs, nowMs),
    inboxDaysLag: ageOf((await findUncounted(db, 'inbox_days')).sinceMs, nowMs),
  }
}

function ageOf(sinceMs: number | null, nowMs: number): number {
  return sinceMs === null ? 0 : Math.max(0, nowMs - sinceMs) / 1000
}

/** Concurrent callers share one read. Rejects if it takes longer than FIGURES_MS_MAX. */
function shared<Value extends object>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | null = null
  return async () => {
    reading ??= read().finally(() => {
      reading = null
    })
    const figures = await raceAbort(reading, { timeoutMs: FIGURES_MS_MAX })
    if (figures === null) throw new Error('The queries for the metrics took too long.')
    return figures
  }
}
