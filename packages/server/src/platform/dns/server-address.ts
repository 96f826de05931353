// Addresses of DNS servers as settings and the system write them. Knows nothing of asking them.

import { isIP, isIPv4 } from 'node:net'

export type ServerAddress = { readonly address: string; readonly port: number }

const PORT = 53
const WRITTEN = /^(?:\[([0-9a-f:.%\w-]+)\]|([\d.]+))(?::(\d{1,5}))?$/i
/** Docker's server for containers passes on whatever came from a server elsewhere. */
const FORWARDER = '127.0.0.11'

/** Reads `ip`, `ip:port`, `[v6]:port` or a bare IPv6 address; null when it is none of them. */
export function parseServerAddress(text: string): ServerAddress | null {
  if (isIP(text) !== 0) return { address: text, port: PORT }
  const [, v6, v4, port] = WRITTEN.exec(text) ?? []
  const address = v6 ?? v4 ?? ''
  const number = port === undefined ? PORT : Number(port)
  if (isIP(address) === 0 || number < 1 || number > 65_535) return null
  return { address, port: number }
}

/**
 * Whether what a server at this address says of DNSSEC can be believed: nobody sits on the way to a
 * resolver on this machine (RFC 7672 §2.1.1, RFC 4035 §4.9.3).
 */
export function isLoopbackServer({ address }: ServerAddress): boolean {
  if (address === FORWARDER) return false
  return isIPv4(address) ? address.startsWith('127.') : address === '::1'
}
