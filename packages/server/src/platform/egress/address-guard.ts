// Which addresses may be connected to where a stranger chose the target.

import { BlockList, isIP, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainAddress } from '@mailroom/smtp/client-address.ts'

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

/** Of all IPv6, RFC 4291 §2.4 and IANA give 2000::/3 to hosts anywhere; within it these are not. */
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

/**
 * Takes an IPv4 or IPv6 address as text, a zone index allowed; anything else counts as special. An
 * IPv4-mapped address is what its IPv4 address is; NAT64, 6to4 and IPv4-compatible ones are special
 * whatever they carry.
 */
export function isSpecialAddress(address: string): boolean {
  if (isIP(address) === 0) return true
  if (isIPv4(address)) return special.check(address, 'ipv4')
  const bare = address.split('%')[0] ?? ''
  if (mapped.check(bare, 'ipv6')) return special.check(bare, 'ipv6')
  return !global.check(bare, 'ipv6') || special.check(bare, 'ipv6')
}
