// Which addresses may be connected to where a stranger chose the target.

import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainAddress } from '@mailroom/smtp/client-address.ts'
import { isSpecialAddress } from '#platform/special-address.ts'

/** Whether an address may be connected to. */
export type AddressGuard = (address: string) => boolean

/**
 * The addresses of this machine's network interfaces, as they are now; a public address that a router
 * translates to is not among them.
 */
export function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  )
}

/**
 * Allows all, or neither special addresses nor `own` ones: what listens on the machine's public address need
 * not be meant for everybody, and a proxy there would take the service for its client.
 */
export function makeAddressGuard(options: {
  allowPrivate: boolean
  own: readonly string[]
}): AddressGuard {
  if (options.allowPrivate) return () => true
  const own = new BlockList()
  for (const address of options.own) {
    const plain = plainAddress(address)
    own.addAddress(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
  }
  return (address) => {
    if (isSpecialAddress(address)) return false
    const plain = plainAddress(address)
    return !own.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
  }
}
