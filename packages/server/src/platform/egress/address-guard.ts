// Decides to which addresses connections are allowed if a stranger chose the target.

import { BlockList, isIP, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainAddress } from '@mailroom/smtp/client-address.ts'

export type AddressGuard = (address: string) => boolean

/** Does not include a public address that a router translates. */
export function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  )
}

/** Refuses `own` addresses too: a service there may not be public, and may trust this process. */
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

const IPV4_RANGES: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** RFC 4291 §2.4 and IANA assign 2000::/3 to hosts; within it the ranges below are special. */
const IPV6_GLOBAL: readonly [string, number] = ['2000::', 3]
const IPV6_RANGES: readonly [string, number][] = [
  // Protocol assignments with Teredo, documentation, 6to4, documentation (RFC 9637).
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const special = new BlockList()
for (const [address, prefix] of IPV4_RANGES) special.addSubnet(address, prefix, 'ipv4')
for (const [address, prefix] of IPV6_RANGES) special.addSubnet(address, prefix, 'ipv6')
const global = new BlockList()
global.addSubnet(...IPV6_GLOBAL, 'ipv6')
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')

/** Treats mapped addresses as IPv4. NAT64, 6to4, IPv4-compatible and invalid ones are special. */
export function isSpecialAddress(address: string): boolean {
  if (isIP(address) === 0) return true
  if (isIPv4(address)) return special.check(address, 'ipv4')
  const bare = address.split('%')[0] ?? ''
  if (mapped.check(bare, 'ipv6')) return special.check(bare, 'ipv6')
  return !global.check(bare, 'ipv6') || special.check(bare, 'ipv6')
}
