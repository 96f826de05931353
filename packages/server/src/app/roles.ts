// Opens the servers and the background work of a process's roles.

import { accountHandlers } from '#accounts/accounts.ts'
import { makeAuthenticate } from '#accounts/keys/keys.ts'
import { openSessions, pairingHandlers } from '#accounts/sessions/sessions.ts'
import { findActiveKeys } from '#accounts/store/keys.ts'
import { findEndedSessions } from '#accounts/store/sessions.ts'
import { type ConsolePort, type HttpServer, openHttpServer, type RequestPorts } from '#api/api.ts'
import type { Settings } from '#config/settings.ts'
import { openDeliveryQueue } from '#delivery/delivery.ts'
import { domainHandlers, domainWork } from '#domains/domains.ts'
import { isDomainHere } from '#domains/store/domains.ts'
import { draftHandlers } from '#drafts/drafts.ts'
import { erasureHandlers, erasureWork } from '#erasures/erasures.ts'
import { EventReaders } from '#http/event-readers.ts'
import type { Handlers } from '#http/handler.ts'
import type { IntakeThreads, MailListener } from '#inbound/intake/intake.ts'
import { quarantineHandlers } from '#inbound/quarantine/quarantine.ts'
import { inboxHandlers } from '#inboxes/inboxes.ts'
import { attachmentTextHandlers, attachmentTextWork } from '#mailbox/attachments/attachments.ts'
import { claimWork, mailHandlers } from '#mailbox/mailbox.ts'
import { openServicePort, type ServicePort, serviceHandlers } from '#operating/operating.ts'
import { limitHandlers, presentSent, sendHandlers } from '#outbound/outbound.ts'
import { findReplay } from '#outbound/send/send.ts'
import { suppressionHandlers } from '#outbound/suppressions/suppressions.ts'
import { unsubscribeHandlers } from '#outbound/unsubscribe/unsubscribe.ts'
import { sendWork } from '#outbound/waiting/waiting.ts'
import { LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import type { ServerTls } from '#platform/tls/server-tls.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { policyHandlers, senderRuleHandlers } from '#policy/policy.ts'
import { openBackground } from '#queue/background.ts'
import { traceQueue } from '#queue/dispatched-queue.ts'
import { type Dispatcher, openDispatcher } from '#queue/dispatcher.ts'
import { MAIL_BOUNDS, RELAY_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { removalHandlers, removalWork } from '#removal/removal.ts'
import { reviewHandlers, reviewLinkHandlers, reviewMailWork, reviewWork } from '#reviews/reviews.ts'
import { sandboxHandlers } from '#sandbox/sandbox.ts'
import { openIndexer, searchHandlers, searchWork } from '#search/search.ts'
import { statsHandlers, statsWork, usageHandlers } from '#stats/stats.ts'
import {
  checkFilter,
  claimHandlers,
  eventHandlers,
  openEventStream,
  SOCKETS_PER_ACCOUNT_MAX,
} from '#streams/streams.ts'
import { transferHandlers, transferWork } from '#transfers/transfers.ts'
import { openWebhooks, webhookHandlers } from '#webhooks/webhooks.ts'
import type { OpenStore } from './open-store.ts'
import type { Parts } from './parts.ts'
import { openMailServer } from './receiving-parts.ts'

export type Servers = {
  smtp: MailListener | null
  http: HttpServer | null
  service: ServicePort | null
}

type ServerOptions = {
  settings: Settings
  metrics: Metrics
  console: ConsolePort
  /** Null when this thread receives mail. */
  intake: IntakeThreads | null
  instance: string
  tls: Promise<ServerTls> | null
  /** Requests and recipients wait for the writes of the start. */
  started: Promise<void>
  findObstacle(): Promise<string | null>
}

/**
 * Listens before it writes, so that a port in use leaves no account behind. `servers` holds the
 * open servers even after a failure.
 */
export async function openServers(
  parts: Parts,
  servers: Servers,
  options: ServerOptions,
): Promise<void> {
  const { settings, tls } = options
  servers.service = await openOperatorPort(parts, options)
  if (tls !== null) servers.smtp = await openSmtp(parts, options, await tls)
  if (settings.roles.has('http')) servers.http = await openApi(parts, options)
}

async function openOperatorPort(
  { base, limits }: Parts,
  { settings, metrics, findObstacle }: ServerOptions,
): Promise<ServicePort | null> {
  if (settings.metricsPort === null) return null
  return openServicePort({
    host: settings.metricsHost,
    port: settings.metricsPort,
    operatorToken: settings.adminToken,
    failures: limits.budgets.openWindow({
      name: 'operator failures',
      limit: settings.limits.failedAuthPerMinute,
      windowMs: MINUTE_MS,
    }),
    findObstacle,
    renderMetrics: () => metrics.render(),
    log: base.log,
  })
}

async function openSmtp(
  parts: Parts,
  options: ServerOptions,
  tls: ServerTls,
): Promise<MailListener> {
  const { base, own } = parts
  const { settings, metrics, started, intake, instance } = options
  if (intake !== null) {
    const { db, wakeEvents: onEvents } = base
    await intake.open({ settings, instance, tls, started, metrics, db, onEvents })
    return intake
  }
  const { deriveKey } = parts.service
  return openMailServer(own, settings, { deriveKey, metrics, started, tls: () => tls.current() })
}

function openApi(parts: Parts, options: ServerOptions): Promise<HttpServer> {
  const { settings, metrics, started, console } = options
  const { base, service, limits } = parts
  const readers = openReaders(parts, metrics)
  const authenticate = makeAuthenticate(base)
  return openHttpServer({
    host: settings.httpHost,
    port: settings.httpPort,
    reusePort: settings.reusePort,
    trustedProxies: settings.trustedProxies ?? undefined,
    forwardedHeader: settings.forwardedHeader,
    started,
    handlers: allHandlers(parts, options, readers),
    readers,
    ports: requestPorts(parts),
    authenticate,
    sessions: openSessions({ ...base, ...service }, authenticate),
    console,
    operatorToken: settings.adminToken ?? undefined,
    publicUrl: service.publicUrl,
    clock: base.clock,
    makeRequestId: () => `req_${randomText(base.chance, LOWER_ALPHANUMERIC, 20)}`,
    log: base.log,
    budgets: limits.budgets,
    limits: settings.limits,
    onRequest: (seen) => metrics.countHttpRequest(seen),
    tracing: base.tracing,
  })
}

function openReaders({ base, limits: { budgets } }: Parts, metrics: Metrics): EventReaders {
  const placesOf = (name: string) => budgets.openSlots({ name, limit: SOCKETS_PER_ACCOUNT_MAX })
  const readers = new EventReaders({
    places: { socket: placesOf('sockets'), stream: placesOf('streams') },
    findGoodKeys: (keyIds) => findActiveKeys(base.db, keyIds),
    findEndedSessions: (ids) => findEndedSessions(base.db, ids),
    now: () => base.clock.now(),
    log: base.log,
  })
  metrics.watch('eventSockets', () => readers.count('socket'))
  metrics.watch('eventStreams', () => readers.count('stream'))
  metrics.watch('eventWaits', () => readers.count('wait'))
  return readers
}

function allHandlers(
  { base, service, reading, domains, receiving, sending, limits, webhooks, streams }: Parts,
  { findObstacle, metrics, settings }: ServerOptions,
  readers: EventReaders,
): Handlers {
  const common = { ...base, ...service }
  const ownDomains = { isDomainHere: (domain: string) => isDomainHere(common, domain) }
  return {
    ...accountHandlers({ ...base, ...ownDomains, ...settings }, readers),
    ...pairingHandlers({ ...common, ...limits }),
    ...domainHandlers({ ...common, ...domains }),
    ...inboxHandlers({ ...common, ...limits }),
    ...removalHandlers({ ...base, ...streams }),
    ...mailHandlers({ ...common, ...reading }),
    ...attachmentTextHandlers({ ...common, ...reading }),
    ...searchHandlers({ ...common, ...reading }),
    ...sendHandlers({ ...common, ...reading, ...sending }),
    ...erasureHandlers(base),
    ...transferHandlers({ ...common, ...limits, importBytesMax: settings.limits.importBytes }),
    ...draftHandlers({ ...common, ...reading, ...sending }),
    ...limitHandlers({ ...common, ...sending }),
    ...sandboxHandlers({ ...common, ...reading, ...receiving, ...sending }),
    ...senderRuleHandlers(common),
    ...policyHandlers(common),
    ...quarantineHandlers({ ...common, ...reading, ...receiving }),
    ...reviewHandlers({ ...common, ...reading, ...sending }),
    ...reviewLinkHandlers({ ...common, ...reading, ...sending, ...limits }),
    ...suppressionHandlers(common),
    ...unsubscribeHandlers({ ...common, ...limits }),
    ...claimHandlers({ ...common, ...streams }, readers),
    ...eventHandlers({ ...common, ...reading, ...streams }, readers),
    ...webhookHandlers({ ...common, ...webhooks }),
    ...statsHandlers({ ...base, ...limits }),
    ...usageHandlers(common),
    ...serviceHandlers({ findObstacle, renderMetrics: () => metrics.render() }),
  }
}

function requestPorts({ base, service, reading, sending, streams }: Parts): RequestPorts {
  const eventDeps = { ...base, ...service, ...reading, ...streams }
  return {
    async findReplay(asked) {
      const answer = await findReplay(base, asked)
      return answer && presentSent(answer)
    },
    isSandbox: () => sending.carrier === null,
    requireRoom: (accountId) => base.storePressure.requireRoom(accountId),
    checkFilter: (asked) => checkFilter(base, asked),
    openEventStream: (opened) => openEventStream(eventDeps, opened),
  }
}

export function openWork(
  parts: Parts,
  settings: Settings,
  { instance, signals }: Pick<OpenStore, 'instance' | 'signals'>,
) {
  const { roles } = settings
  const { base, service, webhooks: webhookParts, wakes } = parts
  const background = startBackground(parts, settings, instance)
  wakes.worker.listen(background.wakeJobs)
  const dispatcher = roles.has('delivery') ? startDelivery(parts, settings, instance) : null
  if (dispatcher !== null) wakes.delivery.listen(dispatcher.wake)
  const webhooks = roles.has('webhooks')
    ? openWebhooks({ ...base, ...service, ...webhookParts }, instance)
    : null
  if (webhooks !== null) {
    wakes.webhooks.listen(webhooks.wakeDeliveries)
    signals.listen(webhooks.wake)
  }
  return {
    background,
    dispatcher,
    webhooks,
    close: (drainMs: number) =>
      Promise.all([
        background.close(),
        dispatcher?.close(drainMs),
        webhooks?.close(drainMs),
        webhookParts.webhookTests.close(drainMs),
      ]),
  }
}

function startBackground(parts: Parts, settings: Settings, instance: string) {
  const { base, service, reading, domains, sending, streams } = parts
  const { dkimRotationDays: rotationDays, delivery, databaseUrl, blobStore } = settings
  const schedule = { rotationDays, usesServiceKeys: delivery !== 'sandbox' }
  const sends = { ...base, ...service, ...reading, ...sending }
  const indexer = openIndexer(base)
  const work = [
    removalWork({ ...base, ...streams }, { hasOwnBlobs: blobStore === 'disk' }),
    transferWork(sends),
    erasureWork({ ...base, ...service }),
    attachmentTextWork({ ...base, ...reading }, settings),
    domainWork({ ...base, ...service, ...domains }, schedule),
    searchWork(indexer),
    statsWork(base),
    sendWork(sends),
    claimWork(base),
    reviewWork(base),
    reviewMailWork(sends),
  ]
  // The instance survives a restart, so the service takes back its leases at once.
  const deps = { ...base, makeWorker: () => `${instance} ${base.makeId('job')}` }
  const background = openBackground(deps, { work, isShared: databaseUrl !== null })
  return { ...background, indexer }
}

function startDelivery(
  { base, service, reading, receiving, sending, limits }: Parts,
  { delivery }: Pick<Settings, 'delivery'>,
  instance: string,
): Dispatcher {
  const { tracing, log } = base
  const deps = { ...base, ...service, ...reading, ...receiving, ...sending, ...limits }
  const worker = `${instance} ${base.makeId('job')}`
  const queue = traceQueue(openDeliveryQueue(deps, worker), { tracing, name: 'delivery attempt' })
  const bounds = delivery === 'relay' ? RELAY_BOUNDS : MAIL_BOUNDS
  return openDispatcher(queue, log, { bounds })
}
