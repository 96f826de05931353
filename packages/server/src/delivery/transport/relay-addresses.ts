// The addresses of one name, asked for seldom and shared by all who ask: mail for every destination
// goes through them.

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import {
  ROUTE_ADDRESSES_MAX,
  ROUTE_FAULT_MS,
  ROUTE_VALID_MS_MIN,
} from '#delivery/route/route-to-domain.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'

export type Addresses =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'fault'; readonly text: string }

/**
 * Asks `resolver`, where there is one, then the system. What was found once is used as long as nothing
 * else can be found. The function it gives never rejects.
 */
export function makeRelayAddresses(options: {
  host: string
  resolver: Resolver | null
  clock: Clock
}): () => Promise<Addresses> {
  const { host, resolver, clock } = options
  let kept: Addresses | null = null
  let untilMs = 0
  let underWay: Promise<Addresses> | null = null

  async function findAndKeep(): Promise<Addresses> {
    const found = await findAddresses(host, resolver)
    const isLess = found.kind === 'fault' && kept?.kind === 'found'
    const addresses = isLess && kept !== null ? kept : found
    kept = addresses
    untilMs = clock.monotonic() + (found.kind === 'found' ? ROUTE_VALID_MS_MIN : ROUTE_FAULT_MS)
    underWay = null
    return addresses
  }

  return async () => {
    if (kept !== null && clock.monotonic() < untilMs) return kept
    underWay ??= findAndKeep()
    return underWay
  }
}

async function findAddresses(host: string, resolver: Resolver | null): Promise<Addresses> {
  if (isIP(host) !== 0) return { kind: 'found', addresses: [host] }
  if (resolver !== null) {
    const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
    if (found.length > 0) return first(found)
  }
  try {
    return first((await lookup(host, { all: true })).map(({ address }) => address))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'fault', text: `The relay ${host} was not found: ${reason}` }
  }
}

function first(addresses: readonly string[]): Addresses {
  return { kind: 'found', addresses: [...new Set(addresses)].slice(0, ROUTE_ADDRESSES_MAX) }
}
