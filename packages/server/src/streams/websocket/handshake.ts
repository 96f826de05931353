// The request that opens a WebSocket, by the library that knows its frames: what is answered to a good
// one, and what is wrong with another.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket, WebSocketServer } from 'ws'
import { AppError } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'

/** What a client of a WebSocket may send: subscriptions of a few hundred inboxes fit. */
export const SOCKET_FRAME_BYTES_MAX = 64 * 1024
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
