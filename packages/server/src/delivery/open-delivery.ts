// Opening the way out that the settings name.

import type { Settings } from '#config/settings.ts'
import { openRouter } from '#delivery/route/find-route.ts'
import type { Carrier } from '#delivery/transport/carrier.ts'
import { openDirectCarrier, openRelayCarrier } from '#delivery/transport/carrier.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'

export type Delivery = { carrier: Carrier | null; laneOf: (domain: string) => string } & {
  close(): Promise<void>
}

export type DeliverySettings = Pick<
  Settings,
  | 'delivery'
  | 'relayUrl'
  | 'dnsServers'
  | 'mxPort'
  | 'allowPrivateEgress'
  | 'inboxDomain'
  | 'smtpHostname'
>

export type DeliverySeams = { clock: Clock; chance: Chance; resolver: Resolver }

/** The carrier of the mode in force, null in the sandbox; nothing is connected to yet. */
export function openDelivery(settings: DeliverySettings, seams: DeliverySeams): Delivery {
  const { carrier, close } = openCarrier(settings, seams)
  return {
    carrier,
    laneOf: (domain) =>
      domain === settings.inboxDomain || settings.delivery === 'direct'
        ? domain
        : settings.delivery,
    async close() {
      await carrier?.close()
      close()
    },
  }
}

function openCarrier(
  settings: DeliverySettings,
  { clock, chance, resolver }: DeliverySeams,
): { carrier: Carrier | null; close(): void } {
  const { delivery, relayUrl: url, smtpHostname: hostname, mxPort: port } = settings
  if (delivery === 'direct') {
    const allowPrivate = settings.allowPrivateEgress
    const router = openRouter({ resolver, allowPrivate, chance, clock, port })
    return {
      carrier: openDirectCarrier({ router, port, hostname, clock }),
      close: () => router.close(),
    }
  }
  if (delivery === 'relay' && url !== null) {
    // A relay may stand in the machine's own hosts file, which only the platform reads.
    const own = settings.dnsServers.length === 0 ? null : resolver
    return { carrier: openRelayCarrier({ url, resolver: own, hostname, clock }), close: () => {} }
  }
  return { carrier: null, close: () => {} }
}
