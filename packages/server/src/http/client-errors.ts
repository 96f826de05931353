// Error responses to malformed or slow requests, which Node refuses before the framework sees them.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type Problem, problemOf } from './problems.ts'

type ClientErrors = {
  /** Handles the server's `clientError` event. */
  answer(error: Error, socket: Socket): void
  /** Records exchanges, so that `answer` can see whether a response is being written. */
  watch(app: FastifyInstance): void
}

/** Create one per server and call `watch` before it listens. */
export function clientErrors(makeRequestId: () => string): ClientErrors {
  const latest = new WeakMap<Socket, Exchange>()
  return {
    answer(error, socket) {
      if (socket.destroyed || !socket.writable) return
      const exchange = latest.get(socket)
      if (isReset(error) || !canAnswer(exchange)) {
        socket.destroy()
        return
      }
      hangUpWith(problemOf(error, makeRequestId()), socket)
      const request = exchange?.request
      if (request === undefined || request.complete) return
      if (request.listenerCount('error') > 0) request.emit('error', error)
      request.resume()
    },
    watch(app) {
      const { server } = app
      server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        latest.set(request.socket, { request, response })
      })
      // Expectations other than 100-continue may be ignored (RFC 9110 §10.1.1).
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        server.emit('request', request, response)
      })
    },
  }
}

export function hangUpWith({ status, body, headers }: Problem, socket: Socket): void {
  const text = JSON.stringify(body)
  const all: Problem['headers'] = {
    'x-request-id': body.requestId,
    'x-content-type-options': 'nosniff',
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    connection: 'close',
  }
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(all).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
  linger(socket)
}

const LINGER_MS = 2 * SECOND_MS

/** Closing with unread octets would reset the connection and lose the response (RFC 9112 §9.6). */
function linger(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer)).resume()
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

/**
 * Whether the client can match an error to the failed request. A complete request must already have
 * its response, and an incomplete request must not.
 */
function canAnswer(latest: Exchange | undefined): boolean {
  if (!latest) return true
  const { request, response } = latest
  return request.complete ? response.writableFinished : !response.headersSent
}

function isReset(error: Error): boolean {
  return 'code' in error && error.code === 'ECONNRESET'
}

/** Node uses the first of repeated fields, but a proxy may have used another. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set(['authorization', 'host'])

export function refuseRepeatedFields({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!SINGLE_FIELDS.has(name)) continue
    if (seen.has(name)) {
      throw new AppError(
        'bad_request',
        `The request has more than one ${rawHeaders[index]} header.`,
      )
    }
    seen.add(name)
  }
}
