// The parts that features use, in groups. `roles.ts` gives each feature the groups that it names.

import type { KeyObject } from 'node:crypto'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { type Carrier, openDelivery } from '#delivery/delivery.ts'
import { makeFewAtOnce } from '#domains/dkim/dkim.ts'
import { openDomainChecks, openDomainCreations } from '#domains/domains.ts'
import { openSigners } from '#domains/signing/signing.ts'
import type { AskedFilter, LoggedEvent } from '#events/model.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { openBudgets } from '#limits/limits.ts'
import { openAttachmentTexts, openDownloads } from '#mailbox/attachments/attachments.ts'
import { openExtractions, openImageFetches } from '#mailbox/messages/messages.ts'
import { openResolver, type Resolver } from '#platform/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#platform/egress/http-get.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import type { Attributes, Tracing } from '#platform/telemetry/tracing.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openFileReader } from '#platform/workers/file-reader.ts'
import { openCatchUps, openSearchSlots } from '#search/search.ts'
import type { Keys } from '#secrets/secrets.ts'
import { checkFilter, openEventHub, readEnvelopes } from '#streams/streams.ts'
import { openWebhookPoster, openWebhookTests } from '#webhooks/webhooks.ts'
import { openReceivingParts, type ReceivingOptions } from './receiving-parts.ts'

export type PartsOptions = ReceivingOptions & {
  readonly keys: Keys
  /** Without a slash at the end. Final once the HTTP server listens. */
  readonly publicUrl: () => string
  readonly makeKey?: (() => Promise<KeyObject>) | undefined
}

export type Parts = Awaited<ReturnType<typeof openParts>>

/** Defers the closing of each part on `opened`. */
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
    /** Separate from mail's resolver, because accounts choose the servers that it waits for. */
    resolver: network.checkResolver,
    domainChecks: openDomainChecks(),
    domainCreations: openDomainCreations(),
    makeDkimKey: makeFewAtOnce(options.makeKey ?? makeDkimKey),
  }
  const fileReader = openFileReader({ log: options.log, images: own.images })
  opened.defer(() => fileReader.close())
  const reading = {
    parser: own.parser,
    downloads: openDownloads(),
    extractions: openExtractions(undefined, undefined, parserPool),
    getImage: network.images.get,
    imageFetches: openImageFetches(),
    fileReader,
    attachmentTexts: openAttachmentTexts(),
    searchCatchUps: openCatchUps(),
    searchSlots: openSearchSlots(),
  }
  const sending = {
    sending: settings.limits,
    storageQuota: own.storageQuota,
    signers: openSigners({ ...base, ...service, ...domains }),
    /** Null in the sandbox. */
    carrier: traceCarrier(network.delivery.carrier, tracing),
    laneOf: network.delivery.laneOf,
    isMailHostOf: network.delivery.isMailHostOf,
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
  return { base, service, ...features, own, wakes, parserQueue: () => parserPool.waiting() }
}

/** Newsletter images stay under one mebibyte. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024
/** Covers the lookup, all redirections and the body. */
const IMAGE_MS_MAX = 10 * SECOND_MS
const IMAGE_REDIRECTS_MAX = 3

/** Excludes the queries of sender authentication. */
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

/** Strangers choose the hosts of images in mail. */
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
