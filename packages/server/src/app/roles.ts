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
import { connectionHandlers, connectionWork } from '#oauth/oauth.ts'
import { openServicePort, type ServicePort, serviceHandlers } from '#operating/operating.ts'
import { limitHandlers, presentSent, sendHandlers } from '#outbound/outbound.ts'
import { checkSignature, findReplay } from '#outbound/send/send.ts'
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
import { uploadHandlers, uploadWork } from '#uploads/uploads.ts'
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
  /** Null if this thread receives mail. */
  intake: IntakeThreads | null
  instance: string
  tls: Promise<ServerTls> | null
  /** Requests and recipients are delayed until the start has written its data. */
  started: Promise<void>
  findObstacle(): Promise<string | null>
}

/**
 * Listens before it writes, so that a port in use leaves no account behind. `servers` contains the
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
  { service, budgets }: Parts,
  { settings, metrics, findObstacle }: ServerOptions,
): Promise<ServicePort | null> {
  if (settings.metricsPort === null) return null
  return openServicePort({
    host: settings.metricsHost,
    port: settings.metricsPort,
    operatorToken: settings.adminToken,
    failures: budgets.openWindow({
      name: 'operator failures',
      limit: settings.limits.failedAuthPerMinute,
      windowMs: MINUTE_MS,
    }),
    findObstacle,
    renderMetrics: () => metrics.render(),
    log: service.log,
  })
}

async function openSmtp(
  parts: Parts,
  options: ServerOptions,
  tls: ServerTls,
): Promise<MailListener> {
  const { db, log, wakeEvents: onEvents, deriveKey } = parts.service
  const { settings, metrics, started, intake, instance } = options
  if (intake !== null) {
    await intake.open({ settings, instance, tls, started, metrics, db, log, onEvents })
    return intake
  }
  const given = { deriveKey, metrics, started, tls: () => tls.current() }
  return openMailServer(parts.own, settings, given)
}

function openApi(parts: Parts, options: ServerOptions): Promise<HttpServer> {
  const { settings, metrics, started, console } = options
  const { service, budgets } = parts
  const readers = openReaders(parts, metrics)
  const authenticate = makeAuthenticate(service)
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
    sessions: openSessions(service, authenticate),
    console,
    oauth: parts.oauth,
    operatorToken: settings.adminToken ?? undefined,
    inboxDomain: settings.inboxDomain,
    publicUrl: service.publicUrl,
    clock: service.clock,
    makeRequestId: () => `req_${randomText(service.chance, LOWER_ALPHANUMERIC, 20)}`,
    log: service.log,
    budgets,
    limits: settings.limits,
    onRequest: (seen) => metrics.countHttpRequest(seen),
    tracing: service.tracing,
  })
}

function openReaders(
  { budgets, service: { db, clock, log } }: Parts,
  metrics: Metrics,
): EventReaders {
  const slotsOf = (name: string) => budgets.openSlots({ name, limit: SOCKETS_PER_ACCOUNT_MAX })
  const readers = new EventReaders({
    slots: { socket: slotsOf('sockets'), stream: slotsOf('streams') },
    findGoodKeys: (keyIds) => findActiveKeys(db, keyIds),
    findEndedSessions: (ids) => findEndedSessions(db, ids),
    now: () => clock.now(),
    log,
  })
  metrics.watch('eventSockets', () => readers.count('socket'))
  metrics.watch('eventStreams', () => readers.count('stream'))
  metrics.watch('eventWaits', () => readers.count('wait'))
  return readers
}

function allHandlers(
  parts: Parts,
  { findObstacle, metrics, settings }: ServerOptions,
  readers: EventReaders,
): Handlers {
  const { own, service, budgets, events, domains, mail, sends } = parts
  const { inboxesPerDay, importBytes: importBytesMax, uploadedBytesPerAccount } = settings.limits
  const { storageQuota, receiving } = own
  const ownDomains = { isDomainHere: (domain: string) => isDomainHere(service, domain) }
  return {
    ...accountHandlers({ ...service, ...ownDomains, ...settings }, readers),
    ...pairingHandlers({ ...service, budgets }),
    ...connectionHandlers(service),
    ...domainHandlers(domains),
    ...inboxHandlers({
      ...{ ...service, inboxesPerDay },
      checkSignature: (accountId, signature) => checkSignature(sends, accountId, signature),
    }),
    ...removalHandlers({ ...service, events }),
    ...mailHandlers(mail),
    ...attachmentTextHandlers(parts.texts),
    ...searchHandlers(mail),
    ...sendHandlers(sends),
    ...erasureHandlers(service),
    ...transferHandlers({ ...service, storageQuota, importBytesMax }),
    ...uploadHandlers({ ...service, storageQuota, uploadedBytesPerAccount }),
    ...draftHandlers(sends),
    ...limitHandlers(sends),
    ...sandboxHandlers({ ...sends, ...receiving }),
    ...senderRuleHandlers(service),
    ...policyHandlers(service),
    ...quarantineHandlers({ ...mail, ...receiving }),
    ...reviewHandlers(sends),
    ...reviewLinkHandlers({ ...sends, budgets }),
    ...suppressionHandlers(service),
    ...unsubscribeHandlers({ ...service, budgets }),
    ...claimHandlers({ ...mail, events }, readers),
    ...eventHandlers({ ...mail, events }, readers),
    ...webhookHandlers(parts.webhooks),
    ...statsHandlers({ ...service, storageQuota }),
    ...usageHandlers(service),
    ...serviceHandlers({ findObstacle, renderMetrics: () => metrics.render() }),
  }
}

function requestPorts({ service, mail, sends, events }: Parts): RequestPorts {
  return {
    async findReplay(asked) {
      const answer = await findReplay(service, asked)
      return answer && presentSent(answer)
    },
    isSandbox: () => sends.carrier === null,
    requireRoom: (accountId) => service.storePressure.requireRoom(accountId),
    checkFilter: (asked) => checkFilter(service, asked),
    openEventStream: (opened) => openEventStream({ ...mail, events }, opened),
  }
}

export function openWork(
  parts: Parts,
  settings: Settings,
  { instance, signals }: Pick<OpenStore, 'instance' | 'signals'>,
) {
  const { roles } = settings
  const { wakes } = parts.own
  // Unique to this process. The instance stays the same, to release leases after a restart.
  const makeWorker = () => `${instance} ${parts.service.makeId('job')}`
  const background = startBackground(parts, settings, makeWorker)
  wakes.worker.listen(background.wakeJobs)
  const dispatcher = roles.has('delivery') ? startDelivery(parts, settings, makeWorker()) : null
  if (dispatcher !== null) wakes.delivery.listen(dispatcher.wake)
  const webhooks = roles.has('webhooks') ? openWebhooks(parts.webhooks, instance) : null
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
        parts.webhooks.webhookTests.close(drainMs),
      ]),
  }
}

function startBackground(parts: Parts, settings: Settings, makeWorker: () => string) {
  const { service, sends, events } = parts
  const indexer = openIndexer(service)
  const work = [
    removalWork({ ...service, events }, settings),
    transferWork(sends),
    uploadWork(sends),
    erasureWork(service),
    attachmentTextWork(parts.texts, settings),
    domainWork(parts.domains, settings),
    searchWork(indexer),
    statsWork(service),
    sendWork(sends),
    claimWork(service),
    connectionWork(service),
    reviewWork(service),
    reviewMailWork(sends),
  ]
  const isShared = settings.databaseUrl !== null
  return { ...openBackground({ ...service, makeWorker }, { work, isShared }), indexer }
}

function startDelivery(
  { service, deliveries }: Parts,
  settings: Pick<Settings, 'delivery'>,
  worker: string,
): Dispatcher {
  const queue = traceQueue(openDeliveryQueue(deliveries, worker), {
    tracing: service.tracing,
    name: 'delivery attempt',
  })
  const bounds = settings.delivery === 'relay' ? RELAY_BOUNDS : MAIL_BOUNDS
  return openDispatcher(queue, service, { bounds })
}
