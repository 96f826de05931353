// One host of a route: its addresses that may be connected to, and what it must show. Knows nothing
// of other hosts.

import { BlockList, isIPv4 } from 'node:net'
import { isSpecialAddress } from '#base/special-address.ts'
import type { Resolver } from '#net/dns/resolver.ts'
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

/** Whether an address may be connected to. */
export type AddressGuard = (address: string) => boolean

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

/** Allows all, or neither special addresses nor `own` ones. */
export function makeAddressGuard(options: {
  allowPrivate: boolean
  own: readonly string[]
}): AddressGuard {
  if (options.allowPrivate) return () => true
  const own = new BlockList()
  for (const address of options.own) {
    const bare = address.split('%')[0] ?? ''
    own.addAddress(bare, isIPv4(bare) ? 'ipv4' : 'ipv6')
  }
  return (address) =>
    !isSpecialAddress(address) && !own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
