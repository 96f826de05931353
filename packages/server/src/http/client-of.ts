import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'
import { plainAddress } from '@mailroom/smtp/client-address.ts'
import type { ForwardedHeader } from '#config/settings.ts'

export type ClientOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

const FORWARDED_HEADERS = ['x-forwarded-for', 'forwarded'] as const

export type Proxies = {
  readonly trusted: BlockList
  /** The header with the client's address; null accepts either header. */
  readonly header: ForwardedHeader | null
}

/**
 * Returns the last address in the chain that is not a trusted proxy, because earlier ones may be
 * forged. If two fields name different clients, returns the proxy.
 */
export function openClientOf({ trusted, header }: Proxies): ClientOf {
  const fields = header === null ? FORWARDED_HEADERS : [header]
  return ({ headers, socket }) => {
    const peer = plainAddress(socket.remoteAddress)
    if (!isIn(trusted, peer)) return peer
    const named = fields.filter((field) => headers[field] !== undefined)
    const [client = peer, ...others] = named.map((field) => {
      return clientNamedBy(noted[field](headers), { peer, trusted })
    })
    return others.every((other) => other === client) ? client : peer
  }
}

export function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

function clientNamedBy(
  addresses: string[],
  { peer, trusted }: { peer: string; trusted: BlockList },
): string {
  let client = peer
  for (const text of addresses.reverse()) {
    const address = readAddress(text)
    // The proxy is known, but not the client.
    if (address === null) return client
    client = address
    if (!isIn(trusted, client)) return client
  }
  return client
}

const noted: Record<ForwardedHeader, (headers: IncomingMessage['headers']) => string[]> = {
  'x-forwarded-for': (headers) => [headers['x-forwarded-for'] ?? []].flat().join(',').split(','),
  // In RFC 7239, an element without "for" hides the client.
  forwarded: ({ forwarded = '' }) =>
    elementsOf(forwarded).map((element) => FOR.exec(element)?.[1] ?? ''),
}

const FOR = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^\s;"]+)\s*(?:;|$)/i

/** Commas within quotes do not separate elements. */
function elementsOf(forwarded: string): string[] {
  return forwarded.match(/(?:"[^"]*"|[^",])+/g) ?? []
}

/** Accepts a port, quotes and the brackets of IPv6. Returns null for any other text. */
function readAddress(text: string): string | null {
  const bare = text.trim().replace(/^"(.*)"$/, '$1')
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(bare)?.[1]
  const address = plainAddress(bracketed ?? bare.replace(/^([\d.]+):\d+$/, '$1'))
  return isIP(address) === 0 ? null : address
}
