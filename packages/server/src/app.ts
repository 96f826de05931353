// The composition root: opens every part in order, joins them, and takes them down again. The only
// file that knows everyone.

import type { SecureContext } from 'node:tls'
import { createFirstAccount, type NewAccount } from '#actions/account/create-account.ts'
import type { Deps } from '#actions/deps.ts'
import { makeIdentify } from '#actions/key/identify.ts'
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
import { allHandlers, tellingStorage } from '#http/handlers/all-handlers.ts'
import { type HttpServer, openHttpServer } from '#http/server.ts'
import { openParserPool, type ParserPool } from '#net/parse/parser-pool.ts'
import { openSmtpServer, type SmtpServer } from '#net/smtp/server.ts'
import { outcomeCounter } from '#smtp/count-outcomes.ts'
import { makeReceiver } from '#smtp/receiver.ts'
import { countDueJobs } from '#store/job.ts'
import { findSecret } from '#store/service-secret.ts'
import { openBackground } from '#worker/background.ts'
import { openServerTls } from './open-server-tls.ts'
import { type OpenStore, openStore } from './open-store.ts'

export type Seams = { log: Log; clock?: Clock; chance?: Chance; metrics?: Metrics }

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
  /** Why the service is not ready, or null. */
  findObstacle(): Promise<string | null>
}

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
  const parser = openParserPool({ log })
  const deps = await makeDeps(settings, seams, store, parser)
  const firstAccount = await createFirstAccount(deps, {
    plan: settings.bootstrapPlan,
    token: settings.bootstrapApiKey,
  })
  await releaseOwnLeases(store, log)

  let isDraining = false
  let smtp: SmtpServer | null = null
  let http: HttpServer | null = null
  const parts: Parts = {
    settings,
    deps,
    metrics,
    parser,
    async findObstacle() {
      if (isDraining) return 'The service is shutting down.'
      if (smtp !== null && !smtp.isListening()) return 'The SMTP listener is not ready.'
      const isReachable = await store.db.check().then(
        () => true,
        () => false,
      )
      return isReachable ? null : 'The database is not ready.'
    },
  }
  try {
    if (tls !== null) smtp = await openMailDoor(parts, await tls)
    if (settings.roles.has('http')) http = await openProgramDoor(parts)
  } catch (error) {
    await smtp?.close({ drainMs: 0 })
    await parser.close()
    throw error
  }
  if (http !== null) deps.publicUrl = publicUrlOf(settings, http.port)
  const background = openBackground({
    workJobs: () => workJobs(deps, deps.makeId('job')),
    purgeExpired: () => purgeExpired(deps),
    sweepBlobs: () => sweepBlobs(deps),
    log,
  })
  deps.wakeWorker = background.wakeJobs
  watchQueues(parts, smtp)

  let closing: Promise<void> | null = null
  return {
    firstAccount,
    database: store.db.description,
    http,
    smtp: smtp === null ? null : { host: smtp.address.address, port: smtp.address.port },
    deps,
    sweepConnections: () => smtp?.sweep(),
    close(drainMs = DRAIN_MS) {
      isDraining = true
      closing ??= (async () => {
        await Promise.all([smtp?.close({ drainMs }), http?.close(drainMs)])
        await background.close()
        await parser.close()
        await store.close()
      })()
      return closing
    },
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

/** On the embedded database the only process that can have held leases has ended. */
async function releaseOwnLeases({ db }: OpenStore, log: Log): Promise<void> {
  if (db.engine !== 'sqlite') return
  try {
    await db.write('releaseLeases', {})
  } catch (error) {
    // A service that starts on a full disk still reads and deletes; the leases end by themselves.
    if (storageTrouble(error) !== 'full') throw error
    log.warn({ error }, 'the disk is full')
  }
}

function openMailDoor({ settings, deps, metrics }: Parts, tls: SecureContext): Promise<SmtpServer> {
  return openSmtpServer({
    host: settings.smtpHost,
    port: settings.smtpPort,
    hostname: settings.smtpHostname,
    tls,
    receiver: makeReceiver({
      findRecipient: (address) => findRecipient(deps, address),
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
    handlers: allHandlers(deps, {
      findObstacle: parts.findObstacle,
      renderMetrics: () => metrics.render(),
    }),
    authenticate: tellingStorage(makeIdentify(deps)),
    operatorToken: settings.adminToken ?? undefined,
    publicUrl: deps.publicUrl,
    clock: deps.clock,
    makeRequestId: () => `req_${randomText(deps.chance, LOWER_ALPHANUMERIC, 20)}`,
    log: deps.log,
    limits: settings.limits,
    onRequest: (seen) => metrics.countHttpRequest(seen),
  })
}

function watchQueues({ deps, metrics }: Parts, smtp: SmtpServer | null): void {
  metrics.watch('smtpConnections', () => smtp?.stats().connections ?? 0)
  metrics.watch('jobsWaiting', () => countDueJobs(deps.db, deps.clock.now()))
}
