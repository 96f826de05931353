// The composition root: opens every part in order, joins them, and takes them down again. The only
// file that knows everyone.

import type { KeyObject } from 'node:crypto'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { createFirstAccount, type NewAccount } from '#accounts/account.ts'
import { publicUrlOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { openDomainChecks } from '#domains/check-domain.ts'
import { openDomainCreations } from '#domains/create-domain.ts'
import { makeFewAtOnce } from '#domains/dkim-key.ts'
import { dnsStartLog } from '#domains/dns-records.ts'
import { listServiceRecords, openSigners } from '#domains/signers.ts'
import type { AskedFilter, LoggedEvent } from '#events/event.ts'
import { findInbox } from '#inboxes/inbox-rows.ts'
import { openDownloads } from '#mailbox/downloads.ts'
import { openExtractions } from '#mailbox/extractions.ts'
import { openImageFetches } from '#mailbox/show-message.ts'
import { openStorageQuota } from '#mailbox/storage-quota.ts'
import { watchQueues } from '#operating/figures.ts'
import { openPressure } from '#operating/pressure.ts'
import { findObstacle, type Life } from '#operating/readiness.ts'
import { openSchemaWatch, type SchemaWatch } from '#operating/schema-watch.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { idMaker } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { type Metrics, silentMetrics } from '#platform/telemetry/metrics.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import { openServerTls, type ServerTls } from '#platform/tls/server-tls.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import { openBudgets } from '#rate-limits/leased-budgets.ts'
import { openCatchUps } from '#search/indexer.ts'
import { readEnvelopes } from '#streams/envelope.ts'
import { openEventHub } from '#streams/event-hub.ts'
import { checkFilter } from '#streams/read-events.ts'
import { openWebhookTests } from '#webhooks/test-webhook.ts'
import type { Deps } from '#wiring/deps.ts'
import { openConsole } from '#wiring/open-console.ts'
import { type Doors, openDoors, type Parts } from '#wiring/open-doors.ts'
import { type Keys, openKeys } from '#wiring/open-keys.ts'
import { type OpenStore, openStore, releaseOwnLeases, settleLog } from '#wiring/open-store.ts'
import { openTracing, traceParts } from '#wiring/open-tracing.ts'
import { openWays, type Ways } from '#wiring/open-ways.ts'
import { openWork } from '#wiring/open-work.ts'

/** SIGTERM to exit, within the ten seconds that are promised. */
export const DRAIN_MS = 8 * SECOND_MS

export type Seams = {
  log: Log
  clock?: Clock
  chance?: Chance
  metrics?: Metrics
  /** How the private keys that sign mail are made. */
  makeKey?: () => Promise<KeyObject>
  /** Where the built console lies, instead of in its own package. */
  consoleFolder?: string
  /** Whether the console is built where it is not there. */
  buildsConsole?: boolean
  /** Called when a newer program has changed the schema so that this one does not work with it. */
  onOutdated?(text: string): void
  /** Called on the first start with the account and its token, before they are committed. */
  tellFirstAccount?(made: NewAccount, addresses: Addresses): void
}

export type Addresses = {
  /** Base of absolute URLs, without a slash at the end. */
  readonly publicUrl: string
  /** Host and port; null when this process receives no mail. */
  readonly smtp: string | null
}

export type App = {
  /** The account that this start made, with its token; null when there was one already. */
  readonly firstAccount: NewAccount | null
  /** Engine, version and place of the database. */
  readonly database: string
  /** Base of absolute URLs, without a slash at the end. */
  readonly publicUrl: string
  /** Null when this process has no such role. */
  readonly http: { readonly address: string; readonly port: number } | null
  readonly smtp: { readonly host: string; readonly port: number } | null
  /** Where health and figures are told; null where the settings name no port for it. */
  readonly service: { readonly port: number } | null
  readonly deps: Deps
  /** Ends what has passed a deadline on SMTP connections; runs by itself every second. */
  sweepConnections(): void
  /** Why the service is not ready, or null. */
  findObstacle(): Promise<string | null>
  /** Looks at the certificate's files now; runs by itself every CERTIFICATE_LOOK_MS. */
  reloadCertificate(): Promise<void>
  /** Ends sockets, streams and waits whose key was revoked elsewhere; runs by itself every KEY_CHECK_MS. */
  checkKeys(): Promise<void>
  /** Lets work in hand finish for up to `drainMs`, then cuts it. A second call waits for the first. */
  close(drainMs?: number): Promise<void>
}

/**
 * Starts the service as the settings say; resolves when it takes mail and requests. Rejects when a
 * part cannot be opened, after closing those that could.
 */
export function openApp(settings: Settings, seams: Seams): Promise<App> {
  return openAll((opened) => openParts(settings, seams, opened))
}

async function openParts(
  settings: Settings,
  seams: Seams,
  opened: AsyncDisposableStack,
): Promise<App> {
  const { log, chance = systemChance, metrics = silentMetrics } = seams
  // Made while the database opens: on the first start both take their time.
  const { now } = systemClock
  const tls = settings.roles.has('smtp') ? openServerTls(settings, { now, log }) : null
  opened.defer(async () => (await tls?.catch(() => null))?.close())
  tls?.catch(() => {})
  const store = await openOwnStore(settings, { log, metrics })
  opened.defer(() => store.close())
  const doors: Doors = { smtp: null, http: null, service: null }
  // It tells how the service is for as long as there is one.
  opened.defer(() => doors.service?.close())
  const keys = await openKeys({ settings, db: store.db, chance })
  if (keys.warning !== null) log.warn({}, keys.warning)
  const ways = openWays(settings, seams)
  opened.defer(() => ways.close())
  const tracing = await openTracing(settings, { ...seams, instance: store.instance })
  opened.defer(() => tracing.close())
  const deps = await makeDeps(settings, seams, { store, keys, ways, tracing })
  opened.defer(async () => {
    // A collector that hangs takes its second beside the rest.
    await Promise.all([tracing.close(), deps.budgets.close()])
  })
  const life: Life = { phase: 'starting', drainMs: 0 }
  const busy: Busy = { events: deps.events, doors, work: null, schema: null }
  opened.defer(() => drain(busy, life))
  const started = Promise.withResolvers<void>()
  started.promise.catch(() => {})
  const parts: Parts = {
    settings,
    deps,
    metrics,
    parser: ways.parser,
    console: openConsole({ folder: seams.consoleFolder, mayBuild: seams.buildsConsole, log }),
    started: started.promise,
    findObstacle: () => findObstacle(life, doors, store),
  }
  let firstAccount: NewAccount | null
  try {
    await openDoors(parts, doors, tls)
    firstAccount = await makeFirstAccount(deps, settings, { ...seams, smtp: doors.smtp })
    await settleLog(store, log)
    await releaseOwnLeases(store, log)
  } catch (error) {
    started.reject(error)
    throw error
  }
  const work = openWork(deps, settings, store)
  busy.work = work
  busy.schema = openSchemaWatch(deps, (text) => seams.onOutdated?.(text))
  if (settings.delivery === 'direct') void tellDns(deps, settings, log)
  watchQueues(parts, { smtp: doors.smtp, ...work })
  life.phase = 'serving'
  started.resolve()

  return running({
    app: { firstAccount, database: store.db.description, deps, findObstacle: parts.findObstacle },
    doors,
    tls,
    close(drainMs) {
      Object.assign(life, { phase: 'draining', drainMs })
      return opened.disposeAsync()
    },
  })
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

/** What may have something in hand. */
type Busy = {
  readonly events: Deps['events']
  readonly doors: Doors
  work: ReturnType<typeof openWork> | null
  schema: SchemaWatch | null
}

/** Together: a step of background work has as long to end as a message on its way. */
async function drain(
  { events, doors: { smtp, http }, work, schema }: Busy,
  { drainMs }: Life,
): Promise<void> {
  await Promise.all([
    events.close(),
    smtp?.close({ drainMs }),
    http?.close(drainMs),
    work?.close(drainMs),
    schema?.close(),
  ])
}

/** The service to whoever started it. */
function running({
  app,
  doors: { smtp, http, service },
  tls,
  close,
}: {
  app: Pick<App, 'firstAccount' | 'database' | 'deps' | 'findObstacle'>
  doors: Doors
  tls: Promise<ServerTls> | null
  close: (drainMs: number) => Promise<void>
}): App {
  let closing: Promise<void> | null = null
  return {
    ...app,
    publicUrl: app.deps.publicUrl,
    http,
    smtp: smtp === null ? null : { host: smtp.address.address, port: smtp.address.port },
    service,
    sweepConnections: () => smtp?.sweep(),
    reloadCertificate: async () => (await tls)?.reload(),
    checkKeys: async () => http?.checkKeys(),
    close(drainMs = DRAIN_MS) {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function makeFirstAccount(
  deps: Deps,
  settings: Settings,
  { tellFirstAccount, smtp }: Pick<Seams, 'tellFirstAccount'> & Pick<Doors, 'smtp'>,
) {
  const at = smtp === null ? null : `${smtp.address.address}:${smtp.address.port}`
  return createFirstAccount(deps, {
    plan: settings.bootstrapPlan,
    token: settings.bootstrapApiKey,
    announce: (made) => tellFirstAccount?.(made, { publicUrl: deps.publicUrl, smtp: at }),
  })
}

async function makeDeps(
  settings: Settings,
  seams: Seams,
  { store, keys, ways, tracing }: { store: OpenStore; keys: Keys; ways: Ways; tracing: Tracing },
): Promise<Deps> {
  const { parser, checkResolver, authenticator, delivery, poster, imageGetter } = ways
  const metrics = seams.metrics ?? silentMetrics
  const { log, clock = systemClock, chance = systemChance } = seams
  const deps = traceParts({
    tracing,
    ...openPressure(store.db, metrics),
    blobs: store.blobs,
    clock,
    chance,
    makeId: idMaker(clock, chance),
    log,
    parser,
    downloads: openDownloads(),
    extractions: openExtractions(undefined, undefined, parser),
    inboxDomain: settings.inboxDomain,
    smtpHostname: settings.smtpHostname,
    publicUrl: publicUrlOf(settings, settings.httpPort),
    urlKey: keys.urlKey,
    inboxesPerDay: settings.limits.inboxesPerDay,
    sending: settings.limits,
    sealer: keys.sealer,
    makeDkimKey: makeFewAtOnce(seams.makeKey ?? makeDkimKey),
    deriveKey: keys.deriveKey,
    resolver: checkResolver,
    domainChecks: openDomainChecks(),
    domainCreations: openDomainCreations(),
    authenticator,
    rejectDmarcFailures: settings.rejectDmarcFailures,
    allowPrivateEgress: settings.allowPrivateEgress,
    queueClock: await openQueueClock({ db: store.db, clock }),
    carrier: delivery.carrier,
    laneOf: delivery.laneOf,
    countDelivery: metrics.countDelivery,
    countReport: metrics.countReport,
    wakeDelivery: () => {},
    postWebhook: poster.post,
    getImage: imageGetter.get,
    imageFetches: openImageFetches(),
    countWebhookDelivery: metrics.countWebhookDelivery,
    searchCatchUps: openCatchUps(),
    wakeWebhooks: () => {},
    wakeEvents: () => store.signals.notify(),
    wakeWorker: () => {},
  })
  const events = openEventHub(deps)
  store.signals.listen(() => events.wake())
  const budgets = openBudgets(deps)
  const webhookTests = openWebhookTests(budgets)
  const storageQuota = openStorageQuota(deps, {
    bytes: settings.limits.storedBytesPerAccount,
    wakeEvents: deps.wakeEvents,
  })
  const signers = openSigners(deps)
  return Object.assign(deps, {
    events,
    signers,
    budgets,
    webhookTests,
    storageQuota,
    readEventTexts: (told: readonly LoggedEvent[]) => readEnvelopes(deps, told),
    checkFilter: (asked: AskedFilter) => checkFilter(deps, asked),
    findInbox: (accountId: string, inboxId: string) => findInbox(deps.db, accountId, inboxId),
  })
}

/** Mail that leaves by itself needs its records published. */
async function tellDns(deps: Deps, { smtpHostname }: Settings, log: Log): Promise<void> {
  try {
    const { fields, text } = dnsStartLog(await listServiceRecords(deps, { smtpHostname }))
    log.info(fields, text)
  } catch (error) {
    log.warn({ error }, 'the DKIM key could not be read')
  }
}
