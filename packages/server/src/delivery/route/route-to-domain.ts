// From a domain to the hosts and addresses to try: MX records, addresses, and what MTA-STS and DANE
// demand of each host. Remembers nothing but policies.

import { isIPv6 } from 'node:net'
import { isHostInPolicy, type StsPolicy } from '@mailroom/mail/mta-sts.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { AddressGuard } from '#platform/egress/address-guard.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { findHost, type HostFinding } from './find-host.ts'
import { type HostList, isHostName, listHosts } from './list-hosts.ts'
import { type Route, type RouteHost, type RouteTls, refuse } from './route.ts'
import type { StsPolicies } from './sts-policies.ts'

/** RFC 5321 §5.1 asks for at least two to be tried. */
export const ROUTE_ADDRESSES_MAX = 5
/** Of one host where there are several, so that its addresses cannot keep its substitutes untried. */
const ROUTE_HOST_ADDRESSES_MAX = 3
/** Hosts whose addresses are asked for until ROUTE_ADDRESSES_MAX are known. */
const ROUTE_HOSTS_LOOKED_UP_MAX = 10
/** No further host is looked up after this long; what is known by then must do. */
const ROUTE_LOOKUP_MS_MAX = 30 * SECOND_MS
/** How long a route or a definite refusal is kept, whatever its TTL. */
export const ROUTE_VALID_MS_MIN = 10 * SECOND_MS
export const ROUTE_VALID_MS_MAX = 5 * MINUTE_MS
/** A fault is kept so long that a burst of mail to one destination asks once. */
export const ROUTE_FAULT_MS = 5 * SECOND_MS

export type RouteFinding = {
  readonly route: Route
  /** How long it may be remembered. */
  readonly keptMs: number
}

export type DomainRouteOptions = {
  readonly resolver: Resolver
  readonly policies: StsPolicies
  readonly isAllowed: AddressGuard
  readonly port: number
  readonly chance: Chance
  readonly clock: Clock
}

/** `destination` is lower case without a final dot, and need not be a domain name. Never rejects. */
export async function routeToDomain(
  destination: string,
  options: DomainRouteOptions,
): Promise<RouteFinding> {
  if (!isHostName(destination)) {
    return forGood(refuse(550, '5.1.2', 'the domain of the recipient is not a domain name'))
  }
  const findingPolicy = options.policies.find(destination)
  const list = await listHosts(destination, options)
  if (list.kind === 'deferred') return forNow(list.text)
  if (list.kind === 'refused') {
    const { ttlMs, ...refusal } = list
    return { route: refusal, keptMs: clampMs(ttlMs) }
  }
  const policy = await findingPolicy
  const enforced = policy?.mode === 'enforce' ? policy : null
  const hosts = list.hosts.filter((host) => enforced === null || isHostInPolicy(enforced, host))
  if (hosts.length === 0) {
    return forNow(`no mail host of ${destination} is named by its MTA-STS policy`)
  }
  return await routeToHosts(destination, { ...list, hosts }, { ...options, enforced })
}

async function routeToHosts(
  destination: string,
  list: HostList,
  options: DomainRouteOptions & { enforced: StsPolicy | null },
): Promise<RouteFinding> {
  const { clock, enforced } = options
  const findings = new Set<HostFinding['kind'] | 'not-asked'>()
  const usable: RouteHost[] = []
  const untilMs = clock.monotonic() + ROUTE_LOOKUP_MS_MAX
  let room = ROUTE_ADDRESSES_MAX
  let ttlMs = list.ttlMs
  let fault = 'too many of its mail hosts have no address'
  for (const [index, host] of list.hosts.entries()) {
    if (room === 0) break
    if (index >= ROUTE_HOSTS_LOOKED_UP_MAX || clock.monotonic() >= untilMs) {
      findings.add('not-asked')
      break
    }
    const finding = await findHost(host, {
      ...options,
      isAuthenticated: list.isAuthenticated,
    })
    findings.add(finding.kind)
    if (finding.kind === 'fault') fault = finding.text
    if (finding.kind !== 'usable') continue
    const share = list.hosts.length === 1 ? room : Math.min(room, ROUTE_HOST_ADDRESSES_MAX)
    const addresses = shareFamilies(finding.addresses, share)
    usable.push({ host, addresses, tls: chooseTls(host, finding.dane, enforced) })
    room -= addresses.length
    ttlMs = Math.min(ttlMs, finding.ttlMs)
  }
  if (usable.length > 0) {
    const validMs = clampMs(ttlMs)
    return { route: { kind: 'hosts', hosts: usable, validMs }, keptMs: validMs }
  }
  if (findings.has('fault') || findings.has('not-asked')) {
    return forNow(`the mail hosts of ${destination} cannot be looked up now: ${fault}`)
  }
  return forGood(
    findings.has('forbidden')
      ? refuse(
          550,
          '5.4.6',
          `${destination} resolves only to addresses that mail may not be sent to`,
        )
      : refuse(550, '5.4.4', `no mail host of ${destination} has an address`),
  )
}

/** DANE before MTA-STS (RFC 8461 §2), except where it asks for less. */
function chooseTls(host: string, dane: RouteTls | null, enforced: StsPolicy | null): RouteTls {
  if (dane?.kind === 'dane') return dane
  if (enforced !== null) return { kind: 'verified', servername: host }
  return dane ?? { kind: 'opportunistic' }
}

/** So many of them, the last place for IPv6 where there is any. */
function shareFamilies(addresses: readonly string[], count: number): string[] {
  const v6 = addresses.filter((address) => isIPv6(address))
  const v4 = addresses.filter((address) => !isIPv6(address))
  if (count <= 1 || v6.length === 0) return [...v4, ...v6].slice(0, count)
  return [...v4.slice(0, count - 1), ...v6].slice(0, count)
}

/** For refusals that come without a TTL. */
export function forGood(route: Route): RouteFinding {
  return { route, keptMs: ROUTE_VALID_MS_MIN }
}

function forNow(text: string): RouteFinding {
  return { route: { kind: 'deferred', text }, keptMs: ROUTE_FAULT_MS }
}

function clampMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs, ROUTE_VALID_MS_MIN), ROUTE_VALID_MS_MAX)
}
