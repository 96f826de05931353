// Connections whose target a stranger chose: to no address that strangers may not make us reach, looked
// at in the name, in what it resolves to, and in what was really connected to. Says what failed.

import { lookup as lookUpBySystem } from 'node:dns'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Resolver } from '#platform/dns/resolver.ts'
import { type AddressGuard, listOwnAddresses, makeAddressGuard } from './address-guard.ts'

export type ConnectFault =
  | 'timeout'
  | 'forbidden_address'
  | 'dns_failed'
  | 'connection_failed'
  | 'tls_failed'

/** Why there is no connection. */
export class ConnectError extends Error {
  readonly fault: ConnectFault

  constructor(fault: ConnectFault, cause?: Error) {
    super(fault, { cause })
    this.fault = fault
  }
}

type GuardedConnectOptions = {
  readonly resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** Any address will do, and names that DNS does not know are looked for in the system's hosts file. */
  readonly allowPrivate: boolean
  /** This machine's, asked for with each connection; those of its interfaces unless given. */
  readonly ownAddresses?: () => readonly string[]
  /** Names that this service is known by, which lead to it. */
  readonly ownNames?: readonly string[]
  /** From the first address known to the end of the TLS handshake. */
  readonly connectMs: number
  /** Certificates to trust instead of the platform's, as PEM. */
  readonly ca: string | undefined
}

type Target = {
  /** A name, or an IP address without brackets. */
  readonly hostname: string
  readonly protocol: string
  /** Empty for the protocol's own. */
  readonly port: string
}

type Connected = (...result: [ConnectError, null] | [null, Socket]) => void

/** Opens sockets and knows all that are open; `done` is called once for each. */
export class GuardedConnector {
  readonly #options: GuardedConnectOptions
  readonly #sockets = new Set<Socket>()
  readonly #requests = new WeakMap<Socket, { count: number; bytesRead: number }>()
  readonly #ofIdled = new WeakSet<Error>()

  constructor(options: GuardedConnectOptions) {
    this.#options = options
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  /** To be told of each request before it is written; connections of others are left alone. */
  noteRequest(socket: Socket): void {
    if (!this.#sockets.has(socket)) return
    const count = (this.#requests.get(socket)?.count ?? 0) + 1
    this.#requests.set(socket, { count, bytesRead: socket.bytesRead })
  }

  /**
   * Whether it is the error of a connection that had carried an exchange before, and over which nothing
   * has come since its last request: the far end may have given it up for being idle.
   */
  isOfIdled(error: Error): boolean {
    return this.#ofIdled.has(error)
  }

  connect({ hostname, protocol, port }: Target, done: Connected): void {
    const { allowPrivate, ownAddresses = listOwnAddresses } = this.#options
    const isAllowed = makeAddressGuard({ allowPrivate, own: allowPrivate ? [] : ownAddresses() })
    if (!allowPrivate && isForbiddenHost(hostname, isAllowed, this.#options.ownNames ?? [])) {
      done(new ConnectError('forbidden_address'), null)
      return
    }
    const isTls = protocol === 'https:'
    const where = {
      host: hostname,
      port: Number(port === '' ? (isTls ? 443 : 80) : port),
      lookup: makeLookup(this.#options, isAllowed),
      // Node's own quarter of a second would give far-away hosts up for an address that is no better.
      autoSelectFamilyAttemptTimeout: Math.round(this.#options.connectMs * ATTEMPT_SHARE),
    }
    const socket = isTls
      ? connectTls({ ...where, ...this.#tlsOptions(hostname) })
      : connectTcp(where)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    this.#await(socket, { isTls, isName: isIP(hostname) === 0, isAllowed }, done)
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #tlsOptions(hostname: string) {
    const { ca } = this.#options
    return {
      ALPNProtocols: ['http/1.1'],
      ...(isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : {}),
      ...(ca === undefined ? {} : { ca }),
    }
  }

  #await(
    socket: Socket,
    { isTls, isName, isAllowed }: { isTls: boolean; isName: boolean; isAllowed: AddressGuard },
    done: Connected,
  ) {
    let isOver = false
    let isTcpConnected = false
    let timer: NodeJS.Timeout | undefined
    // The listener for errors stays: a socket without one that breaks ends the process.
    const settle = (...result: Parameters<Connected>) => {
      clearTimeout(timer)
      if (isOver) return
      isOver = true
      done(...result)
    }
    const fail = (error: ConnectError) => {
      socket.destroy()
      settle(error, null)
    }
    const closed = () => fail(new ConnectError(isTcpConnected ? 'tls_failed' : 'connection_failed'))
    const limit = () => {
      timer ??= setTimeout(() => fail(new ConnectError('timeout')), this.#options.connectMs)
    }
    if (isName) socket.once('lookup', limit)
    else limit()
    socket.once('connect', () => {
      isTcpConnected = true
      if (!isAllowed(socket.remoteAddress ?? '')) fail(new ConnectError('forbidden_address'))
    })
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.setNoDelay(true)
      settle(null, socket)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const last = this.#requests.get(socket)
      // A request is written only when the one before it was answered.
      if (last !== undefined && last.count > 1 && socket.bytesRead === last.bytesRead) {
        this.#ofIdled.add(error)
      }
      fail(new ConnectError(isTcpConnected ? 'tls_failed' : faultOf(error), error))
    })
    socket.once('close', closed)
  }
}

/** Of the time to connect, for each address but the last. */
const ATTEMPT_SHARE = 0.3

const LOOPBACK = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Node asks no lookup about IP literals, and no DNS knows these names (RFC 6761 §6.3). */
function isForbiddenHost(
  hostname: string,
  isAllowed: AddressGuard,
  ownNames: readonly string[],
): boolean {
  if (isIP(hostname) !== 0) return !isAllowed(hostname)
  return isLocalhost(hostname) || ownNames.includes(hostname.toLowerCase().replace(/\.$/, ''))
}

function isLocalhost(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname)
}

function makeLookup(
  { resolver, allowPrivate }: GuardedConnectOptions,
  isAllowed: AddressGuard,
): LookupFunction {
  const guarded = makeGuardedLookup({ resolver, isAllowed })
  if (!allowPrivate) return guarded
  return (hostname, wanted, callback) => {
    if (isLocalhost(hostname)) {
      if (wanted.all) callback(null, LOOPBACK)
      else callback(null, '127.0.0.1', 4)
      return
    }
    guarded(hostname, wanted, (error, ...found) => {
      if (error === null) callback(null, ...found)
      else {
        lookUpBySystem(hostname, wanted, (systemError, ...others) => {
          if (systemError === null) callback(null, ...others)
          else callback(error, [])
        })
      }
    })
  }
}

function faultOf({ code }: NodeJS.ErrnoException): ConnectFault {
  switch (code) {
    case FORBIDDEN_ADDRESS:
      return 'forbidden_address'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'dns_failed'
    case 'ETIMEDOUT':
      return 'timeout'
    default:
      return 'connection_failed'
  }
}

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
