// The WebSocket at the door: who may open one, how many there are, and when they end. A credential that
// is not good is told by a close code, everything else that is refused by an answer of HTTP.

import type { IncomingMessage, Server } from 'node:http'
import { Socket } from 'node:net'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import type { FastifyInstance } from 'fastify'
import type { WebSocket, WebSocketServer } from 'ws'
import type { Caller, Identify } from '#accounts/identify.ts'
import { hangUpWith } from '#http/client-errors.ts'
import type { ClientOf } from '#http/client-of.ts'
import type { EventReader, EventReaders } from '#http/event-readers.ts'
import { problemOf, takeRequest } from '#http/problems.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { HeldSlot, RateWindow } from '#rate-limits/budgets.ts'
import { type EventPorts, SOCKETS_PER_ACCOUNT_MAX } from './event-stream.ts'
import { CLOSE_CODES, type Patience, Session, SOCKET_FRAME_BYTES_MAX } from './websocket-session.ts'

const SOCKET_PING_MS = 30 * SECOND_MS
/** How long a client may be silent after a ping. */
const SOCKET_SILENCE_MS = 10 * SECOND_MS
/** How long a client may take in nothing of what waits for it, whatever it says meanwhile. */
const SOCKET_STALL_MS = 30 * SECOND_MS
/** Between looks at who is silent: all of them with one timer. */
const SOCKET_TICK_MS = 2 * SECOND_MS

/** `tickMs`: between looks at all connections. */
export type SocketPatience = Patience & { readonly tickMs: number }

export type SocketDoorOptions = {
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
  /** Milliseconds, fewer in tests. */
  readonly patience: SocketPatience | undefined
  onRequest?(seen: { route: string; method: string; status: number; durationMs: number }): void
}

const DEFAULT_PATIENCE = {
  pingMs: SOCKET_PING_MS,
  silenceMs: SOCKET_SILENCE_MS,
  stallMs: SOCKET_STALL_MS,
  tickMs: SOCKET_TICK_MS,
}

/** What the path answers to requests that do not ask for a WebSocket. */
export function addSocketPath(app: FastifyInstance): void {
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

/** One for a server. */
export class SocketDoor {
  readonly #options: SocketDoorOptions
  readonly #transports = new Set<Socket>()
  readonly #sessions = new Set<Session>()
  #timer: NodeJS.Timeout | undefined
  #opening: Promise<WebSocketServer> | undefined

  constructor(options: SocketDoorOptions) {
    this.#options = options
  }

  /** Attaches to the server, whose `shouldUpgradeCallback` is `isSocketRequest`. */
  watch(server: Server): void {
    const { clock, onRequest } = this.#options
    server.on('upgrade', (request, transport, head) => {
      if (!(transport instanceof Socket)) return transport.destroy()
      const startMs = clock.monotonic()
      this.#transports.add(transport)
      transport.once('close', () => this.#transports.delete(transport))
      // Nobody listens until the handshake is done.
      transport.on('error', () => transport.destroy())
      void this.#answer(request, transport, head).then((status) => {
        const durationMs = clock.monotonic() - startMs
        onRequest?.({ route: WEB_SOCKET_PATH, method: 'GET', status, durationMs })
      })
    })
  }

  /** Ends what is left without a close frame. */
  cut(): void {
    for (const transport of this.#transports) transport.destroy()
  }

  /** The status of the answer. */
  async #answer(request: IncomingMessage, transport: Socket, head: Buffer): Promise<number> {
    const { requests, makeRequestId } = this.#options
    const requestId = makeRequestId()
    const headers: Record<string, string> = { 'x-request-id': requestId }
    try {
      refuseWhileClosing(this.#options)
      await this.#options.started
      this.#opening ??= openSocketServer()
      const [server, caller] = await Promise.all([this.#opening, callerOf(this.#options, request)])
      refuseWhileClosing(this.#options)
      if (caller !== null) {
        await takeRequest(requests, caller.accountId, (name, value) => {
          headers[name] = value
        })
      }
      const shaking = { request, transport, head, headers }
      if (caller === null) {
        const socket = await shakeHands(server, shaking)
        socket.close(CLOSE_CODES.unauthorized, 'the API key is missing, unknown or revoked')
      } else await this.#admit(server, shaking, { transport, caller, requestId })
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
    }: Pick<Shaking, 'headers' | 'transport'> & { requestId: string },
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

  async #admit(
    server: WebSocketServer,
    shaking: Shaking,
    entering: Omit<Entering, 'socket' | 'place'>,
  ): Promise<void> {
    const { transport } = shaking
    const place = await this.#options.readers.takePlace('socket', entering.caller.accountId)
    // With whoever has gone, meanwhile or in it, the handshake does not end.
    if (transport.destroyed) place?.release()
    transport.once('close', () => place?.release())
    try {
      refuseWhileClosing(this.#options)
      const socket = await shakeHands(server, shaking)
      if (place !== null) return this.#enter({ ...entering, socket, place })
      const most = `an account has at most ${SOCKETS_PER_ACCOUNT_MAX} connections`
      socket.close(CLOSE_CODES.tooManyConnections, most)
    } catch (error) {
      place?.release()
      throw error
    }
  }

  #enter({ socket, transport, caller, requestId, place }: Entering): void {
    const { accountId, keyId, session: came } = caller
    const { readers } = this.#options
    const session = new Session(this.#options, {
      socket,
      transport,
      accountId,
      requestId,
      onEnd: () => {
        readers.remove(reader)
        this.#leave(session)
      },
    })
    const reader: EventReader = {
      accountId,
      keyId,
      session: came,
      kind: 'socket',
      place,
      end: (reason) => session.close(ENDS[reason].code, ENDS[reason].reason),
    }
    this.#sessions.add(session)
    this.#watchLiveness()
    readers.add(reader)
  }

  #leave(session: Session): void {
    this.#sessions.delete(session)
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #watchLiveness(): void {
    const { patience = DEFAULT_PATIENCE } = this.#options
    this.#timer ??= setInterval(() => {
      for (const session of this.#sessions) session.liveness.look(patience)
    }, patience.tickMs).unref()
  }
}

const ENDS = {
  closing: { code: CLOSE_CODES.shuttingDown, reason: 'the service is shutting down' },
  revoked: { code: CLOSE_CODES.unauthorized, reason: 'the API key was revoked' },
}

/** For the server's `shouldUpgradeCallback`: whether this is a request to open a WebSocket. */
export function isSocketRequest({ method, url = '', headers }: IncomingMessage): boolean {
  const isHere = method === 'GET' && url.split('?', 1)[0] === WEB_SOCKET_PATH
  return isHere && headers.upgrade?.trim().toLowerCase() === 'websocket'
}

type KeyCaller = Extract<Caller, { kind: 'key' }>

type Entering = {
  readonly socket: WebSocket
  readonly transport: Socket
  readonly caller: KeyCaller
  readonly requestId: string
  readonly place: HeldSlot
}

function refuseWhileClosing({ isClosing }: SocketDoorOptions): void {
  if (isClosing()) throw new AppError('service_unavailable', 'The service is shutting down.')
}

/** Null when the credential is missing or not good; rejects where nothing was decided about it. */
async function callerOf(
  { identify, clientOf }: Pick<SocketDoorOptions, 'identify' | 'clientOf'>,
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

/** For clients that cannot set headers, such as browsers. */
function authorizationOf(url: string): string | undefined {
  const token = new URLSearchParams(url.split('?')[1] ?? '').get('token')
  return token === null ? undefined : `Bearer ${token}`
}

/** From a close of ours to the end of a connection whose client does not answer it. */
const SOCKET_CLOSE_MS = 5 * SECOND_MS

/** The library is some 20 modules, which a service without WebSockets need not load. */
export async function openSocketServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws')
  // Apart from the call: its types do not know `closeTimeout` yet.
  const options = {
    noServer: true,
    clientTracking: false,
    // To a client that takes in nothing no answers are added.
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

export type Shaking = {
  readonly request: IncomingMessage
  readonly transport: Socket
  readonly head: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** A handshake that the library refuses; which version would do is told (RFC 6455 §4.4). */
function malformed(message: string, version: string | undefined): AppError {
  const isKnown = version !== undefined && VERSIONS.includes(version)
  return new AppError('bad_request', `${message}.`, {
    fix: 'Connect with a WebSocket client, which makes this request by itself.',
    headers: isKnown ? {} : { 'sec-websocket-version': VERSIONS.join(', ') },
  })
}

const VERSIONS = ['13', '8']

/** Apart from the handshake, of which nothing is to be held for as long as the connection lasts. */
function ignore(): void {}

/** Never settles for a client that has gone. */
export function shakeHands(
  server: WebSocketServer,
  { request, transport, head, headers }: Shaking,
): Promise<WebSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>()
  const version = request.headers['sec-websocket-version']
  handshakes.set(request, {
    headers,
    refuse: ({ message }) => reject(malformed(message, version)),
  })
  server.handleUpgrade(request, transport, head, (socket) => {
    // What is wrong with frames closes the connection with a code of its own.
    socket.on('error', ignore)
    resolve(socket)
  })
  return promise
}
