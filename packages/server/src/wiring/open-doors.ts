// The doors of the service: for programs, for mail, for time and for mail on its way out. Each is
// joined here to the actions behind it; when they open and close is the composition root's affair.

import { openSmtpServer, type SmtpServer } from '@mailroom/smtp/server/server.ts'
import { findActiveKeys, findEndedSessions } from '#accounts/account-rows.ts'
import { makeAuthenticate } from '#accounts/key.ts'

import { openSessions } from '#accounts/session.ts'
import type { ConsolePort } from '#api/console/console-routes.ts'
import { type HttpServer, openHttpServer } from '#api/server.ts'
import { publicUrlOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { openDeliveryQueue } from '#delivery/deliver.ts'
import { checkDueDomains } from '#domains/check-domain.ts'
import { rotateDueKeys } from '#domains/rotate-keys.ts'
import { EventReaders } from '#http/event-readers.ts'
import { makeReceiver, outcomeCounter } from '#inbound/receiver.ts'
import { openServiceDoor, type ServiceDoor } from '#operating/service-door.ts'
import { LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import type { ServerTls } from '#platform/tls/server-tls.ts'
import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { ParserPool } from '#platform/workers/parser-pool.ts'
import { traceQueue } from '#queue/dispatched-queue.ts'
import { type Dispatcher, openDispatcher } from '#queue/dispatcher.ts'
import { MAIL_BOUNDS, RELAY_BOUNDS } from '#queue/dispatcher-bounds.ts'
import type { Job } from '#queue/job-rows.ts'
import {
  openBackground,
  openOwnTasks,
  openSharedTasks,
  type PeriodicTasks,
  type TaskName,
} from '#queue/periodic-tasks.ts'
import { type JobLease, workJobs } from '#queue/work-jobs.ts'
import { countOldStored, purgeExpired, runJob, sweepBlobs } from '#removal/purge.ts'
import { type Indexer, openIndexer } from '#search/indexer.ts'
import { openMailCounter } from '#stats/count-mail.ts'
import { SOCKETS_PER_ACCOUNT_MAX } from '#streams/event-stream.ts'
import { allHandlers, doorPorts } from './all-handlers.ts'
import type { Deps } from './deps.ts'

export type Parts = {
  settings: Settings
  deps: Deps
  metrics: Metrics
  parser: ParserPool
  console: ConsolePort
  /** Resolves when everything that a start writes is written; who comes earlier waits for it. */
  started: Promise<void>
  /** Why the service is not ready, or null. */
  findObstacle(): Promise<string | null>
}

export type Doors = {
  smtp: SmtpServer | null
  http: HttpServer | null
  service: ServiceDoor | null
}

/**
 * Opens the doors before anything is promised to anyone, so that a start that ends at a port in use
 * leaves no account behind. What is opened stays in `doors` also when the next fails.
 */
export async function openDoors(
  parts: Parts,
  doors: Doors,
  tls: Promise<ServerTls> | null,
): Promise<void> {
  const { settings, deps } = parts
  doors.service = await openOperatorDoor(parts)
  if (tls !== null) doors.smtp = await openMailDoor(parts, await tls)
  if (!settings.roles.has('http')) return
  doors.http = await openProgramDoor(parts)
  deps.publicUrl = publicUrlOf(settings, doors.http.port)
}

/** Null where the settings name no port for it. */
async function openOperatorDoor(parts: Parts): Promise<ServiceDoor | null> {
  const { settings, deps, metrics } = parts
  if (settings.metricsPort === null) return null
  return openServiceDoor({
    host: settings.metricsHost,
    port: settings.metricsPort,
    operatorToken: settings.adminToken,
    failures: deps.budgets.openWindow({
      name: 'operator failures',
      limit: settings.limits.failedAuthPerMinute,
      windowMs: MINUTE_MS,
    }),
    findObstacle: parts.findObstacle,
    renderMetrics: () => metrics.render(),
    log: deps.log,
  })
}

function openMailDoor(parts: Parts, tls: ServerTls): Promise<SmtpServer> {
  const { settings, deps, metrics, started } = parts
  return openSmtpServer({
    host: settings.smtpHost,
    port: settings.smtpPort,
    reusePort: settings.reusePort,
    hostname: settings.smtpHostname,
    tls: () => tls.current(),
    receiver: makeReceiver(deps, { started, metrics }),
    clock: deps.clock,
    log: deps.log,
    onOutcome: outcomeCounter(metrics),
  })
}

function openProgramDoor(parts: Parts): Promise<HttpServer> {
  const { settings, deps, metrics } = parts
  const { budgets } = deps
  const placesOf = (name: string) => budgets.openSlots({ name, limit: SOCKETS_PER_ACCOUNT_MAX })
  const readers = new EventReaders({
    places: { socket: placesOf('sockets'), stream: placesOf('streams') },
    findGoodKeys: (keyIds) => findActiveKeys(deps.db, keyIds),
    findEndedSessions: (ids) => findEndedSessions(deps.db, ids),
    now: () => deps.clock.now(),
    log: deps.log,
  })
  metrics.watch('eventSockets', () => readers.count('socket'))
  metrics.watch('eventStreams', () => readers.count('stream'))
  metrics.watch('eventWaits', () => readers.count('wait'))
  const servicePorts = {
    findObstacle: parts.findObstacle,
    renderMetrics: () => metrics.render(),
  }
  const authenticate = makeAuthenticate(deps)
  return openHttpServer({
    host: settings.httpHost,
    port: settings.httpPort,
    reusePort: settings.reusePort,
    trustedProxies: settings.trustedProxies ?? undefined,
    started: parts.started,
    handlers: allHandlers(deps, servicePorts, readers),
    readers,
    ports: doorPorts(deps),
    authenticate,
    sessions: openSessions(deps, authenticate),
    console: parts.console,
    operatorToken: settings.adminToken ?? undefined,
    publicUrl: () => deps.publicUrl,
    clock: deps.clock,
    makeRequestId: () => `req_${randomText(deps.chance, LOWER_ALPHANUMERIC, 20)}`,
    log: deps.log,
    budgets,
    limits: settings.limits,
    onRequest: (seen) => metrics.countHttpRequest(seen),
    tracing: deps.tracing,
  })
}

/** What happens because a job is due or an hour has passed. */
export function openTimeDoor(
  deps: Deps,
  settings: Settings,
  instance: string,
): ReturnType<typeof openBackground> & { tasks: PeriodicTasks; indexer: Indexer } {
  const { dkimRotationDays: rotationDays, delivery } = settings
  const schedule = { rotationDays, usesServiceKeys: delivery !== 'sandbox' }
  const indexer = openIndexer(deps)
  const tasks = openTasks(deps, settings, instance)
  const { db, clock, log } = deps
  const run = (job: Job, lease: JobLease) => runJob(deps, job, lease)
  const background = openBackground({
    workJobs: (signal) =>
      workJobs({ db, clock, log, runJob: run }, { worker: deps.makeId('job'), signal }),
    async purgeExpired(signal) {
      await purgeExpired(deps, signal)
      await countOldStored(deps, signal)
    },
    sweepBlobs: (signal) => sweepBlobs(deps, signal),
    sweepEveryMs: deps.blobs?.sweepEveryMs ?? HOUR_MS,
    checkDomains: (signal) => checkDueDomains(deps, signal),
    rotateKeys: (signal) => rotateDueKeys(deps, schedule, signal),
    indexSearch: indexer.step,
    countMail: openMailCounter(deps).step,
    tasks,
    log,
  })
  deps.wakeWorker = background.wakeJobs
  return { ...background, tasks, indexer }
}

const TASKS_OF_ONE: readonly TaskName[] = [
  'hourly figures',
  'key rotation',
  'retention',
  'search index',
]

/** `instance` names the service over its lives: the next takes up at once what this one leads. */
function openTasks(
  deps: Deps,
  { databaseUrl, blobStore }: Pick<Settings, 'databaseUrl' | 'blobStore'>,
  instance: string,
): PeriodicTasks {
  if (databaseUrl === null) return openOwnTasks()
  // Each process sees its own folder only, which may be another machine's.
  const names: TaskName[] = blobStore === 'disk' ? [] : ['blob sweep']
  const worker = `${instance} ${deps.makeId('job')}`
  return openSharedTasks(deps, { worker, names: [...TASKS_OF_ONE, ...names] })
}

/** Works the queue of deliveries. */
export function openDeliveryDoor(
  deps: Deps,
  { delivery }: Pick<Settings, 'delivery'>,
  instance: string,
): Dispatcher {
  const worker = `${instance} ${deps.makeId('job')}`
  const queue = traceQueue(openDeliveryQueue(deps, worker), { ...deps, name: 'delivery attempt' })
  const bounds = delivery === 'relay' ? RELAY_BOUNDS : MAIL_BOUNDS
  const dispatcher = openDispatcher(queue, deps.log, { bounds })
  deps.wakeDelivery = dispatcher.wake
  return dispatcher
}
