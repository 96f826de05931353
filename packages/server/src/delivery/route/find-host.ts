// One host of a route: its addresses that may be connected to, and what it must show. Knows nothing
// of other hosts.

import type { Resolver } from '#platform/dns/resolver.ts'
import type { AddressGuard } from '#platform/egress/address-guard.ts'
import { findDane } from './find-dane.ts'
import type { RouteTls } from './route.ts'

export type HostFinding =
  | {
      readonly kind: 'usable'
      /** IPv4 first: it has a route and a name of its own on more machines than IPv6. */
      readonly addresses: readonly string[]
      /** Null where DANE demands nothing. */
      readonly dane: RouteTls | null
      readonly ttlMs: number
    }
  /** Definitely no address. */
  | { readonly kind: 'none' }
  /** None that may be connected to. */
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'fault'; readonly text: string }

export type FindHostOptions = {
  readonly resolver: Resolver
  readonly isAllowed: AddressGuard
  /** Whether DANE may demand anything: the answer that named the host was authenticated. */
  readonly isAuthenticated: boolean
  readonly port: number
}

/** Asks for both families at once; a fault of one is none as long as the other has addresses. */
export async function findHost(host: string, options: FindHostOptions): Promise<HostFinding> {
  const { resolver } = options
  const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
  const found = answers.filter((answer) => answer.kind === 'found')
  const [first] = found
  if (first === undefined) {
    return answers.find((answer) => answer.kind === 'fault') ?? { kind: 'none' }
  }
  const addresses = [...new Set(found.flatMap(({ records }) => records))].filter(options.isAllowed)
  if (addresses.length === 0) {
    return answers.find((answer) => answer.kind === 'fault') ?? { kind: 'forbidden' }
  }
  const ttlMs = Math.min(...found.map((answer) => answer.ttlMs))
  if (!options.isAuthenticated || !found.every((answer) => answer.isAuthenticated)) {
    return { kind: 'usable', addresses, dane: null, ttlMs }
  }
  const dane = await findDane([first.canonicalName, host], options)
  if (dane.kind === 'fault') return dane
  if (dane.kind === 'none') return { kind: 'usable', addresses, dane: null, ttlMs }
  return { kind: 'usable', addresses, dane: dane.tls, ttlMs: Math.min(ttlMs, dane.ttlMs) }
}
