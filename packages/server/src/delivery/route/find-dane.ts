// What DANE demands of one host (RFC 7672): the TLSA records under its name, as far as they are
// authenticated.

import type { Resolver, TlsaRecord } from '#platform/dns/resolver.ts'
import type { RouteTls } from './route.ts'

export type DaneFinding =
  | { readonly kind: 'none' }
  | { readonly kind: 'tls'; readonly tls: RouteTls; readonly ttlMs: number }
  | { readonly kind: 'fault'; readonly text: string }

const DANE_TA = 2
const DANE_EE = 3
const DIGEST_BYTES: Readonly<Record<number, number>> = { 1: 32, 2: 64 }

/**
 * Asks at each of `names` until one has records: where the host's aliases led, then the host (§2.2.2).
 * A fault means that the host must not be used now: a forger would make one (§2.1.2).
 */
export async function findDane(
  names: readonly string[],
  { resolver, port }: { resolver: Resolver; port: number },
): Promise<DaneFinding> {
  for (const name of new Set(names)) {
    const answer = await resolver.tlsa(`_${port}._tcp.${name}`)
    if (answer.kind === 'fault') return answer
    if (answer.kind === 'none' || !answer.isAuthenticated) continue
    const records = answer.records.filter(isUsable)
    const tls: RouteTls =
      records.length > 0 ? { kind: 'dane', servername: name, records } : { kind: 'required' }
    return { kind: 'tls', tls, ttlMs: answer.ttlMs }
  }
  return { kind: 'none' }
}

/** §3.1.3: usages of the public authorities mean nothing between mail servers. */
function isUsable({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if (usage !== DANE_TA && usage !== DANE_EE) return false
  if (selector !== 0 && selector !== 1) return false
  return matchingType === 0 ? data.length > 0 : data.length === DIGEST_BYTES[matchingType]
}
