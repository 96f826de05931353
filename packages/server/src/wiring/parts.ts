// The parts that features use, opened once in a process and in groups: `roles.ts` gives each feature the groups that it
// names. No server listens yet.

import type { KeyObject } from 'node:crypto'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { type Carrier, openDelivery } from '#delivery/delivery.ts'
import {
  makeFewAtOnce,
  openDomainChecks,
  openDomainCreations,
  openSigners,
} from '#domains/domains.ts'
import type { AskedFilter, LoggedEvent } from '#events/events.ts'
import { type Authenticator, openAuthenticator } from '#inbound/inbound.ts'
import { findInbox } from '#inboxes/inboxes-rows.ts'
import {
  openDownloads,
  openExtractions,
  openImageFetches,
  openStorageQuota,
} from '#mailbox/mailbox.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Chance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { openOwnSignals, type Signals } from '#platform/db/db.ts'
import { openStorePressure, paceWrites, type StorePressure } from '#platform/db/paced-db.ts'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver, type Resolver } from '#platform/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#platform/egress/http-get.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import { idMaker } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import { type Attributes, silentTracing, type Tracing } from '#platform/telemetry/tracing.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Parser } from '#platform/workers/parser.ts'
import { openParserPool } from '#platform/workers/parser-pool.ts'
import { openQueueClock } from '#queue/queue-clock.ts'
import { openBudgets } from '#rate-limits/rate-limits.ts'
import type { Db } from '#schema/tables.ts'
import { openCatchUps } from '#search/search.ts'
import type { Keys } from '#secrets/secrets.ts'
import { checkFilter, openEventHub, readEnvelopes } from '#streams/streams.ts'
import { openWebhookPoster, openWebhookTests } from '#webhooks/webhooks.ts'
import type { OpenStore } from './store.ts'

/** The seams that tests replace, what is counted, and the store. */
export type ReceivingOptions = {
  readonly log: Log
  readonly clock: Clock
  readonly chance: Chance
  readonly metrics: Metrics
  readonly store: OpenStore
  /** Threads that parse mail, for this thread; as many as usual when absent. */
  readonly parsersMax?: number
}

export type PartsOptions = ReceivingOptions & {
  readonly keys: Keys
  /** Base of absolute URLs, without a slash at the end; final once the HTTP server listens. */
  readonly publicUrl: () => string
  /** Makes the private keys that sign mail. */
  readonly makeKey?: (() => Promise<KeyObject>) | undefined
}

export type Parts = Awaited<ReturnType<typeof openParts>>

/** Defers on `opened` how each part is closed. */
export async function openParts(
  settings: Settings,
  options: PartsOptions,
  opened: AsyncDisposableStack,
) {
  const { store, keys, publicUrl, metrics } = options
  const network = openNetwork(settings, options)
  opened.defer(() => network.close())
  const own = await openReceivingParts(settings, options, opened)
  const { base, wakes, parserPool, receiving } = own
  const { tracing } = base
  const { inboxDomain, smtpHostname, allowPrivateEgress } = settings
  const { urlKey, sealer, deriveKey } = keys
  const names = { inboxDomain, smtpHostname, publicUrl, allowPrivateEgress }
  const service = { ...names, urlKey, sealer, deriveKey }
  const domains = {
    /** Apart from the resolver of mail: accounts choose the servers that it waits for. */
    resolver: network.checkResolver,
    domainChecks: openDomainChecks(),
    domainCreations: openDomainCreations(),
    makeDkimKey: makeFewAtOnce(options.makeKey ?? makeDkimKey),
  }
  const reading = {
    parser: own.parser,
    downloads: openDownloads(),
    extractions: openExtractions(undefined, undefined, parserPool),
    getImage: network.images.get,
    imageFetches: openImageFetches(),
    searchCatchUps: openCatchUps(),
  }
  const sending = {
    sending: settings.limits,
    signers: openSigners({ ...base, ...service, ...domains }),
    /** Null in the sandbox, where no mail leaves the machine. */
    carrier: traceCarrier(network.delivery.carrier, tracing),
    laneOf: network.delivery.laneOf,
    countDelivery: metrics.countDelivery,
  }
  const events = openEventHub({ ...base, ...service, ...reading })
  store.signals.listen(() => events.wake())
  const limits = {
    budgets: openBudgets(base),
    inboxesPerDay: settings.limits.inboxesPerDay,
    storageQuota: own.storageQuota,
  }
  const { budgets } = limits
  const webhooks = {
    postWebhook: tracePost(network.poster.post, tracing),
    countWebhookDelivery: metrics.countWebhookDelivery,
    webhookTests: openWebhookTests(budgets),
    readEventTexts: (logged: readonly LoggedEvent[]) =>
      readEnvelopes({ ...base, ...service, ...reading }, logged),
    checkFilter: (asked: AskedFilter) => checkFilter(base, asked),
    findInbox: (accountId: string, inboxId: string) => findInbox(base.db, accountId, inboxId),
  }
  // A collector that hangs delays the shutdown by a second, in parallel with the budgets.
  opened.defer(() => Promise.all([tracing.close(), budgets.close()]).then(() => {}))
  const features = { reading, domains, receiving, sending, limits, webhooks, streams: { events } }
  return { base, service, ...features, wakes, parserQueue: () => parserPool.waiting() }
}

/** Of an image of another host, in octets; newsletters stay under one mebibyte. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024
/** From looking up the name to its last octet, over all redirections. */
const IMAGE_MS_MAX = 10 * SECOND_MS
const IMAGE_REDIRECTS_MAX = 3

/** Everything that connects to other hosts, except the queries of sender authentication. */
function openNetwork(settings: Settings, { clock, chance }: PartsOptions) {
  const dns = { servers: settings.dnsServers, chance }
  const resolver = openResolver(dns)
  const checkResolver = openResolver(dns)
  const delivery = openDelivery(settings, { clock, chance, resolver })
  const poster = openWebhookPoster(settings, resolver)
  const images = openImageGetter(settings, checkResolver)
  return {
    checkResolver,
    delivery,
    poster,
    images,
    async close() {
      await Promise.all([delivery.close(), poster.close(), images.close()])
      resolver.close()
      checkResolver.close()
    },
  }
}

/** For the images in mail, whose hosts strangers choose. */
function openImageGetter(settings: Settings, resolver: Resolver): HttpGetter {
  return openHttpGetter({
    resolver,
    allowPrivate: settings.allowPrivateEgress,
    ownNames: ownNamesOf(settings),
    headers: { 'user-agent': 'Mailroom-Images/1', accept: 'image/*' },
    bytesMax: IMAGE_BYTES_MAX,
    redirectsMax: IMAGE_REDIRECTS_MAX,
    totalMs: IMAGE_MS_MAX,
  })
}

function traceCarrier(carrier: Carrier | null, tracing: Tracing): Carrier | null {
  if (carrier === null || !tracing.isOn) return carrier
  return {
    carry: (consignment, signal) =>
      tracing.step('carry', { kind: 'client' }, async (span) => {
        const carried = await carrier.carry(consignment, signal)
        const [first] = carried.outcomes
        if (first !== undefined) span.set({ 'mailroom.outcome': first.kind })
        if (carried.tls !== null) span.set({ 'tls.protocol.version': carried.tls })
        return carried
      }),
    close: () => carrier.close(),
  }
}

/** The receiver gets the trace's id, so that it can continue the trace. */
function tracePost(post: HttpPost, tracing: Tracing): HttpPost {
  if (!tracing.isOn) return post
  const attributes = { 'http.request.method': 'POST' }
  return (request) =>
    tracing.step('POST webhook', { kind: 'client', attributes }, async (span) => {
      if (span.traceParent === '') return post(request)
      const headers = { ...request.headers, traceparent: span.traceParent }
      const outcome = await post({ ...request, headers })
      span.set(attributesOf(outcome))
      if (outcome.kind === 'failed') span.fail(outcome.error)
      return outcome
    })
}

function attributesOf(outcome: HttpPostOutcome): Attributes {
  const status = outcome.kind === 'answered' ? outcome.status : outcome.answer?.status
  return status === undefined ? {} : { 'http.response.status_code': status }
}

/** What receiving mail works with, also in threads of its own. Defers on `opened` how each part is closed. */
export async function openReceivingParts(
  settings: Settings,
  options: ReceivingOptions,
  opened: AsyncDisposableStack,
) {
  const { store, log, clock, chance, metrics } = options
  const { parsersMax } = options
  const parserPool = openParserPool({
    ...{ log, onParsed: metrics.observeParse },
    ...(parsersMax !== undefined && { workersMax: parsersMax }),
  })
  opened.defer(() => parserPool.close())
  const authenticator = openInboundAuthenticator(settings, { clock, chance, log })
  opened.defer(() => authenticator?.close())
  const tracing = await openTracing(settings, { log, clock, instance: store.instance })
  opened.defer(() => tracing.close())
  const wakes = { delivery: openOwnSignals(), webhooks: openOwnSignals(), worker: openOwnSignals() }
  const base = await openBase(options, tracing, wakes)
  const quota = { bytes: settings.limits.storedBytesPerAccount, wakeEvents: base.wakeEvents }
  return {
    base,
    wakes,
    parserPool,
    parser: traceParser(parserPool, tracing),
    storageQuota: openStorageQuota(base, quota),
    receiving: {
      authenticator: traceAuthenticator(authenticator, tracing),
      rejectDmarcFailures: settings.rejectDmarcFailures,
      countReport: metrics.countReport,
    },
  }
}

/** Each wake-up is sent after the commit, carries nothing, and costs only time when it is lost. */
async function openBase(
  { store, log, clock, chance, metrics }: ReceivingOptions,
  tracing: Tracing,
  wakes: Record<'delivery' | 'webhooks' | 'worker', Signals>,
) {
  const { db, storePressure } = openPressure(store.db, metrics)
  return {
    db: traceDb(db, tracing),
    storePressure,
    /** Null when raw messages of every size are in the database. */
    blobs: store.blobs && traceBlobs(store.blobs, tracing),
    clock,
    chance,
    makeId: idMaker(clock, chance),
    log,
    tracing,
    queueClock: await openQueueClock({ db: store.db, clock }),
    wakeEvents: () => store.signals.notify(),
    wakeDelivery: wakes.delivery.notify,
    wakeWebhooks: wakes.webhooks.notify,
    wakeWorker: wakes.worker.notify,
  }
}

/** Half of the longest time for a DNS query of sender authentication. */
const AUTHENTICATE_DNS_TRY_MS_MAX = 2 * SECOND_MS

/** Null where the settings have arriving mail taken as it is. Its resolver is its own, and caches. */
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

/** Writes shared fairly among accounts, and whether the store keeps up with them. */
export function openPressure(db: Db, metrics: Metrics): { db: Db; storePressure: StorePressure } {
  // The real clock: how long a write waits must not depend on tests that move time.
  const paced = paceWrites(db, systemClock)
  const storePressure = openStorePressure({
    loads: paced,
    clock: systemClock,
    onRefused: metrics.countStoreRefusal,
  })
  return { db: timeWrites(paced.db, metrics), storePressure }
}

/** The time that the metrics get includes waiting for the account's share. */
function timeWrites(db: Db, { observeWrite }: Metrics): Db {
  const timed = async <Value>(write: () => Promise<Value>) => {
    const startMs = systemClock.monotonic()
    try {
      return await write()
    } finally {
      observeWrite(systemClock.monotonic() - startMs)
    }
  }
  return { ...db, write: (...asked) => timed(() => db.write(...asked)) }
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

/** A named transaction within a trace writes the id of its span into its rows. */
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

function traceBlobs(blobs: BlobStore, tracing: Tracing): BlobStore {
  if (!tracing.isOn) return blobs
  return {
    put(id, content) {
      const attributes = { 'mailroom.message.size': content.length }
      return tracing.step('store bytes', { attributes }, () => blobs.put(id, content))
    },
    get: (id) => tracing.step('read bytes', {}, () => blobs.get(id)),
    remove: (ids) => blobs.remove(ids),
    sweepEveryMs: blobs.sweepEveryMs,
    list: () => blobs.list(),
    close: () => blobs.close(),
  }
}

function traceParser(parser: Parser, tracing: Tracing): Parser {
  if (!tracing.isOn) return parser
  return {
    parse(raw) {
      const attributes = { 'mailroom.message.size': raw.length }
      return tracing.step('parse', { attributes }, () => parser.parse(raw))
    },
    makeBodies: (source) => tracing.step('make bodies', {}, () => parser.makeBodies(source)),
    readReport: (raw, envelope) =>
      tracing.step('read report', {}, () => parser.readReport(raw, envelope)),
    readAttachment: (raw, filename) => parser.readAttachment(raw, filename),
    makeView: (source) => parser.makeView(source),
    show: (source) => parser.show(source),
  }
}

function traceAuthenticator(authenticator: Authenticator | null, tracing: Tracing) {
  if (authenticator === null || !tracing.isOn) return authenticator
  const traced: Authenticator = {
    authenticate: (mail) =>
      tracing.step('authenticate', {}, () => authenticator.authenticate(mail)),
    close: () => authenticator.close(),
  }
  return traced
}
