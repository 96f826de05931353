// Names to addresses for connections whose target a stranger chose: through our own resolver, and
// without the addresses that strangers may not make us reach.

import type { LookupFunction } from 'node:net'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { AddressGuard } from './address-guard.ts'

/** The `code` of the error when a name has none but addresses that are not allowed. */
export const FORBIDDEN_ADDRESS = 'EFORBIDDENADDRESS'

/**
 * For the `lookup` option of node:net, node:tls and node:https. The error's `code` is
 * FORBIDDEN_ADDRESS, `ENOTFOUND` (no address), or `EAI_AGAIN` (DNS cannot tell now). Node does not
 * ask it about a host that is an IP literal: check such a host yourself.
 */
export function makeGuardedLookup(options: {
  resolver: Pick<Resolver, 'a' | 'aaaa'>
  isAllowed: AddressGuard
}): LookupFunction {
  return (hostname, { all, family }, callback) => {
    findAddresses(hostname, options).then(
      (found) => {
        if (found instanceof Error) return callback(found, [])
        const wanted = found.filter((entry) => !isOtherFamily(entry.family, family))
        const [first] = wanted
        if (first === undefined) return callback(lookupError('ENOTFOUND', hostname), [])
        if (all) callback(null, wanted)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, []),
    )
  }
}

type Found = { address: string; family: 4 | 6 }

async function findAddresses(
  hostname: string,
  { resolver, isAllowed }: Parameters<typeof makeGuardedLookup>[0],
): Promise<Found[] | NodeJS.ErrnoException> {
  const [v4, v6] = await Promise.all([resolver.a(hostname), resolver.aaaa(hostname)])
  const found: Found[] = [
    ...(v4.kind === 'found' ? v4.records : []).map((address) => ({ address, family: 4 as const })),
    ...(v6.kind === 'found' ? v6.records : []).map((address) => ({ address, family: 6 as const })),
  ]
  const allowed = found.filter(({ address }) => isAllowed(address))
  if (allowed.length > 0) return allowed
  if (found.length > 0) return lookupError(FORBIDDEN_ADDRESS, hostname)
  const isFault = v4.kind === 'fault' || v6.kind === 'fault'
  return lookupError(isFault ? 'EAI_AGAIN' : 'ENOTFOUND', hostname)
}

function isOtherFamily(family: 4 | 6, wanted: number | string | undefined): boolean {
  const number = typeof wanted === 'string' ? Number(wanted.replace('IPv', '')) : (wanted ?? 0)
  return number !== 0 && number !== family
}

function lookupError(code: string, hostname: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${code}: no address to use for ${hostname}`)
  error.code = code
  return error
}
