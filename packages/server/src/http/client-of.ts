// The IP address of a request's client: the peer or, behind a trusted proxy, the client that the proxy names.

import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'
import { plainAddress } from '@mailroom/smtp/client-address.ts'

export type ClientOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/**
 * The address as text, IPv4-mapped IPv6 reduced to IPv4. Of the addresses that proxies added, the last one that is
 * no trusted proxy counts: the client may have written those before it.
 */
export function openClientOf(trusted: BlockList): ClientOf {
  const isTrusted = (address: string) => {
    const version = isIP(address)
    return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
  return ({ headers, socket }) => {
    let client = plainAddress(socket.remoteAddress)
    if (!isTrusted(client)) return client
    for (const noted of notedAddresses(headers).reverse()) {
      const address = readAddress(noted)
      // The proxy that wrote this is known; the client that it means is not.
      if (address === null) return client
      client = address
      if (!isTrusted(client)) return client
    }
    return client
  }
}

/** The nearest last, from X-Forwarded-For or, without it, from Forwarded (RFC 7239). */
function notedAddresses(headers: IncomingMessage['headers']): string[] {
  const listed = headers['x-forwarded-for']
  if (listed !== undefined) return [listed].flat().join(',').split(',')
  const { forwarded } = headers
  if (forwarded === undefined) return []
  // An element without "for" hides the client.
  return elementsOf(forwarded).map((element) => FOR.exec(element)?.[1] ?? '')
}

const FOR = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^\s;"]+)\s*(?:;|$)/i

/** Commas within quotes do not separate elements. */
function elementsOf(forwarded: string): string[] {
  return forwarded.match(/(?:"[^"]*"|[^",])+/g) ?? []
}

/** With or without a port, quotes and the brackets of IPv6; null for what is no address. */
function readAddress(text: string): string | null {
  const bare = text.trim().replace(/^"(.*)"$/, '$1')
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(bare)?.[1]
  const address = plainAddress(bracketed ?? bare.replace(/^([\d.]+):\d+$/, '$1'))
  return isIP(address) === 0 ? null : address
}
