// The operators' port, which serves only health, readiness and metrics, even without the API.

import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientGroup, plainAddress } from '@mailroom/smtp/client-address.ts'
import { bearerToken, digest } from '#accounts/keys/keys.ts'
import type { RateWindow } from '#limits/limits.ts'
import type { Log } from '#platform/log.ts'
import { AppError, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'

const SERVICE_CONNECTIONS_MAX = 50
const SERVICE_REQUEST_MS_MAX = 5 * SECOND_MS
/** Time limit of a connection without traffic; longer than a scrape of the metrics takes. */
const SERVICE_SILENCE_MS_MAX = 15 * SECOND_MS

export type ServicePortOptions = {
  readonly host: string
  /** Port 0 selects a free port. */
  readonly port: number
  /** The token for `/metrics`; null hides the path. */
  readonly operatorToken: string | null
  readonly failures: RateWindow
  readonly findObstacle: () => Promise<string | null>
  readonly renderMetrics: () => Promise<{ contentType: string; body: string }>
  readonly log: Log
}

export type ServicePort = {
  readonly port: number
  /** Closes immediately, without waiting for requests. */
  close(): Promise<void>
}

/** Rejects if the port cannot be bound. */
export async function openServicePort(options: ServicePortOptions): Promise<ServicePort> {
  const server = createServer(
    {
      headersTimeout: SERVICE_REQUEST_MS_MAX,
      requestTimeout: SERVICE_REQUEST_MS_MAX,
      connectionsCheckingInterval: SERVICE_REQUEST_MS_MAX,
    },
    (request, response) => {
      answer(options, request)
        .catch((error) => answerTo(error, options.log))
        .then((made) => send(response, made))
        .catch(() => response.destroy())
    },
  )
  server.maxConnections = SERVICE_CONNECTIONS_MAX
  // A client that does not read its answer must not keep its connection.
  server.timeout = SERVICE_SILENCE_MS_MAX
  await listen(server, options)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function listen(server: Server, { host, port }: ServicePortOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

type Answer = {
  status: number
  headers?: Record<string, string>
  /** Text is sent unchanged, and any other value as JSON. */
  body: string | object
}

async function answer(options: ServicePortOptions, request: IncomingMessage): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return {
      status: 405,
      headers: { allow: 'GET, HEAD' },
      body: { error: 'method_not_allowed' },
    }
  }
  switch (request.url) {
    case '/health':
      return { status: 200, body: { status: 'ok' } }
    case '/ready': {
      const obstacle = await options.findObstacle()
      return obstacle === null ? { status: 200, body: { status: 'ready' } } : unavailable(obstacle)
    }
    case '/metrics':
      return answerMetrics(options, request)
    default:
      return NOT_FOUND
  }
}

const NOT_FOUND: Answer = { status: 404, body: { error: 'not_found' } }

function unavailable(message: string): Answer {
  return {
    status: 503,
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    body: { error: 'service_unavailable', message },
  }
}

async function answerMetrics(
  { operatorToken, failures, renderMetrics }: ServicePortOptions,
  { headers, socket }: IncomingMessage,
): Promise<Answer> {
  if (operatorToken === null) return NOT_FOUND
  const token = bearerToken(headers.authorization)
  if (token !== null && timingSafeEqual(digest(token), digest(operatorToken))) {
    const { contentType, body } = await renderMetrics()
    return { status: 200, headers: { 'content-type': contentType }, body }
  }
  const allowance = await failures.take(clientGroup(plainAddress(socket.remoteAddress)))
  return allowance.isAllowed
    ? { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: { error: 'unauthorized' } }
    : {
        status: 429,
        headers: { 'retry-after': String(Math.max(1, allowance.resetSeconds)) },
        body: { error: 'rate_limit_exceeded' },
      }
}

function answerTo(error: unknown, log: Log): Answer {
  // While the database is down, wrong tokens cannot be limited.
  if (error instanceof AppError && error.code === 'service_unavailable') {
    return unavailable(error.message)
  }
  log.error({ error }, 'metrics could not be collected')
  return { status: 500, body: { error: 'internal_error' } }
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const isText = typeof body === 'string'
  const text = isText ? body : JSON.stringify(body)
  response.writeHead(status, {
    ...(!isText && { 'content-type': 'application/json' }),
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(response.req.method === 'HEAD' ? undefined : text)
}
