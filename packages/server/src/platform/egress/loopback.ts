// Whether an address is this machine's own, in every way of writing it.

import { BlockList, isIP } from 'node:net'
import { plainAddress } from '#platform/client-address.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** On the way there nobody can listen. False for what is no IP address. */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address)
  const version = isIP(plain)
  return version !== 0 && loopback.check(plain, version === 6 ? 'ipv6' : 'ipv4')
}
