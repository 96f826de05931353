// The composition root: opens every part in order, joins them, and takes them down again. The only
// file that knows everyone.

import type { SecureContext } from 'node:tls'
import { createFirstAccount, type NewAccount } from '#actions/account/create-account.ts'
import type { Deps } from '#actions/deps.ts'
import { makeAuthenticate } from '#actions/key/authenticate.ts'
import { openDownloads } from '#actions/message/downloads.ts'
import { findRecipient } from '#actions/message/find-recipient.ts'
import { receiveMessage } from '#actions/message/receive-message.ts'
import { purgeExpired, sweepBlobs } from '#actions/retention/purge-expired.ts'
import { storageTrouble } from '#actions/storage-trouble.ts'
import { workJobs } from '#actions/work-jobs.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText, systemChance } from '#base/chance.ts'
import { type Clock, systemClock } from '#base/clock.ts'
import { idMaker } from '#base/ids.ts'
import { DRAIN_MS } from '#base/limits.ts'
import type { Log } from '#base/log.ts'
import { type Metrics, silentMetrics } from '#base/metrics.ts'
import { publicUrlOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import type { Handlers } from '#http/handler.ts'
import { allHandlers, tellingStorage } from '#http/handlers/all-handlers.ts'
import type { ServicePorts } from '#http/handlers/service-handlers.ts'
import { type HttpServer, openHttpServer } from '#http/server.ts'
import { openParserPool, type ParserPool } from '#net/parse/parser-pool.ts'
import { openSmtpServer, type SmtpServer } from '#net/smtp/server.ts'
import { outcomeCounter } from '#smtp/count-outcomes.ts'
import { makeReceiver } from '#smtp/receiver.ts'
import { countDueJobs } from '#store/job.ts'
import { findSecret } from '#store/service-secret.ts'
import { openBackground } from '#worker/background.ts'
import { openServerTls } from './open-server-tls.ts'
import { type OpenStore, openStore, releaseOwnLeases } from './open-store.ts'

export type Seams = {
  log: Log
  clock?: Clock
  chance?: Chance
  metrics?: Metrics
  /** Called on the first start with the account and its token, before they are kept. */
  tellFirstAccount?(made: NewAccount, publicUrl: string): void
}

export type App = {
  /** The account that this start made, with its token; null when there was one already. */
  readonly firstAccount: NewAccount | null
  /** Engine, version and place of the database. */
  readonly database: string
  /** Null when this process has no such role. */
  readonly http: { readonly address: string; readonly port: number } | null
  readonly smtp: { readonly host: string; readonly port: number } | null
  readonly deps: Deps
  /** Ends what has passed a deadline on SMTP connections; runs by itself every second. */
  sweepConnections(): void
  /** Lets work in hand finish for up to `drainMs`, then cuts it. A second call waits for the first. */
  close(drainMs?: number): Promise<void>
}

type Parts = {
  settings: Settings
  deps: Deps
  metrics: Metrics
  parser: ParserPool
  /** Resolves when everything that a start writes is written; who comes earlier waits for it. */
  started: Promise<void>
  /** Why the service is not ready, or null. */
  findObstacle(): Promise<string | null>
}

type Doors = { smtp: SmtpServer | null; http: HttpServer | null }

/**
 * Starts the service as the settings say; resolves when it takes mail and requests. Rejects when a
 * part cannot be opened, after closing those that could.
 */
export async function openApp(settings: Settings, seams: Seams): Promise<App> {
  const { log, metrics = silentMetrics } = seams
  let writesWaiting = 0
  // Made while the database opens: on the first start both take their time.
  const tls = settings.roles.has('smtp') ? openServerTls(settings, systemClock.now()) : null
  tls?.catch(() => {})
  const store = await openStore({
    settings,
    as: 'service',
    observer: {
      committed: (size, durationMs) => metrics.observeCommit({ size, durationMs }),
      queued: (length) => {
        writesWaiting = length
      },
    },
    onError: (error) => log.warn({ error }, 'a database connection was lost'),
  })
  metrics.watch('writeQueue', () => writesWaiting)
  try {
    return await openAround(settings, seams, { store, tls })
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openAround(
  settings: Settings,
  seams: Seams,
  { store, tls }: { store: OpenStore; tls: Promise<SecureContext> | null },
): Promise<App> {
  const { log, metrics = silentMetrics } = seams
  const parser = openParserPool({ log, onParsed: metrics.observeParse })
  const deps = await makeDeps(settings, seams, store, parser)
  let phase: 'starting' | 'serving' | 'draining' = 'starting'
  const started = Promise.withResolvers<void>()
  started.promise.catch(() => {})
  const doors: Doors = { smtp: null, http: null }
  const parts: Parts = {
    settings,
    deps,
    metrics,
    parser,
    started: started.promise,
    async findObstacle() {
      if (phase === 'draining') return 'The service is shutting down.'
      if (phase === 'starting') return 'The service is starting.'
      if (doors.smtp !== null && !doors.smtp.isListening()) return 'The SMTP listener is not ready.'
      const isReachable = await store.db.check().then(
        () => true,
        () => false,
      )
      return isReachable ? null : 'The database is not ready.'
    },
  }
  let firstAccount: NewAccount | null
  try {
    await openDoors(parts, doors, tls)
    firstAccount = await createFirstAccount(deps, {
      plan: settings.bootstrapPlan,
      token: settings.bootstrapApiKey,
      tell: (made) => seams.tellFirstAccount?.(made, deps.publicUrl),
    })
    await releaseOwnLeases(store, log)
  } catch (error) {
    started.reject(error)
    await Promise.all([doors.smtp?.close({ drainMs: 0 }), doors.http?.close(0)])
    await parser.close()
    throw error
  }
  const background = openTimeDoor(deps)
  watchQueues(parts, doors.smtp)
  phase = 'serving'
  started.resolve()

  const { smtp, http } = doors
  let closing: Promise<void> | null = null
  return {
    firstAccount,
    database: store.db.description,
    http,
    smtp: smtp === null ? null : { host: smtp.address.address, port: smtp.address.port },
    deps,
    sweepConnections: () => smtp?.sweep(),
    close(drainMs = DRAIN_MS) {
      phase = 'draining'
      closing ??= (async () => {
        // Together: a step of background work has as long to end as a message on its way.
        await Promise.all([smtp?.close({ drainMs }), http?.close(drainMs), background.close()])
        await parser.close()
        await store.close()
      })()
      return closing
    },
  }
}

/**
 * Opens the doors before anything is promised to anyone, so that a start that ends at a port in use
 * leaves no account behind. What is opened stays in `doors` also when the next fails.
 */
async function openDoors(
  parts: Parts,
  doors: Doors,
  tls: Promise<SecureContext> | null,
): Promise<void> {
  const { settings, deps } = parts
  if (tls !== null) doors.smtp = await openMailDoor(parts, await tls)
  if (!settings.roles.has('http')) return
  doors.http = await openProgramDoor(parts)
  deps.publicUrl = publicUrlOf(settings, doors.http.port)
}

/** The same function, which waits for the end of the start. */
function afterStart<Parameters extends unknown[], Value>(
  { started }: Parts,
  run: (...parameters: Parameters) => Value | Promise<Value>,
): (...parameters: Parameters) => Promise<Value> {
  return async (...parameters) => {
    await started
    return run(...parameters)
  }
}

async function makeDeps(
  settings: Settings,
  seams: Seams,
  store: OpenStore,
  parser: ParserPool,
): Promise<Deps> {
  const { log, clock = systemClock, chance = systemChance } = seams
  return {
    db: store.db,
    blobs: store.blobs,
    clock,
    chance,
    makeId: idMaker(clock, chance),
    log,
    parser,
    downloads: openDownloads(),
    inboxDomain: settings.inboxDomain,
    publicUrl: publicUrlOf(settings, settings.httpPort),
    urlKey: await ensureUrlKey(store, chance),
    inboxesPerDay: settings.limits.inboxesPerDay,
    wakeWorker: () => {},
  }
}

const URL_KEY = 'attachment-urls'

/** A look first: a service that starts on a full disk cannot write. */
async function ensureUrlKey({ db }: OpenStore, chance: Chance): Promise<Uint8Array> {
  const key = await findSecret(db, URL_KEY)
  return key ?? db.write('ensureSecret', { name: URL_KEY, value: chance.bytes(32) })
}

function openMailDoor(parts: Parts, tls: SecureContext): Promise<SmtpServer> {
  const { settings, deps, metrics } = parts
  return openSmtpServer({
    host: settings.smtpHost,
    port: settings.smtpPort,
    hostname: settings.smtpHostname,
    tls,
    receiver: makeReceiver({
      findRecipient: afterStart(parts, (address) => findRecipient(deps, address)),
      receiveMessage: (arriving) => receiveMessage(deps, arriving),
      storageTrouble,
      log: deps.log,
    }),
    clock: deps.clock,
    log: deps.log,
    onOutcome: outcomeCounter(metrics),
  })
}

function openProgramDoor(parts: Parts): Promise<HttpServer> {
  const { settings, deps, metrics } = parts
  return openHttpServer({
    host: settings.httpHost,
    port: settings.httpPort,
    handlers: handlersAfterStart(parts, {
      findObstacle: parts.findObstacle,
      renderMetrics: () => metrics.render(),
    }),
    authenticate: afterStart(parts, tellingStorage(makeAuthenticate(deps))),
    operatorToken: settings.adminToken ?? undefined,
    publicUrl: () => deps.publicUrl,
    clock: deps.clock,
    makeRequestId: () => `req_${randomText(deps.chance, LOWER_ALPHANUMERIC, 20)}`,
    log: deps.log,
    limits: settings.limits,
    onRequest: (seen) => metrics.countHttpRequest(seen),
  })
}

function openTimeDoor(deps: Deps): ReturnType<typeof openBackground> {
  const background = openBackground({
    workJobs: (signal) => workJobs(deps, { worker: deps.makeId('job'), signal }),
    purgeExpired: (signal) => purgeExpired(deps, signal),
    sweepBlobs: (signal) => sweepBlobs(deps, signal),
    log: deps.log,
  })
  deps.wakeWorker = background.wakeJobs
  return background
}

/** All handlers; those that tell about the service itself answer at once. */
function handlersAfterStart(parts: Parts, ports: ServicePorts): Handlers {
  const gated = Object.entries(allHandlers(parts.deps, ports)).map(([id, handler]) => [
    id,
    id.startsWith('service.')
      ? handler
      : afterStart(parts, handler as (...parameters: unknown[]) => unknown),
  ])
  return Object.fromEntries(gated) as Handlers
}

function watchQueues({ deps, metrics, parser }: Parts, smtp: SmtpServer | null): void {
  metrics.watch('smtpConnections', () => smtp?.stats().connections ?? 0)
  metrics.watch('parseQueue', () => parser.waiting())
  metrics.watch('jobsWaiting', () => countDueJobs(deps.db, deps.clock.now()))
}
