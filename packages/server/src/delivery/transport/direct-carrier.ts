// Mail straight to the hosts that its destination names in DNS.

import type { Router } from '#delivery/route/find-route.ts'
import { ROUTE_ADDRESSES_MAX } from '#delivery/route/route-to-domain.ts'
import { raceAbort } from '#platform/abort.ts'
import { type Carrier, carriedNowhere, GIVEN_UP } from './carrier.ts'
import { HostCaller, type HostCallerOptions, type Place } from './host-caller.ts'

export type DirectOptions = HostCallerOptions & {
  readonly router: Router
  readonly port: number
}

/** Closes neither the router nor its resolver. */
export function openDirectCarrier(options: DirectOptions): Carrier {
  const { router, port, ...callerOptions } = options
  const caller = new HostCaller(callerOptions)
  return {
    async carry({ destination, ...mail }, signal) {
      const { recipients } = mail
      const route = await raceAbort(router.findRoute(destination), { signal })
      if (route === null) return carriedNowhere(recipients, GIVEN_UP)
      switch (route.kind) {
        case 'refused': {
          const { code, enhanced, text } = route
          return carriedNowhere(recipients, { kind: 'unroutable', reply: { code, enhanced, text } })
        }
        case 'deferred':
          return carriedNowhere(recipients, { kind: 'no-route', text: route.text })
        case 'hosts': {
          const places = route.hosts.flatMap(({ host, addresses, tls }) =>
            addresses.map((address): Place => ({ host, address, port, tls })),
          )
          return caller.carry(places.slice(0, ROUTE_ADDRESSES_MAX), mail, signal)
        }
      }
    },
    close: () => caller.close(),
  }
}
