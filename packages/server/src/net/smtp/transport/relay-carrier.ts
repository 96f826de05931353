// Mail through one relay of the operator's choice (RFC 6409), whatever its destination.

import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { Resolver } from '#net/dns/resolver.ts'
import type { ClientTls } from '#net/smtp/client/smtp-client.ts'
import { type Carrier, carriedNowhere, GIVEN_UP, unlessAborted } from './carrier.ts'
import { HostCaller, type HostCallerOptions, type Place } from './host-caller.ts'

export type RelayOptions = HostCallerOptions & {
  /** `smtp[s]://user:password@host:port`. */
  readonly url: string
  /** Asked before the system; null where the operator named no servers. */
  readonly resolver: Resolver | null
}

/** Credentials go under a verified certificate, or to this machine itself. */
export function openRelayCarrier(options: RelayOptions): Carrier {
  const { url, resolver, ...callerOptions } = options
  const relay = new URL(url)
  const host = relay.hostname.replace(/^\[|\]$/g, '')
  const caller = new HostCaller(callerOptions)
  return {
    async carry({ destination: _, ...mail }, signal) {
      const { recipients } = mail
      const found = await unlessAborted(findAddresses(host, resolver), signal)
      if (found === null) return carriedNowhere(recipients, GIVEN_UP, host)
      if (typeof found === 'string') {
        return carriedNowhere(recipients, { kind: 'no-route', text: found }, host)
      }
      return caller.carry(
        found.map((address) => placeOf(relay, { host, address })),
        mail,
        signal,
      )
    },
    close: () => caller.close(),
  }
}

function placeOf(relay: URL, { host, address }: { host: string; address: string }): Place {
  const isImplicit = relay.protocol === 'smtps:'
  const user = decodeURIComponent(relay.username)
  const password = decodeURIComponent(relay.password)
  const credentials = user === '' ? null : { user, password }
  return {
    host,
    address,
    port: relay.port === '' ? (isImplicit ? 465 : 587) : Number(relay.port),
    implicitTls: isImplicit,
    credentials,
    tls: tlsOf({ isImplicit, hasCredentials: credentials !== null, host, address }),
  }
}

/** On the way to this machine itself nobody can listen, and certificates there are self-made. */
function tlsOf(relay: {
  isImplicit: boolean
  hasCredentials: boolean
  host: string
  address: string
}): ClientTls {
  if (isLoopback(relay.address)) {
    return relay.isImplicit ? { kind: 'required' } : { kind: 'opportunistic' }
  }
  const isDemanded = relay.isImplicit || relay.hasCredentials
  return isDemanded ? { kind: 'verified', servername: relay.host } : { kind: 'opportunistic' }
}

/** Addresses of the relay, or why there are none now. */
async function findAddresses(host: string, resolver: Resolver | null): Promise<string[] | string> {
  if (isIP(host) !== 0) return [host]
  if (resolver !== null) {
    const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
    if (found.length > 0) return found
  }
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `The relay ${host} was not found: ${reason}`
  }
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

function isLoopback(address: string): boolean {
  return LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
