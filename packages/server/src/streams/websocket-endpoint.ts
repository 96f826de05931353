// A bad credential gets a close code, because clients in browsers see no HTTP status. Other
// refusals are HTTP responses.

import type { IncomingMessage, Server } from 'node:http'
import { Socket } from 'node:net'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import type { FastifyInstance } from 'fastify'
import type { WebSocket, WebSocketServer } from 'ws'
import type { Caller, Identify } from '#accounts/keys/keys.ts'
import { hangUpWith, refuseRepeatedFields } from '#http/client-errors.ts'
import type { ClientOf } from '#http/client-of.ts'
import type { EventReader, EventReaders } from '#http/event-readers.ts'
import { problemOf, takeRequest } from '#http/problems.ts'
import type { HeldSlot, RateWindow } from '#limits/limits.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type EventPorts, SOCKETS_PER_ACCOUNT_MAX } from './event-stream.ts'
import {
  CLOSE_CODES,
  type LivenessTimeouts,
  Session,
  SOCKET_FRAME_BYTES_MAX,
} from './websocket-session.ts'

const SOCKET_PING_MS = 30 * SECOND_MS
const SOCKET_SILENCE_MS = 10 * SECOND_MS
/** Limits how long a client may leave bytes unread, even if it sends frames. */
const SOCKET_STALL_MS = 30 * SECOND_MS
const SOCKET_TICK_MS = 2 * SECOND_MS

export type SocketTimeouts = LivenessTimeouts & { readonly tickMs: number }

export type WebSocketEndpointOptions = {
  readonly started: Promise<void>
  readonly identify: Identify
  readonly clientOf: ClientOf
  readonly requests: RateWindow
  readonly readers: EventReaders
  readonly ports: EventPorts
  readonly clock: Clock
  readonly log: Log
  readonly makeRequestId: () => string
  isClosing(): boolean
  readonly patience: SocketTimeouts | undefined
  onRequest?(seen: { route: string; method: string; status: number; durationMs: number }): void
}

const DEFAULT_TIMEOUTS = {
  pingMs: SOCKET_PING_MS,
  silenceMs: SOCKET_SILENCE_MS,
  stallMs: SOCKET_STALL_MS,
  tickMs: SOCKET_TICK_MS,
}

export function addWebSocketPath(app: FastifyInstance): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: WEB_SOCKET_PATH,
    handler: async () => {
      throw problem('upgrade_required', undefined, {
        headers: { upgrade: 'websocket', connection: 'upgrade' },
      })
    },
  })
}

export class WebSocketEndpoint {
  readonly #options: WebSocketEndpointOptions
  readonly #transports = new Set<Socket>()
  readonly #sessions = new Set<Session>()
  #timer: NodeJS.Timeout | undefined
  #opening: Promise<WebSocketServer> | undefined

  constructor(options: WebSocketEndpointOptions) {
    this.#options = options
  }

  /** The server's `shouldUpgradeCallback` must be `isWebSocketRequest`. */
  attach(server: Server): void {
    const { clock, onRequest } = this.#options
    server.on('upgrade', (request, transport, head) => {
      if (!(transport instanceof Socket)) return transport.destroy()
      const startMs = clock.monotonic()
      this.#transports.add(transport)
      transport.once('close', () => this.#transports.delete(transport))
      transport.on('error', () => transport.destroy())
      void this.#answer(request, transport, head).then((status) => {
        const durationMs = clock.monotonic() - startMs
        onRequest?.({ route: WEB_SOCKET_PATH, method: 'GET', status, durationMs })
      })
    })
  }

  /** Sends no close frame. */
  destroy(): void {
    for (const transport of this.#transports) transport.destroy()
  }

  /** Returns the status of the response. */
  async #answer(request: IncomingMessage, transport: Socket, head: Buffer): Promise<number> {
    const { requests, clock, makeRequestId } = this.#options
    const requestId = makeRequestId()
    const headers: Record<string, string> = { 'x-request-id': requestId }
    try {
      refuseWhileClosing(this.#options)
      refuseRepeatedFields(request)
      await this.#options.started
      this.#opening ??= openSocketServer()
      const [server, caller] = await Promise.all([this.#opening, callerOf(this.#options, request)])
      refuseWhileClosing(this.#options)
      if (caller !== null) {
        await takeRequest({ requests, clock }, caller.accountId, (name, value) => {
          headers[name] = value
        })
      }
      const handshake = { request, transport, head, headers }
      if (caller === null) {
        const socket = await upgrade(server, handshake)
        socket.close(CLOSE_CODES.unauthorized, 'the API key is missing, unknown or revoked')
      } else await this.#open(server, handshake, { transport, caller, requestId })
      return 101
    } catch (error) {
      return this.#refuse(error, { requestId, headers, transport })
    }
  }

  #refuse(
    error: unknown,
    {
      requestId,
      headers,
      transport,
    }: Pick<HandshakeRequest, 'headers' | 'transport'> & { requestId: string },
  ): number {
    const { log } = this.#options
    const refusal = problemOf(error, requestId)
    const { status } = refusal
    const fields = { requestId, status, error }
    if (refusal.isOurs) log.error(fields, 'A request failed.')
    else if (status === 503) log.info(fields, 'A request was refused as unavailable.')
    hangUpWith({ ...refusal, headers: { ...headers, ...refusal.headers } }, transport)
    return status
  }

  async #open(
    server: WebSocketServer,
    handshake: HandshakeRequest,
    opening: Omit<Opening, 'socket' | 'slot'>,
  ): Promise<void> {
    const { transport } = handshake
    const slot = await this.#options.readers.takeSlot('socket', opening.caller.accountId)
    // The handshake never ends if the client has disconnected.
    if (transport.destroyed) slot?.release()
    transport.once('close', () => slot?.release())
    try {
      refuseWhileClosing(this.#options)
      const socket = await upgrade(server, handshake)
      if (slot !== null) return this.#addSession({ ...opening, socket, slot })
      const most = `an account has at most ${SOCKETS_PER_ACCOUNT_MAX} connections`
      socket.close(CLOSE_CODES.tooManyConnections, most)
    } catch (error) {
      slot?.release()
      throw error
    }
  }

  #addSession({ socket, transport, caller, requestId, slot }: Opening): void {
    const { accountId, keyId, session: came } = caller
    const { readers } = this.#options
    const session = new Session(this.#options, {
      socket,
      transport,
      accountId,
      requestId,
      onEnd: () => {
        readers.remove(reader)
        this.#removeSession(session)
      },
    })
    const reader: EventReader = {
      accountId,
      keyId,
      session: came,
      kind: 'socket',
      slot,
      end: (reason) => session.close(ENDS[reason].code, ENDS[reason].reason),
    }
    this.#sessions.add(session)
    this.#startChecks()
    readers.add(reader)
  }

  #removeSession(session: Session): void {
    this.#sessions.delete(session)
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #startChecks(): void {
    const { patience: timeouts = DEFAULT_TIMEOUTS } = this.#options
    this.#timer ??= setInterval(() => {
      for (const session of this.#sessions) session.liveness.check(timeouts)
    }, timeouts.tickMs).unref()
  }
}

const ENDS = {
  closing: { code: CLOSE_CODES.shuttingDown, reason: 'the service is shutting down' },
  revoked: { code: CLOSE_CODES.unauthorized, reason: 'the API key was revoked' },
}

export function isWebSocketRequest({ method, url = '', headers }: IncomingMessage): boolean {
  const isHere = method === 'GET' && url.split('?', 1)[0] === WEB_SOCKET_PATH
  return isHere && headers.upgrade?.trim().toLowerCase() === 'websocket'
}

type KeyCaller = Extract<Caller, { kind: 'key' }>

type Opening = {
  readonly socket: WebSocket
  readonly transport: Socket
  readonly caller: KeyCaller
  readonly requestId: string
  readonly slot: HeldSlot
}

function refuseWhileClosing({ isClosing }: WebSocketEndpointOptions): void {
  if (isClosing()) throw new AppError('service_unavailable', 'The service is shutting down.')
}

/** Returns null for a bad credential. Rejects if it cannot be checked. */
async function callerOf(
  { identify, clientOf }: Pick<WebSocketEndpointOptions, 'identify' | 'clientOf'>,
  request: IncomingMessage,
): Promise<KeyCaller | null> {
  try {
    const caller = await identify('key', {
      authorization: request.headers.authorization ?? authorizationOf(request.url ?? ''),
      clientAddress: clientOf(request),
      isSigned: false,
      headers: request.headers,
      isReading: true,
      isSocket: true,
    })
    return caller.kind === 'key' ? caller : null
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized') return null
    throw error
  }
}

/** Browsers cannot set headers of a WebSocket request. */
function authorizationOf(url: string): string | undefined {
  const token = new URLSearchParams(url.split('?')[1] ?? '').get('token')
  return token === null ? undefined : `Bearer ${token}`
}

const SOCKET_CLOSE_MS = 5 * SECOND_MS

/** The library is loaded on first use, because it has some 20 modules. */
async function openSocketServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws')
  // The library's types lack `closeTimeout`.
  const options = {
    noServer: true,
    clientTracking: false,
    // The session answers pings, except those of a client that reads nothing.
    autoPong: false,
    maxPayload: SOCKET_FRAME_BYTES_MAX,
    perMessageDeflate: false,
    closeTimeout: SOCKET_CLOSE_MS,
  }
  const server = new WebSocketServer(options)
  server.on('headers', (lines, request) => {
    for (const [name, value] of Object.entries(handshakes.get(request)?.headers ?? {})) {
      lines.push(`${name}: ${value}`)
    }
  })
  server.on('wsClientError', (error, _transport, request) => {
    handshakes.get(request)?.refuse(error)
  })
  return server
}

type Handshake = {
  readonly headers: Readonly<Record<string, string>>
  refuse(error: Error): void
}

const handshakes = new WeakMap<IncomingMessage, Handshake>()

export type HandshakeRequest = {
  readonly request: IncomingMessage
  readonly transport: Socket
  readonly head: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** The response must list the supported versions (RFC 6455 §4.4). */
function malformed(message: string, version: string | undefined): AppError {
  const isKnown = version !== undefined && VERSIONS.includes(version)
  return new AppError('bad_request', `${message}.`, {
    fix: 'Connect with a WebSocket client, which makes this request by itself.',
    headers: isKnown ? {} : { 'sec-websocket-version': VERSIONS.join(', ') },
  })
}

const VERSIONS = ['13', '8']

/** A closure here would keep the handshake in memory. */
function ignore(): void {}

/** The promise never settles if the client has disconnected. */
function upgrade(
  server: WebSocketServer,
  { request, transport, head, headers }: HandshakeRequest,
): Promise<WebSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>()
  const version = request.headers['sec-websocket-version']
  handshakes.set(request, {
    headers,
    refuse: ({ message }) => reject(malformed(message, version)),
  })
  server.handleUpgrade(request, transport, head, (socket) => {
    // The library closes the connection of a client that sends bad frames.
    socket.on('error', ignore)
    resolve(socket)
  })
  return promise
}
