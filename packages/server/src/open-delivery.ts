// Opening the way out that the settings name, with the resolver behind it.

import type { Deps } from '#actions/deps.ts'
import type { Chance } from '#base/chance.ts'
import type { Clock } from '#base/clock.ts'
import type { Settings } from '#config/settings.ts'
import { openResolver, type Resolver } from '#net/dns/resolver.ts'
import { openRouter } from '#net/smtp/route/find-route.ts'
import type { Carrier } from '#net/smtp/transport/carrier.ts'
import { openDirectCarrier } from '#net/smtp/transport/direct-carrier.ts'
import { openRelayCarrier } from '#net/smtp/transport/relay-carrier.ts'

export type Delivery = Pick<Deps, 'carrier' | 'laneOf'> & { close(): Promise<void> }

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

/** The carrier of the mode in force, null in the sandbox; nothing is connected to yet. */
export function openDelivery(
  settings: DeliverySettings,
  seams: { clock: Clock; chance: Chance },
): Delivery {
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
  { clock, chance }: { clock: Clock; chance: Chance },
): { carrier: Carrier | null; close(): void } {
  const { delivery, relayUrl: url, smtpHostname: hostname, mxPort: port } = settings
  const resolve = (): Resolver => openResolver({ servers: settings.dnsServers, chance })
  if (delivery === 'direct') {
    const resolver = resolve()
    const allowPrivate = settings.allowPrivateEgress
    const router = openRouter({ resolver, allowPrivate, chance, clock, port })
    const close = () => {
      router.close()
      resolver.close()
    }
    return { carrier: openDirectCarrier({ router, port, hostname, clock }), close }
  }
  if (delivery === 'relay' && url !== null) {
    const resolver = settings.dnsServers.length === 0 ? null : resolve()
    const carrier = openRelayCarrier({ url, resolver, hostname, clock })
    return { carrier, close: () => resolver?.close() }
  }
  return { carrier: null, close: () => {} }
}
