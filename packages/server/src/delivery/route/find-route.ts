// From a destination to the hosts and addresses to try, or to the reason why there are none.
// Remembers what it found; opens no connection for mail.

import { isIPv4, isIPv6 } from 'node:net'
import { Cache } from '#platform/cache.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import {
  type AddressGuard,
  listOwnAddresses,
  makeAddressGuard,
} from '#platform/egress/address-guard.ts'
import { type FetchPolicy, makeFetchPolicy } from './fetch-policy.ts'
import { type Route, type RouteHost, refuse } from './route.ts'
import { forGood, ROUTE_VALID_MS_MAX, type RouteFinding, routeToDomain } from './route-to-domain.ts'
import { makeStsPolicies } from './sts-policies.ts'

const ROUTES_KEPT_MAX = 10_000

export type { Route, RouteHost, RouteTls } from './route.ts'

export type RouterOptions = {
  /** Stays the caller's to close. */
  readonly resolver: Resolver
  /** Routes to loopback, private and own addresses too. */
  readonly allowPrivate: boolean
  /** Addresses at which this service itself answers; the machine's interfaces unless given. */
  readonly ownAddresses?: () => readonly string[]
  readonly chance: Chance
  readonly clock: Clock
  /** The port that mail will be given to: TLSA records are kept by port. 25 unless given. */
  readonly port?: number
  /** By HTTPS from `mta-sts.` and the destination unless given. */
  readonly fetchPolicy?: FetchPolicy
  /** How long mail waits for the record of an MTA-STS policy; STS_RECORD_WAIT_MS_MAX unless given. */
  readonly recordWaitMs?: number
}

export type Router = {
  /**
   * For a domain in lower-case A-labels or an address literal in brackets. Lookups of one
   * destination are shared, and what they found is kept for its TTL within 10 s and 5 min; a
   * deferral for 5 s. Never rejects; takes about a minute at the very most.
   *
   * 550 5.1.2: no such domain. 556 5.1.10: null MX. 550 5.4.4: none of its hosts has an address, and
   * all answers are definite. 550 5.4.6: only addresses that mail may not go to.
   */
  findRoute(destination: string): Promise<Route>
  /** Ends what is being fetched. Close the resolver as well. */
  close(): void
}

const SMTP_PORT = 25

/** Looks nothing up yet. */
export function openRouter(options: RouterOptions): Router {
  const closing = new AbortController()
  const { resolver, allowPrivate, clock, port = SMTP_PORT } = options
  const fetchPolicy =
    options.fetchPolicy ?? makeFetchPolicy({ resolver, allowPrivate, signal: closing.signal })
  const policies = makeStsPolicies({
    resolver,
    fetchPolicy,
    clock,
    recordWaitMs: options.recordWaitMs,
  })
  const routes = new Cache<Route>({ entriesMax: ROUTES_KEPT_MAX, now: () => clock.monotonic() })
  const underWay = new Map<string, Promise<Route>>()

  async function findRoute(destination: string): Promise<Route> {
    const key = destination.toLowerCase().replace(/\.$/, '')
    const kept = routes.find(key)
    if (kept !== null) return withValidity(kept.value, kept.leftMs)
    const shared = underWay.get(key)
    if (shared !== undefined) return shared
    const started = findAndKeep(key).finally(() => underWay.delete(key))
    underWay.set(key, started)
    return started
  }

  async function findAndKeep(destination: string): Promise<Route> {
    const isAllowed = makeAddressGuard({
      allowPrivate,
      own: allowPrivate ? [] : (options.ownAddresses ?? listOwnAddresses)(),
    })
    const { route, keptMs } = destination.startsWith('[')
      ? routeToLiteral(destination, isAllowed)
      : await routeToDomain(destination, { ...options, policies, isAllowed, port })
    routes.set(destination, route, { ttlMs: keptMs })
    return route
  }

  return { findRoute, close: () => closing.abort() }
}

/** RFC 5321 §4.1.3. */
function routeToLiteral(literal: string, isAllowed: AddressGuard): RouteFinding {
  const text = literal.endsWith(']') ? literal.slice(1, -1) : ''
  const v6 = text.startsWith('ipv6:') ? text.slice('ipv6:'.length) : ''
  const address = isIPv6(v6) && !v6.includes('%') ? v6 : isIPv4(text) ? text : null
  if (address === null) {
    return forGood(refuse(550, '5.1.2', 'the domain of the recipient is not an address literal'))
  }
  if (!isAllowed(address)) {
    return forGood(refuse(550, '5.4.6', 'mail may not be sent to the address of the recipient'))
  }
  const hosts: RouteHost[] = [
    { host: literal, addresses: [address], tls: { kind: 'opportunistic' } },
  ]
  const validMs = ROUTE_VALID_MS_MAX
  return { route: { kind: 'hosts', hosts, validMs }, keptMs: validMs }
}

function withValidity(route: Route, validMs: number): Route {
  return route.kind === 'hosts' ? { ...route, validMs } : route
}
