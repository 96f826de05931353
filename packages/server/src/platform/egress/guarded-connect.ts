// Connections whose target a stranger chose. The guard checks names and addresses.

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

export class ConnectError extends Error {
  readonly fault: ConnectFault

  constructor(fault: ConnectFault, cause?: Error) {
    super(fault, { cause })
    this.fault = fault
  }
}

export type GuardedConnectOptions = {
  readonly resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** Allows any address, and finds names unknown to DNS in the system's hosts file. */
  readonly allowPrivate: boolean
  /** This machine's addresses, read for each connection; those of its interfaces by default. */
  readonly ownAddresses?: () => readonly string[]
  /** Names of this service, which must not be connected to. */
  readonly ownNames?: readonly string[]
  /** Time from the first resolved address to the end of the TLS handshake. */
  readonly connectMs: number
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined
}

type Target = {
  /** A name, or an IP address without brackets. */
  readonly hostname: string
  readonly protocol: string
  /** Empty for the protocol's default port. */
  readonly port: string
}

type Connected = (...result: [ConnectError, null] | [null, Socket]) => void

/** `done` is called once for each socket. */
export class GuardedConnector {
  readonly #options: GuardedConnectOptions
  readonly #sockets = new Set<Socket>()
  readonly #requests = new WeakMap<Socket, { count: number; bytesRead: number }>()
  readonly #errorsOfIdle = new WeakSet<Error>()

  constructor(options: GuardedConnectOptions) {
    this.#options = options
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  /** Called before each request is written; ignores sockets of other owners. */
  onRequest(socket: Socket): void {
    if (!this.#sockets.has(socket)) return
    const count = (this.#requests.get(socket)?.count ?? 0) + 1
    this.#requests.set(socket, { count, bytesRead: socket.bytesRead })
  }

  /** Whether a reused connection failed without an answer; it may have timed out as idle. */
  isOfIdleConnection(error: Error): boolean {
    return this.#errorsOfIdle.has(error)
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
      // Node's default of 250 ms would give up distant hosts too early.
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
    // The listener for errors stays, because an error without a listener ends the process.
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
      // Each request is written only after the previous answer.
      if (last !== undefined && last.count > 1 && socket.bytesRead === last.bytesRead) {
        this.#errorsOfIdle.add(error)
      }
      fail(new ConnectError(isTcpConnected ? 'tls_failed' : faultOf(error), error))
    })
    socket.once('close', closed)
  }
}

/** Each address except the last gets this share of the time to connect. */
const ATTEMPT_SHARE = 0.3

const LOOPBACK = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Node does not look up IP literals, and DNS does not know localhost names (RFC 6761 §6.3). */
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

/** The `code` of the error for a name with only forbidden addresses. */
export const FORBIDDEN_ADDRESS = 'EFORBIDDENADDRESS'

/** Node does not look up IP literals, so the caller checks them. */
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
