// Error responses to malformed or too slow requests, which the HTTP parser refuses before the framework sees them.
// Their body has the form of every other error.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type Problem, problemOf } from './problems.ts'

type ClientErrors = {
  /** For the server's 'clientError' event: responds where the client can still read it, and disconnects. */
  answer(error: Error, socket: Socket): void
  /** Notes requests and responses, so that no error is written in the place of another response. */
  watch(app: FastifyInstance): void
}

/** One for a server; `watch` must be called before it listens. */
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
      // Whoever reads its body gets the error; the rest is dropped.
      if (request.listenerCount('error') > 0) request.emit('error', error)
      request.resume()
    },
    watch(app) {
      const { server } = app
      server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        latest.set(request.socket, { request, response })
      })
      // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1).
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        server.emit('request', request, response)
      })
    },
  }
}

/** Writes a response without the HTTP server and ends the connection. */
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

/** A refused client gets no more time. */
const LINGER_MS = 2 * SECOND_MS

/**
 * Reads and drops what the client still sends until it closes: closing over unread octets would reset the connection,
 * and the client might lose the answer (RFC 9112 §9.6).
 */
function linger(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer)).resume()
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse }

/**
 * Whether the client would relate a response to the request that failed. After a complete request, its response
 * must have been sent; within a request, its response must not have begun.
 */
function canAnswer(latest: Exchange | undefined): boolean {
  if (!latest) return true
  const { request, response } = latest
  return request.complete ? response.writableFinished : !response.headersSent
}

function isReset(error: Error): boolean {
  return 'code' in error && error.code === 'ECONNRESET'
}

/** Fields of which Node reads the first, while a proxy before it may have read another. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set(['authorization', 'host'])

/** Throws `bad_request`. */
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
