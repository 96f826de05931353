// A router over a DNS server of the tests, with a clock that tests turn.

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
import { openResolver, type ResolverOptions } from '#platform/dns/resolver.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'

export type RouteWorld = {
  readonly dns: Dns
  readonly router: Router
  find(destination: string): Promise<Route>
  /** Turns the clock. */
  pass(ms: number): void
}

export type RouteWorldOptions = Partial<RouterOptions> & {
  trusts?: NonNullable<ResolverOptions['trusts']>
  /** Of a try of a query; a second unless given. */
  timeoutMs?: number
}

/** Closed with the test. Policies of MTA-STS cannot be fetched unless `fetchPolicy` does. */
export async function openRouteWorld(
  t: TestContext,
  zone: Zone,
  { trusts, timeoutMs, ...options }: RouteWorldOptions = {},
): Promise<RouteWorld> {
  const dns = await openDns(zone)
  const resolver = openResolver({
    servers: [dns.server],
    timeoutMs: timeoutMs ?? 1_000,
    ...(trusts === undefined ? {} : { trusts }),
  })
  let passedMs = 0
  const tell = () => 1_800_000_000_000 + passedMs
  const router = openRouter({
    resolver,
    allowPrivate: false,
    ownAddresses: () => [],
    chance: systemChance,
    clock: { now: tell, monotonic: tell, steady: tell },
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
