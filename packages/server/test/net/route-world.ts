// A router with a DNS server of the tests, and a clock that tests move.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  openRouter,
  type Route,
  type RouteHost,
  type Router,
  type RouterOptions,
} from '#delivery/find-route.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { openResolver, type ResolverOptions } from '#platform/dns/resolver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'

export type RouteWorld = {
  readonly dns: Dns
  readonly router: Router
  find(destination: string): Promise<Route>
  /** Moves the clock. */
  pass(ms: number): void
}

export type RouteWorldOptions = Partial<RouterOptions> & {
  trusts?: NonNullable<ResolverOptions['trusts']>
  /** Half of the time of a lookup; a second unless given. */
  timeoutMs?: number
  /** A minute unless given: no question is sent twice because the machine was slow to answer. */
  firstTryMs?: number
}

/** Closed with the test. Policies of MTA-STS cannot be fetched unless `fetchPolicy` does. */
export async function openRouteWorld(
  t: TestContext,
  zone: Zone,
  { trusts, timeoutMs = 1_000, firstTryMs = MINUTE_MS, ...options }: RouteWorldOptions = {},
): Promise<RouteWorld> {
  const dns = await openDns(zone)
  const resolver = openResolver({
    servers: [dns.server],
    timeoutMs,
    firstTryMs,
    ...(trusts === undefined ? {} : { trusts }),
  })
  let passedMs = 0
  const tell = () => 1_800_000_000_000 + passedMs
  const router = openRouter({
    resolver,
    allowPrivate: false,
    ownAddresses: () => [],
    chance: systemChance,
    clock: { ...systemClock, now: tell, monotonic: tell, steady: tell },
    fetchPolicy: async () => ({ kind: 'fault', text: 'not in this test' }),
    ...options,
  })
  t.after(async () => {
    router.close()
    resolver.close()
    await dns.close()
  })
  return {
    dns,
    router,
    find: (destination) => router.findRoute(destination),
    pass: (ms) => {
      passedMs += ms
    },
  }
}

/** The hosts of a route that has some. */
export function hostsOf(route: Route): readonly RouteHost[] {
  assert.equal(route.kind, 'hosts', JSON.stringify(route))
  return route.kind === 'hosts' ? route.hosts : []
}

/** The kind of a route, with code and status where it is a refusal. */
export function outcomeOf(route: Route): string {
  return route.kind === 'refused' ? `${route.code} ${route.enhanced}` : route.kind
}

/** Records of MX from the preferred on. */
export function mx(...exchanges: string[]): { exchange: string; preference: number }[] {
  return exchanges.map((exchange, index) => ({ exchange, preference: 10 * (index + 1) }))
}
