// The ways of mail and events in and out, opened and closed together: the parser, DNS, who sends us mail,
// where ours goes, and webhooks. Nothing is connected to yet.

import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { type Delivery, openDelivery } from '#delivery/carrier.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { openResolver, type Resolver } from '#platform/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#platform/egress/http-get.ts'
import type { HttpPoster } from '#platform/egress/http-post.ts'
import type { Log } from '#platform/log.ts'
import { type Metrics, silentMetrics } from '#platform/telemetry/metrics.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openParserPool, type ParserPool } from '#platform/workers/parser-pool.ts'
import { openWebhookPoster } from '#webhooks/open-webhooks.ts'
import { openInboundAuthenticator } from './open-authenticator.ts'

/** Of an image of another host, in octets; newsletters stay under one mebibyte. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024
/** From looking up the name to its last octet, over all redirections. */
const IMAGE_MS_MAX = 10 * SECOND_MS
const IMAGE_REDIRECTS_MAX = 3

export type Ways = {
  readonly parser: ParserPool
  /** For what accounts have asked for; the ways of mail and webhooks have another one. */
  readonly checkResolver: Resolver
  readonly authenticator: Authenticator | null
  readonly delivery: Delivery
  readonly poster: HttpPoster
  readonly imageGetter: HttpGetter
  close(): Promise<void>
}

/** As the settings say; its end is the caller's. */
export function openWays(
  settings: Settings,
  seams: { log: Log; metrics?: Metrics; clock?: Clock; chance?: Chance },
): Ways {
  const { log, metrics = silentMetrics, clock = systemClock, chance = systemChance } = seams
  const parser = openParserPool({ log, onParsed: metrics.observeParse })
  const dns = { servers: settings.dnsServers, chance }
  const resolver = openResolver(dns)
  const checkResolver = openResolver(dns)
  const authenticator = openInboundAuthenticator(settings, { clock, chance, log })
  const delivery = openDelivery(settings, { clock, chance, resolver })
  const poster = openWebhookPoster(settings, resolver)
  const imageGetter = openImageGetter(settings, checkResolver)
  return {
    parser,
    checkResolver,
    authenticator,
    delivery,
    poster,
    imageGetter,
    async close() {
      await Promise.all([
        delivery.close(),
        poster.close(),
        imageGetter.close(),
        parser.close(),
        authenticator?.close(),
      ])
      resolver.close()
      checkResolver.close()
    },
  }
}

/** For images that mail shows: whose host it is, strangers choose. */
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
