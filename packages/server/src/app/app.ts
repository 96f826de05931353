// The composition root: opens every part in order and closes them in reverse order.

import type { KeyObject } from 'node:crypto'
import { createFirstAccount, type NewAccount } from '#accounts/accounts.ts'
import { openConsole } from '#api/api.ts'
import { publicUrlOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { dnsStartLog } from '#domains/records/records.ts'
import { listServiceRecords } from '#domains/signing/signing.ts'
import { IntakeThreads } from '#inbound/intake/intake.ts'
import {
  findObstacle,
  type Life,
  type SchemaWatch,
  watchQueues,
  watchSchema,
} from '#operating/operating.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { type Metrics, silentMetrics } from '#platform/telemetry/metrics.ts'
import { openServerTls, type ServerTls } from '#platform/tls/server-tls.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openKeys } from '#secrets/secrets.ts'
import { openStore, releaseOwnLeases, settleLog } from './open-store.ts'
import { openParts, type Parts } from './parts.ts'
import { openServers, openWork, type Servers } from './roles.ts'

/** Less than the ten seconds that are documented for a shutdown. */
export const DRAIN_MS = 8 * SECOND_MS

export type Seams = {
  log: Log
  clock?: Clock
  chance?: Chance
  metrics?: Metrics
  makeKey?: () => Promise<KeyObject>
  consoleFolder?: string
  buildsConsole?: boolean
  /** Called when a newer version has made the schema incompatible. */
  onOutdated?(text: string): void
  /** Called on the first start, before the account is committed. */
  announceFirstAccount?(made: NewAccount, addresses: Addresses): void
}

export type Addresses = {
  /** The URL has no trailing slash. */
  readonly publicUrl: string
  readonly smtp: string | null
}

export type App = {
  /** Null unless this start created the account. */
  readonly firstAccount: NewAccount | null
  readonly database: string
  /** The URL has no trailing slash. */
  readonly publicUrl: string
  readonly http: { readonly address: string; readonly port: number } | null
  readonly smtp: { readonly host: string; readonly port: number } | null
  readonly service: { readonly port: number } | null
  /** For tests and commands; features get only the groups that they name. */
  readonly deps: AllParts
  findObstacle(): Promise<string | null>
  /** Also runs every CERTIFICATE_CHECK_MS. */
  reloadCertificate(): Promise<void>
  /** Ends connections whose key was revoked elsewhere. Also runs every KEY_CHECK_MS. */
  checkKeys(): Promise<void>
  /** Lets work finish for up to `drainMs`, then aborts it. A second call waits for the first. */
  close(drainMs?: number): Promise<void>
}

/** Resolves when the service accepts mail and requests. After a failure all parts are closed. */
export function openApp(settings: Settings, seams: Seams): Promise<App> {
  return openAll((opened) => start(settings, seams, opened))
}

async function start(settings: Settings, seams: Seams, opened: AsyncDisposableStack): Promise<App> {
  const { log, clock = systemClock, chance = systemChance, metrics = silentMetrics } = seams
  // Runs in parallel with opening the database, because both are slow on the first start.
  const tls = settings.roles.has('smtp')
    ? openServerTls(settings, { now: systemClock.now, log })
    : null
  opened.defer(async () => (await tls?.catch(() => null))?.close())
  tls?.catch(() => {})
  // A test's clock and randomness are not available in other threads.
  const mayThread = clock === systemClock && chance === systemChance
  const intake = mayThread ? startIntake(settings) : null
  opened.defer(() => intake?.end())
  const store = await openOwnStore(settings, { log, metrics })
  opened.defer(() => store.close())
  const servers: Servers = { smtp: null, http: null, service: null }
  // Closed late, so that health checks are answered until the end.
  opened.defer(() => servers.service?.close())
  const keys = await openKeys({ settings, db: store.db, chance })
  if (keys.warning !== null) log.warn({}, keys.warning)
  const publicUrl = () => publicUrlOf(settings, servers.http?.port ?? settings.httpPort)
  const options = { log, clock, chance, metrics, makeKey: seams.makeKey, store, keys, publicUrl }
  const parts = await openParts(settings, options, opened)
  const life: Life = { phase: 'starting', drainMs: 0 }
  const busy: Busy = { parts, servers, work: null, schema: null }
  opened.defer(() => drain(busy, life))
  const started = Promise.withResolvers<void>()
  started.promise.catch(() => {})
  const findOwnObstacle = () => findObstacle(life, servers, store)
  const console = openConsole({ folder: seams.consoleFolder, mayBuild: seams.buildsConsole, log })
  let firstAccount: NewAccount | null
  try {
    await openServers(parts, servers, {
      ...{ settings, metrics, console, tls, intake, instance: store.instance },
      started: started.promise,
      findObstacle: findOwnObstacle,
    })
    firstAccount = await makeFirstAccount(parts, settings, { ...seams, smtp: servers.smtp })
    await settleLog(store, log)
    await releaseOwnLeases(store, log)
  } catch (error) {
    started.reject(error)
    throw error
  }
  const work = openWork(parts, settings, store)
  busy.work = work
  busy.schema = watchSchema(parts.service, (text) => seams.onOutdated?.(text))
  if (settings.delivery === 'direct') void logDnsRecords(parts, settings)
  watchQueues(metrics, {
    ...parts.service,
    ...work,
    events: parts.events,
    parserQueue: () => parts.own.parserPool.waiting(),
    smtp: servers.smtp,
  })
  life.phase = 'serving'
  started.resolve()

  return running({
    parts,
    servers,
    ...{ tls, firstAccount, database: store.db.description },
    findObstacle: findOwnObstacle,
    close(drainMs) {
      Object.assign(life, { phase: 'draining', drainMs })
      return opened.disposeAsync()
    },
  })
}

function running({
  parts,
  servers: { smtp, http, service },
  tls,
  close,
  ...app
}: Pick<App, 'firstAccount' | 'database' | 'findObstacle'> & {
  parts: Parts
  servers: Servers
  tls: Promise<ServerTls> | null
  close: (drainMs: number) => Promise<void>
}): App {
  let closing: Promise<void> | null = null
  return {
    ...app,
    publicUrl: parts.service.publicUrl(),
    http,
    smtp: smtp === null ? null : { host: smtp.address.address, port: smtp.address.port },
    service,
    deps: allOf(parts),
    reloadCertificate: async () => (await tls)?.reload(),
    checkKeys: async () => http?.checkKeys(),
    close(drainMs = DRAIN_MS) {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function startIntake({ roles, intakeThreads }: Settings): IntakeThreads | null {
  if (!roles.has('smtp') || intakeThreads === 0) return null
  const entry = new URL(import.meta.resolve('./intake-thread-entry.ts'))
  return new IntakeThreads(entry, intakeThreads)
}

function openOwnStore(settings: Settings, { log, metrics }: { log: Log; metrics: Metrics }) {
  return openStore({
    settings,
    as: 'service',
    observer: { committed: (size, durationMs) => metrics.observeCommit({ size, durationMs }) },
    onError: (error) => log.warn({ error }, 'a database connection was lost'),
    onBlobsAway: (found) => log.warn({ found }, 'large messages are deferred until S3 is back'),
  })
}

type Busy = {
  readonly parts: Parts
  readonly servers: Servers
  work: ReturnType<typeof openWork> | null
  schema: SchemaWatch | null
}

/** All parts share one drain period. */
async function drain(
  { parts, servers: { smtp, http }, work, schema }: Busy,
  { drainMs }: Life,
): Promise<void> {
  await Promise.all([
    parts.events.close(),
    smtp?.close({ drainMs }),
    http?.close(drainMs),
    work?.close(drainMs),
    schema?.close(),
  ])
}

function makeFirstAccount(
  { service }: Parts,
  settings: Settings,
  { announceFirstAccount, smtp }: Pick<Seams, 'announceFirstAccount'> & Pick<Servers, 'smtp'>,
) {
  const at = smtp === null ? null : `${smtp.address.address}:${smtp.address.port}`
  return createFirstAccount(service, {
    plan: settings.bootstrapPlan,
    token: settings.bootstrapApiKey,
    announce: (made) => announceFirstAccount?.(made, { publicUrl: service.publicUrl(), smtp: at }),
  })
}

/** Direct delivery needs the service's DNS records. */
async function logDnsRecords({ domains }: Parts, { smtpHostname }: Settings): Promise<void> {
  const { log } = domains
  try {
    const { fields, text } = dnsStartLog(await listServiceRecords(domains, { smtpHostname }))
    log.info(fields, text)
  } catch (error) {
    log.warn({ error }, 'the DKIM key could not be read')
  }
}

type AllParts = ReturnType<typeof allOf>

function allOf({ budgets, events, domains, texts, webhooks, deliveries }: Parts) {
  return { budgets, events, ...domains, ...texts, ...webhooks, ...deliveries }
}
