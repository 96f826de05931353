// The parts that receive mail, in the main thread or in threads that load nothing else.

import type { SecureContext } from 'node:tls'
import { isMainThread } from 'node:worker_threads'
import type { PortCounts } from '@mailroom/smtp/server/port-counts.ts'
import { openSmtpServer, type SmtpServer } from '@mailroom/smtp/server/server.ts'
import type { Settings } from '#config/settings.ts'
import { type Authenticator, openAuthenticator } from '#inbound/authenticate/authenticate.ts'
import { makeReceiver, outcomeCounter } from '#inbound/receive/receive.ts'
import { openMailScanner } from '#inbound/scan/scan.ts'
import { isReadOnArrival } from '#mailbox/attachments/store/extract-on-arrival.ts'
import { openStorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import type { DeriveKey } from '#outbound/send/store/loop-marks.ts'
import { openParserPool } from '#parser/parser.ts'
import type { Chance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { openOwnSignals, type Signals } from '#platform/db/db.ts'
import { measureWrites, openStorePressure, type StorePressure } from '#platform/db/paced-db.ts'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { idMaker } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import { silentTracing, type Tracing, traceMethods } from '#platform/telemetry/tracing.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type ImageReader, openImageReader } from '#platform/workers/read-image.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import type { OpenStore } from './open-store.ts'

export type ReceivingOptions = {
  readonly log: Log
  readonly clock: Clock
  readonly chance: Chance
  readonly metrics: Metrics
  readonly store: OpenStore
}

export type ReceivingParts = Awaited<ReturnType<typeof openReceivingParts>>

/** Defers the closing of each part on `opened`. */
export async function openReceivingParts(
  settings: Settings,
  options: ReceivingOptions,
  opened: AsyncDisposableStack,
) {
  const { store, log, clock, chance, metrics } = options
  const ownThread = isMainThread ? 'main' : 'intake'
  const isOneOfMany = !isMainThread && settings.intakeThreads > 1
  const parserPool = openParserPool({
    log,
    onParsed: ({ isInline, durationMs }) =>
      metrics.observeParse({ thread: isInline ? ownThread : 'worker', durationMs }),
    // A parser takes up to 200 MiB under load.
    ...(isOneOfMany && { workersMax: 1 }),
  })
  opened.defer(() => parserPool.close())
  const authenticator = openInboundAuthenticator(settings, { clock, chance, log })
  opened.defer(() => authenticator?.close())
  const images = openImageReader(settings.programFolders)
  const tracing = await openTracing(settings, { log, clock, instance: store.instance })
  opened.defer(() => tracing.close())
  const wakes = { delivery: openOwnSignals(), webhooks: openOwnSignals(), worker: openOwnSignals() }
  const base = await openBase(options, tracing, wakes)
  return {
    base,
    wakes,
    parserPool,
    images,
    parser: traceMethods(parserPool, tracing, {
      parse: 'parse',
      makeBodies: 'make bodies',
      writeMarkdown: 'write Markdown',
      readReport: 'read report',
      findSecrets: 'find secrets',
      findMentions: 'find mentions',
    }),
    storageQuota: openStorageQuota(base, settings.limits.storedBytesPerAccount),
    receiving: {
      authenticator:
        authenticator && traceMethods(authenticator, tracing, { authenticate: 'authenticate' }),
      rejectDmarcFailures: settings.rejectDmarcFailures,
      scanner: openMailScanner({ ...settings, log }),
      countReport: metrics.countReport,
      readsFiles: readsFilesOf(settings, images),
    },
  }
}

type MailServerOptions = DeriveKey & {
  tls: () => SecureContext
  /** Shared by all servers on the port; absent with a single one. */
  counts?: PortCounts
  metrics: Metrics
  /** Delays the lookup of recipients. */
  started: Promise<void>
}

export function openMailServer(
  { base, parser, receiving, storageQuota }: ReceivingParts,
  settings: Settings,
  { deriveKey, metrics, started, ...options }: MailServerOptions,
): Promise<SmtpServer> {
  const { inboxDomain } = settings
  const deps = { ...base, ...receiving, inboxDomain, deriveKey, parser, storageQuota }
  return openSmtpServer({
    host: settings.smtpHost,
    port: settings.smtpPort,
    reusePort: settings.reusePort,
    hostname: settings.smtpHostname,
    receiver: makeReceiver(deps, { started, metrics }),
    clock: base.clock,
    log: base.log,
    onOutcome: outcomeCounter(metrics),
    ...options,
  })
}

/** Decides by name and type, so that pictures are skipped if they cannot be read. */
function readsFilesOf(
  { readAttachments }: Settings,
  images: ImageReader | null,
): (attachments: readonly { filename: string; contentType: string }[]) => boolean {
  if (!readAttachments) return () => false
  const readsImages = images !== null
  return (attachments) => attachments.some((one) => isReadOnArrival(one, { readsImages }))
}

/** Wake-ups follow a commit and carry no data, so losing one only causes a delay. */
async function openBase(
  { store, log, clock, chance, metrics }: ReceivingOptions,
  tracing: Tracing,
  wakes: Record<'delivery' | 'webhooks' | 'worker', Signals>,
) {
  const { db, storePressure } = openPressure(store.db, metrics)
  const whole: Store = {
    db: traceDb(db, tracing),
    blobs:
      store.blobs && traceMethods(store.blobs, tracing, { put: 'store bytes', get: 'read bytes' }),
    clock,
    makeId: idMaker(clock, chance),
    log,
    wakeEvents: () => store.signals.notify(),
  }
  return {
    ...whole,
    storePressure,
    chance,
    tracing,
    queueClock: await openQueueClock({ db: store.db, clock }),
    wakeDelivery: wakes.delivery.notify,
    wakeWebhooks: wakes.webhooks.notify,
    wakeWorker: wakes.worker.notify,
  }
}

/** Half of the time limit of a DNS query for sender authentication. */
const AUTHENTICATE_DNS_TRY_MS_MAX = 2 * SECOND_MS

/** Null when sender authentication is off. */
function openInboundAuthenticator(
  settings: Settings,
  { clock, chance, log }: { clock: Clock; chance: Chance; log: Log },
): Authenticator | null {
  if (!settings.authenticateInbound) return null
  const resolver = openResolver({
    servers: settings.dnsServers,
    timeoutMs: AUTHENTICATE_DNS_TRY_MS_MAX,
    chance,
  })
  return openAuthenticator({
    resolver: openCachingResolver(resolver, clock),
    hostname: settings.smtpHostname,
    log,
    clock,
  })
}

export function openPressure(
  db: Db,
  { observeWrite, countStoreRefusal }: Metrics,
): { db: Db; storePressure: StorePressure } {
  // Uses the system clock, because tests change the other one.
  const loads = measureWrites(db, systemClock, observeWrite)
  const options = { loads, clock: systemClock, onRefused: countStoreRefusal }
  return { db: loads.db, storePressure: openStorePressure(options) }
}

async function openTracing(
  { otlpEndpoint: endpoint, traceShare: share, roles }: Settings,
  { log, clock, instance }: { log: Log; clock: Clock; instance: string },
): Promise<Tracing> {
  if (endpoint === null) return silentTracing
  const { openOtlpTracing } = await import('#platform/telemetry/otlp-tracing.ts')
  const attributes = { 'service.instance.id': instance, 'mailroom.roles': [...roles].join(',') }
  return openOtlpTracing({ endpoint, share, attributes, log, clock })
}

/** Rows written by a named transaction carry its span's id. */
function traceDb(db: Db, tracing: Tracing): Db {
  if (!tracing.isOn) return db
  const attributes = { 'db.system.name': db.engine === 'sqlite' ? 'sqlite' : 'postgresql' }
  return {
    ...db,
    write: (transaction, input) =>
      tracing.step(`commit ${transaction.name}`, { attributes }, ({ traceParent }) =>
        traceParent === ''
          ? db.write(transaction, input)
          : db.write(transaction, input, traceParent),
      ),
  }
}
