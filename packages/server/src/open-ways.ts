// The ways of mail and events in and out, opened and closed together: the parser, DNS, who sends us mail,
// where ours goes, and webhooks. Nothing is connected to yet.

import { systemChance } from '#base/chance.ts'
import { systemClock } from '#base/clock.ts'
import { IMAGE_BYTES_MAX, IMAGE_MS_MAX, IMAGE_REDIRECTS_MAX } from '#base/limits.ts'
import { silentMetrics } from '#base/metrics.ts'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import type { Authenticator } from '#net/authenticate/authenticator.ts'
import { openResolver, type Resolver } from '#net/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#net/egress/http-get.ts'
import type { HttpPoster } from '#net/egress/http-post.ts'
import { openParserPool, type ParserPool } from '#net/parse/parser-pool.ts'
import type { Seams } from './app.ts'
import { openInboundAuthenticator } from './open-authenticator.ts'
import { type Delivery, openDelivery } from './open-delivery.ts'
import { openWebhookPoster } from './open-webhooks.ts'

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
  seams: Pick<Seams, 'log' | 'metrics' | 'clock' | 'chance'>,
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
