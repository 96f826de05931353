// Opens the store, the names and keys of the service, and the ports of each feature.

import type { KeyObject } from 'node:crypto'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import type { Settings } from '#config/settings.ts'
import { openDelivery } from '#delivery/delivery.ts'
import { makeFewAtOnce } from '#domains/dkim/dkim.ts'
import { openDomainChecks } from '#domains/domains.ts'
import { openSigners } from '#domains/signing/signing.ts'
import type { AskedFilter, LoggedEvent } from '#events/model.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { openBudgets } from '#limits/limits.ts'
import { openAttachmentTexts, openDownloads } from '#mailbox/attachments/attachments.ts'
import { openExtractions, openImageFetches, openImageGetter } from '#mailbox/messages/messages.ts'
import { openDocumentGetter, openOauth } from '#oauth/oauth.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { openFileReader } from '#platform/workers/file-reader.ts'
import { openSearchSlots } from '#search/search.ts'
import type { Keys } from '#secrets/secrets.ts'
import { checkFilter, openEventHub, readEnvelopes } from '#streams/streams.ts'
import { openWebhookPoster, openWebhookTests } from '#webhooks/webhooks.ts'
import {
  openReceivingParts,
  type ReceivingOptions,
  type ReceivingParts,
} from './receiving-parts.ts'

export type PartsOptions = ReceivingOptions & {
  readonly keys: Keys
  /** The URL has no trailing slash and is final once the HTTP server listens. */
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
  const own = await openReceivingParts(settings, options, opened)
  const { base, parserPool, parser, storageQuota } = own
  const { tracing } = base
  const { inboxDomain, smtpHostname, allowPrivateEgress } = settings
  const { urlKey, sealer, deriveKey } = keys
  const names = { inboxDomain, smtpHostname, publicUrl, allowPrivateEgress }
  const service = { ...base, ...names, urlKey, sealer, deriveKey }

  const { resolver, delivery, poster, images, documents } = openNetwork(settings, base, opened)
  const fileReader = openFileReader({ log: options.log, images: own.images })
  opened.defer(() => fileReader.close())
  const budgets = openBudgets(base)
  // A collector that hangs delays the shutdown by a second, in parallel with the budgets.
  opened.defer(() => Promise.all([tracing.close(), budgets.close()]).then(() => {}))

  const extractions = openExtractions(undefined, undefined, parserPool)
  const events = openEventHub({ ...service, extractions })
  store.signals.listen(() => events.wake())
  const makeKey = makeFewAtOnce(options.makeKey ?? makeDkimKey)
  const domains = { ...service, resolver, makeDkimKey: makeKey, domainChecks: openDomainChecks() }
  const mail = {
    ...service,
    parser,
    extractions,
    downloads: openDownloads(),
    getImage: images.get,
    imageFetches: openImageFetches(),
    searchSlots: openSearchSlots(),
  }
  const texts = { ...mail, fileReader, attachmentTexts: openAttachmentTexts() }
  const sends = {
    ...service,
    parser,
    extractions,
    fileReader,
    storageQuota,
    sending: settings.limits,
    signers: openSigners(domains),
    carrier: delivery.carrier,
    laneOf: delivery.laneOf,
  }
  const webhooks = {
    ...service,
    postWebhook: poster.post,
    countWebhookDelivery: metrics.countWebhookDelivery,
    webhookTests: openWebhookTests(budgets),
    readEventTexts: (logged: readonly LoggedEvent[]) => readEnvelopes(mail, logged),
    checkFilter: (asked: AskedFilter) => checkFilter(base, asked),
    findInbox: (accountId: string, inboxId: string) => findInbox(base.db, accountId, inboxId),
  }
  const oauth = openOauth({ ...service, budgets, documents })
  const { countDelivery } = metrics
  const deliveries = { ...sends, ...own.receiving, ...delivery, countDelivery }
  const shared = { own, service, budgets, events, oauth }
  return { ...shared, domains, mail, texts, sends, webhooks, deliveries }
}

/** Excludes the queries of sender authentication. */
function openNetwork(
  settings: Settings,
  { clock, chance, tracing }: ReceivingParts['base'],
  opened: AsyncDisposableStack,
) {
  const dns = { servers: settings.dnsServers, chance }
  const mailResolver = openResolver(dns)
  opened.defer(() => mailResolver.close())
  // Separate from mail's resolver, because accounts and strangers choose the servers it waits for.
  const resolver = openResolver(dns)
  opened.defer(() => resolver.close())
  const delivery = openDelivery(settings, { clock, chance, tracing, resolver: mailResolver })
  opened.defer(() => delivery.close())
  const poster = openWebhookPoster(settings, { resolver: mailResolver, tracing })
  opened.defer(() => poster.close())
  const images = openImageGetter(settings, resolver)
  opened.defer(() => images.close())
  const documents = openDocumentGetter(settings, { resolver })
  opened.defer(() => documents.close())
  return { resolver, delivery, poster, images, documents }
}
