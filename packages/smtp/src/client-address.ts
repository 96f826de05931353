import { BlockList, isIP } from 'node:net'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * Normalises an IP address: IPv4-mapped IPv6 (RFC 4291 §2.5.5.2) becomes IPv4, and a zone index is
 * removed.
 */
export function plainAddress(address: string | undefined): string {
  const bare = (address ?? '').split('%')[0] ?? ''
  return MAPPED.exec(bare)?.[1] ?? bare
}

/**
 * Key for addresses of one client: an IPv4 address, or the /64 of an IPv6 host (RFC 4291 §2.5.4).
 */
export function clientGroup(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length)
  const groups = [...front, ...Array<string>(zeros).fill('0'), ...back]
  return `${groups.slice(0, 4).join(':')}::/64`
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Whether the address is a loopback address, whose connections cannot be eavesdropped on. False for
 * text that is not an IP address.
 */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address)
  const version = isIP(plain)
  return version !== 0 && loopback.check(plain, version === 6 ? 'ipv6' : 'ipv4')
}
