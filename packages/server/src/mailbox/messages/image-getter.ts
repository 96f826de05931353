// Fetches remote images of messages. Strangers choose the hosts, so every fetch is bounded.

import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#platform/egress/http-get.ts'
import { SECOND_MS } from '#platform/units.ts'

/** Images in newsletters are smaller than one mebibyte. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024
/** The limit includes the DNS lookup, all redirects and the body. */
const IMAGE_MS_MAX = 10 * SECOND_MS
const IMAGE_REDIRECTS_MAX = 3

export function openImageGetter(settings: Settings, resolver: Resolver): HttpGetter {
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
