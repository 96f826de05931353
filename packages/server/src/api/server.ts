// The HTTP server of the API: time limits, errors and headers around the contract's routes.

import type { IncomingMessage, Server } from 'node:http'
import { type AddressInfo, BlockList, type Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { type Authenticate, Identifier } from '#accounts/keys/keys.ts'
import type { Sessions } from '#accounts/sessions/sessions.ts'
import { sendJson } from '#http/answer.ts'
import { type AnswerBounds, AnswerBudget } from '#http/answer-budget.ts'
import { clientErrors, refuseRepeatedFields } from '#http/client-errors.ts'
import { type ClientOf, openClientOf, type Proxies } from '#http/client-of.ts'
import { bodyBudget, JSON_BODY_BYTES_MAX } from '#http/collect-body.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { Handlers } from '#http/handler.ts'
import { type Problem, problemOf } from '#http/problems.ts'
import { acceptBodies } from '#http/read-body.ts'
import type { Budgets } from '#limits/limits.ts'
import { addOauthPaths, type OauthDeps } from '#oauth/oauth.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { type OpenSpan, silentTracing, type Tracing } from '#platform/telemetry/tracing.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import {
  addWebSocketPath,
  isWebSocketRequest,
  type SocketTimeouts,
  WebSocketEndpoint,
} from '#streams/streams.ts'
import { addClients } from './clients.ts'
import { watchConnections } from './connections.ts'
import { addConsole, type ConsolePort } from './console.ts'
import { descriptionHandlers } from './description.ts'
import { addDocs, openDocs } from './docs/docs.ts'
import type { DocsSite } from './docs/site.ts'
import { addMcpPath } from './mcp.ts'
import { describeMissing } from './missing-resource.ts'
import { addRoutes, type RequestPorts, type RouteOptions } from './routes.ts'
import { batchHandlers } from './send-batch.ts'
import { sessionHandlers } from './session-handlers.ts'
import { addSiteFiles, SITE_PATHS } from './site-files.ts'
import { isHidden, type PathVisibility, unknownRoute } from './unknown-route.ts'
import { VALIDATION } from './validation.ts'

/** Total of bodies over JSON_BODY_BYTES_MAX that are in memory. Further requests get 503. */
const LARGE_BODIES_BYTES_MAX = 256 * 1024 * 1024
/** Stops slow-loris clients; a request head fits into one or two packets. */
const REQUEST_HEAD_MS_MAX = 20 * SECOND_MS
const SLOW_CLIENT_CHECK_MS = SECOND_MS
const KEEP_ALIVE_MS = 30 * SECOND_MS
/** Higher than the router's default of 100, because clients put long file names into paths. */
export const PATH_PARAMETER_LENGTH_MAX = 4 * 1024
const REQUEST_MS_MAX = 60 * SECOND_MS
/** Time limit for a body that is a file. The client may be slow, but not idle. */
const UPLOAD_MS_MAX = 6 * 60 * MINUTE_MS

const ANSWER_IDLE_MS_MAX = 30 * SECOND_MS

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, with IPv4-mapped IPv6 reduced to IPv4. */
    clientAddress: string
  }
}

export type RequestSeen = {
  /** The route with `{name}` for parameters, or `unknown` if no route matched. */
  readonly route: string
  readonly method: string
  readonly status: number
  readonly durationMs: number
}

export type HttpServerOptions = {
  readonly host: string
  /** Port 0 selects a free port. */
  readonly port: number
  /** Lets other processes listen on the same port. */
  readonly reusePort?: boolean
  /** Delays all requests but health and metrics. */
  readonly started: Promise<void>
  readonly handlers: Handlers
  readonly ports: RequestPorts
  /** Must be the instance that the handlers use. */
  readonly readers: EventReaders
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly console: ConsolePort | null
  /** Null without OAuth. */
  readonly oauth: OauthDeps | null
  /** Required for `/admin` and `/metrics`; if undefined, both are hidden. */
  readonly operatorToken: string | undefined
  readonly inboxDomain: string
  /** The URL is final once the server listens. */
  readonly publicUrl: () => string
  readonly clock: Clock
  readonly makeRequestId: () => string
  readonly log: Log
  readonly budgets: Budgets
  readonly limits: { readonly apiPerMinute: number; readonly failedAuthPerMinute: number }
  readonly largeBodiesBytesMax?: number
  readonly unreadBytes?: AnswerBounds
  readonly trustedProxies?: BlockList
  readonly forwardedHeader?: Proxies['header']
  readonly connectionsMax?: number
  readonly patience?: {
    readonly requestMs: number
    readonly headMs: number
    readonly idleMs?: number
    readonly socket?: SocketTimeouts
  }
  readonly onRequest?: (seen: RequestSeen) => void
  readonly tracing?: Tracing
}

export type HttpServer = {
  readonly address: string
  readonly port: number
  /** Lets requests finish for up to `drainMs`, then destroys the connections. Idempotent. */
  close(drainMs: number): Promise<void>
  /** Ends connections whose key was revoked elsewhere. Runs every KEY_CHECK_MS. */
  checkKeys(): Promise<void>
  readonly app: FastifyInstance
}

/** Rejects if the port cannot be bound. */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const state: ServerState = { isClosing: false }
  const { trustedProxies = new BlockList(), forwardedHeader = null } = options
  const clientOf = openClientOf({ trusted: trustedProxies, header: forwardedHeader })
  const docs = openDocs(options.publicUrl)
  const routes = routeOptions(options, docs)
  const sockets = new WebSocketEndpoint({
    ...options,
    ...routes,
    clientOf,
    isClosing: () => state.isClosing,
    patience: options.patience?.socket,
  })
  const app = buildApp(options, { state, routes, clientOf, docs })
  sockets.attach(app.server)
  const { clock, connectionsMax } = options
  const silent = watchConnections(app.server, { clock, trustedProxies, connectionsMax })
  closeIdleConnections(app.server)
  // Fastify supports `reusePort`, but its types lack it.
  const address = { host: options.host, port: options.port, reusePort: options.reusePort === true }
  await app.listen(address)
  const { port } = app.server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  let closing: Promise<void> | undefined
  return {
    address: `http://${host}:${port}`,
    port,
    app,
    checkKeys: () => options.readers.check(),
    close(drainMs) {
      state.isClosing = true
      options.readers.close()
      silent.end()
      closing ??= drain(app, sockets, drainMs)
      return closing
    },
  }
}

type ServerState = { isClosing: boolean }

type ServerParts = {
  readonly state: ServerState
  readonly routes: RouteOptions
  readonly clientOf: ClientOf
  readonly docs: () => DocsSite
}

function buildApp(options: HttpServerOptions, parts: ServerParts): FastifyInstance {
  const { routes } = parts
  const { makeRequestId } = options
  const patience = options.patience ?? { requestMs: REQUEST_MS_MAX, headMs: REQUEST_HEAD_MS_MAX }
  const checkMs = Math.min(SLOW_CLIENT_CHECK_MS, patience.headMs / 4)
  const refused = clientErrors(makeRequestId)
  const app = fastify({
    logger: false,
    trustProxy: false,
    genReqId: () => makeRequestId(),
    requestIdHeader: false,
    bodyLimit: JSON_BODY_BYTES_MAX,
    // Fastify's HEAD routes build the complete body to find its length.
    exposeHeadRoutes: false,
    requestTimeout: UPLOAD_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: patience.headMs,
      connectionsCheckingInterval: checkMs,
      // Node's own refusal has no body.
      requireHostHeader: false,
      // RFC 9110 §7.8: an upgrade to another protocol may be ignored.
      shouldUpgradeCallback: isWebSocketRequest,
    },
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refused.answer(error, socket),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: PATH_PARAMETER_LENGTH_MAX },
    ajv: VALIDATION,
    schemaController: { compilersFactory: { buildSerializer: () => () => JSON.stringify } },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
      return sendProblem(reply, problemOf(error, request.id))
    },
  })
  refused.watch(app)
  limitBodies(app, patience.requestMs)
  traceRequests(app, options.tracing ?? silentTracing)
  addCommonHooks(app, options, parts)
  routes.answers.watch(app, options.patience?.idleMs ?? ANSWER_IDLE_MS_MAX)
  acceptBodies(app)
  addRoutes(app, routes)
  addWebSocketPath(app)
  const { oauth, publicUrl } = options
  addMcpPath(app, { ...routes, publicUrl, connections: oauth?.connections ?? null })
  if (oauth !== null) addOauthPaths(app, { ...oauth, identify: routes.identify })
  addSiteFiles(app, options)
  addClients(app, options.publicUrl)
  addDocs(app, options.publicUrl, parts.docs)
  if (options.console !== null) addConsole(app, options.console)
  return app
}

/** Node has one limit for all requests, and uploads need more time. */
function limitBodies(app: FastifyInstance, requestMs: number): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, headers, routeOptions } = request
    const hasBody = 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > 0
    const limit = () => {
      if (raw.complete || raw.socket.destroyed) return
      const timer = setTimeout(() => {
        const error = Object.assign(new Error('Request timeout'), { code: REQUEST_TIMEOUT })
        if (!raw.complete) app.server.emit('clientError', error, raw.socket)
      }, requestMs)
      raw.once('close', () => clearTimeout(timer))
    }
    if (hasBody && routeOptions.config.operation?.upload !== undefined)
      reply.raw.once('finish', limit)
    else if (hasBody) limit()
    done()
  })
}

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

function routeOptions(options: HttpServerOptions, docs: () => DocsSite): RouteOptions {
  const { budgets, limits, publicUrl, sessions, readers, inboxDomain } = options
  const windowMs = MINUTE_MS
  const failing = { name: 'failures', limit: limits.failedAuthPerMinute, windowMs }
  const failures = budgets.openWindow(failing)
  const { identify, signIn } = new Identifier({ ...options, failures })
  const { isSandbox } = options.ports
  return {
    handlers: {
      ...options.handlers,
      ...batchHandlers(options),
      ...descriptionHandlers(publicUrl, docs),
      ...sessionHandlers({ signIn, sessions, readers, publicUrl, isSandbox, inboxDomain }),
    },
    identify,
    clock: options.clock,
    requests: budgets.openWindow({ name: 'requests', limit: limits.apiPerMinute, windowMs }),
    bodies: bodyBudget(options.largeBodiesBytesMax ?? LARGE_BODIES_BYTES_MAX),
    answers: new AnswerBudget(options.unreadBytes),
    ports: options.ports,
    log: options.log,
  }
}

function addCommonHooks(
  app: FastifyInstance,
  options: HttpServerOptions,
  { state, clientOf }: ServerParts,
): void {
  const { log, onRequest } = options
  const visibility: PathVisibility = {
    hidesOperators: options.operatorToken === undefined,
    showsConsole: options.console !== null,
    get hidesSandbox() {
      return !options.ports.isSandbox()
    },
  }
  app.decorateRequest('clientAddress', '')
  app.addHook('onRequest', async (request, reply) => {
    request.clientAddress = clientOf(request.raw)
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    if (state.isClosing) throw new AppError('service_unavailable', 'The service is shutting down.')
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      throw new AppError('bad_request', 'The request has no Host header.')
    }
    refuseRepeatedFields(request.raw)
    if (request.is404 || isHidden(request.routeOptions.config.operation, visibility)) {
      throw unknownRoute(request.raw, reply, visibility)
    }
    const { operationId, shownPath } = request.routeOptions.config
    const isOfSite = SITE_PATHS.some((path) => path === shownPath)
    if (!isOfSite && !operationId?.startsWith('service.')) await options.started
  })
  app.addHook('onSend', async ({ raw }, reply) => {
    // A kept-alive connection would delay the shutdown.
    if (state.isClosing) {
      await restOf(raw)
      reply.header('connection', 'close')
    }
    // After a refused body, Fastify would close and reset a client that is still writing. The rest
    // of the body is drained within the request's time limit.
    else if (reply.getHeader('connection') === 'close') reply.removeHeader('connection')
  })
  app.addHook('onResponse', async (request, reply) => {
    onRequest?.({
      route: routeOf(request),
      method: request.method,
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    })
  })
  app.setNotFoundHandler((request, reply) => {
    throw unknownRoute(request.raw, reply, visibility)
  })
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(describeMissing(error, request), request.id)
    const { status, isOurs } = problem
    const fields = {
      requestId: request.id,
      operationId: request.routeOptions.config.operationId ?? null,
      status,
      error,
    }
    if (isOurs) log.error(fields, 'A request failed.')
    else if (status === 503) log.info(fields, 'A request was refused as unavailable.')
    return sendProblem(reply, problem)
  })
}

const REST_MS_MAX = 2 * SECOND_MS

/** Closing over unread octets would reset the connection (RFC 9112 §9.6). */
async function restOf(raw: IncomingMessage): Promise<void> {
  if (raw.complete) return
  const ended = Promise.withResolvers<void>()
  const timer = setTimeout(ended.resolve, REST_MS_MAX)
  raw.once('end', ended.resolve).once('close', ended.resolve).resume()
  await ended.promise
  clearTimeout(timer)
}

function sendProblem(reply: FastifyReply, { status, headers, body }: Problem): FastifyReply {
  // A list that failed before its first octet may have set this header.
  reply.removeHeader('content-encoding')
  return sendJson(reply.code(status).headers(headers), body)
}

async function drain(
  app: FastifyInstance,
  sockets: WebSocketEndpoint,
  drainMs: number,
): Promise<void> {
  const server: Server = app.server
  const cut = setTimeout(() => {
    server.closeAllConnections()
    sockets.destroy()
  }, drainMs)
  try {
    await app.close()
  } finally {
    clearTimeout(cut)
  }
}

/** After a suspension, timers run before sockets: an idle connection may have a request. */
function closeIdleConnections(server: Server): void {
  server.on('timeout', (socket: Socket) => {
    const { bytesRead } = socket
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy()
    })
  })
}

/** Probes request these every few seconds. */
const UNTRACED: ReadonlySet<string> = new Set(['/health', '/healthz', '/ready', '/metrics'])

function routeOf({ routeOptions: { config } }: FastifyRequest): string {
  return config.operation?.path ?? config.shownPath ?? 'unknown'
}

/** Continues the caller's trace. */
function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  if (!tracing.isOn) return
  const spans = new WeakMap<FastifyRequest, OpenSpan>()
  app.addHook('onRequest', (request, _reply, done) => {
    const route = routeOf(request)
    if (UNTRACED.has(route)) return done()
    const { traceparent } = request.headers
    const parent = typeof traceparent === 'string' ? traceparent : null
    const { method } = request
    const span = tracing.open(`${method} ${route}`, {
      kind: 'server',
      parent,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'mailroom.request': request.id,
      },
    })
    spans.set(request, span)
    span.within(done)
  })
  // A body's events run outside the span.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else span.within(done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request)
    span?.set({ 'http.response.status_code': reply.statusCode })
    if (reply.statusCode >= 500) span?.fail(String(reply.statusCode))
    span?.end()
    done()
  })
}
