// The door for programs: an HTTP server made of the contract and a table of handlers. Knows HTTP,
// time limits and the form of errors; what a request means is the handlers' affair.

import type { Server } from 'node:http'
import { type AddressInfo, BlockList } from 'node:net'
import { MAILBOX } from '@mailroom/contract/shapes/text.ts'
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { Identifier } from '#accounts/identify.ts'
import type { Authenticate } from '#accounts/key.ts'
import type { Sessions } from '#accounts/session.ts'
import { addConsole, type ConsolePort } from '#api/console/console-routes.ts'
import { addMcpPath } from '#api/mcp/mcp-door.ts'
import { sendJson } from '#http/answer.ts'
import { type AnswerBounds, AnswerBudget } from '#http/answer-budget.ts'
import { clientErrors } from '#http/client-errors.ts'
import { type ClientOf, openClientOf } from '#http/client-of.ts'
import { bodyBudget, JSON_BODY_BYTES_MAX } from '#http/collect-body.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { Handlers } from '#http/handler.ts'
import { type Problem, problemOf } from '#http/problems.ts'
import { acceptBodies } from '#http/read-body.ts'
import type { Clock } from '#platform/clock.ts'
import { checkEmailAddress } from '#platform/email-address.ts'
import type { Log } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { silentTracing, type Tracing } from '#platform/telemetry/tracing.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import {
  addWebSocketPath,
  isWebSocketRequest,
  type SocketTimeouts,
  WebSocketEndpoint,
} from '#streams/websocket-endpoint.ts'
import { descriptionHandlers } from './description.ts'
import type { PathVisibility } from './known-paths.ts'
import type { DoorPorts } from './ports.ts'
import { addRoutes, type RouteOptions } from './route.ts'
import { sessionHandlers } from './session-handlers.ts'
import { watchSilentConnections } from './silent-connections.ts'
import { routeOf, traceRequests } from './trace-requests.ts'
import { unknownRoute } from './unknown-route.ts'

/** Bodies over JSON_BODY_BYTES_MAX that come in or wait for a turn; past it further ones are put off. */
const LARGE_BODIES_BYTES_MAX = 256 * 1024 * 1024
/** Headers of a request arrive in one or two packets; a client that takes longer is a slow-loris. */
const REQUEST_HEAD_MS_MAX = 20 * SECOND_MS
/** How often slow clients are looked for; it adds to the two times above. */
const SLOW_CLIENT_CHECK_MS = SECOND_MS
const KEEP_ALIVE_MS = 30 * SECOND_MS
/** Existing clients put file names of any length into paths; find-my-way's default is 100. */
export const PATH_PARAMETER_LENGTH_MAX = 4 * 1024
const REQUEST_MS_MAX = 60 * SECOND_MS

/** How long a client may take in nothing of an answer before it is cut. */
const ANSWER_IDLE_MS_MAX = 30_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it is; IPv4-mapped IPv6 is reduced to IPv4. */
    clientAddress: string
  }
}

/** What is told about each request once its answer is sent. */
export type RequestSeen = {
  /** The operation's path with `{name}` for parameters; `unknown` where none was reached. */
  readonly route: string
  readonly method: string
  readonly status: number
  readonly durationMs: number
}

export type HttpServerOptions = {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Others may listen on the same port. */
  readonly reusePort?: boolean
  /** Requests wait for it, but for those about the service itself. */
  readonly started: Promise<void>
  readonly handlers: Handlers
  readonly ports: DoorPorts
  /** Those that the handlers know, too. */
  readonly readers: EventReaders
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  /** Null: there is none at this door. */
  readonly console: ConsolePort | null
  /** Opens `/admin` and `/metrics`; undefined hides them. */
  readonly operatorToken: string | undefined
  /** Base of absolute URLs, for the API description; the port may be known only after the start. */
  readonly publicUrl: () => string
  readonly clock: Clock
  readonly makeRequestId: () => string
  readonly log: Log
  readonly budgets: Budgets
  readonly limits: { readonly apiPerMinute: number; readonly failedAuthPerMinute: number }
  /** Octets of large bodies at once, fewer in tests. */
  readonly largeBodiesBytesMax?: number
  /** Octets of unread answers, fewer in tests. */
  readonly unreadBytes?: AnswerBounds
  /** Proxies whose word on who the client is counts; none when left out. */
  readonly trustedProxies?: BlockList
  /** Time limits in milliseconds, shorter in tests. */
  readonly patience?: {
    readonly requestMs: number
    readonly headMs: number
    /** Without a byte of an answer taken in. */
    readonly idleMs?: number
    /** Of WebSockets. */
    readonly socket?: SocketTimeouts
  }
  readonly onRequest?: (seen: RequestSeen) => void
  readonly tracing?: Tracing
}

export type HttpServer = {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly address: string
  readonly port: number
  /**
   * Takes no new connection, lets requests under way finish for up to `drainMs` milliseconds, then
   * cuts what is left. A second call waits for the same end.
   */
  close(drainMs: number): Promise<void>
  /** Ends connections whose key was revoked elsewhere; runs by itself every KEY_CHECK_MS. */
  checkKeys(): Promise<void>
  readonly app: FastifyInstance
}

/** Resolves once the port is bound; rejects when it cannot be. */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const state: DoorState = { isClosing: false }
  const clientOf = openClientOf(options.trustedProxies ?? new BlockList())
  const routes = routeOptions(options)
  const sockets = new WebSocketEndpoint({
    ...options,
    ...routes,
    clientOf,
    isClosing: () => state.isClosing,
    patience: options.patience?.socket,
  })
  const app = buildApp(options, { state, routes, clientOf })
  sockets.attach(app.server)
  const silent = watchSilentConnections(app.server)
  // The framework's types do not know `reusePort`, which it hands on.
  const place = { host: options.host, port: options.port, reusePort: options.reusePort === true }
  await app.listen(place)
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

type DoorState = { isClosing: boolean }

const MINUTE_MS = 60_000

type DoorParts = {
  readonly state: DoorState
  readonly routes: RouteOptions
  readonly clientOf: ClientOf
}

function buildApp(options: HttpServerOptions, parts: DoorParts): FastifyInstance {
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
    // The framework's own HEAD routes make the whole body to learn its length.
    exposeHeadRoutes: false,
    // The look for slow clients comes every `checkMs`, so the limits are drawn in by two of them.
    requestTimeout: patience.requestMs - 2 * checkMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: patience.headMs,
      connectionsCheckingInterval: checkMs,
      // Node's own refusal has no body.
      requireHostHeader: false,
      // What asks for another protocol is a request like others (RFC 9110 §7.8).
      shouldUpgradeCallback: isWebSocketRequest,
    },
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refused.answer(error, socket),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: PATH_PARAMETER_LENGTH_MAX },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        // Bounded by JSON_VALUES_MAX: a value breaks a few keywords at most.
        allErrors: true,
        verbose: true,
        strict: false,
      },
      onCreate: (ajv) => {
        ajv.addKeyword({
          keyword: MAILBOX,
          type: 'string',
          errors: false,
          validate: (_: unknown, text: string) => checkEmailAddress(text) === null,
        })
      },
    },
    schemaController: { compilersFactory: { buildSerializer: () => () => JSON.stringify } },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
      return sendProblem(reply, problemOf(error, request.id))
    },
  })
  refused.watch(app)
  traceRequests(app, options.tracing ?? silentTracing)
  addCommonHooks(app, options, parts)
  routes.answers.watch(app, options.patience?.idleMs ?? ANSWER_IDLE_MS_MAX)
  acceptBodies(app)
  addRoutes(app, routes)
  addWebSocketPath(app)
  addMcpPath(app, { ...routes, publicUrl: options.publicUrl, clock: options.clock })
  if (options.console !== null) addConsole(app, options.console)
  return app
}

function routeOptions(options: HttpServerOptions): RouteOptions {
  const { budgets, limits, publicUrl, sessions, readers } = options
  const windowMs = MINUTE_MS
  const failing = { name: 'failures', limit: limits.failedAuthPerMinute, windowMs }
  const failures = budgets.openWindow(failing)
  const { identify, signIn } = new Identifier({ ...options, failures })
  const { isSandbox } = options.ports
  return {
    handlers: {
      ...options.handlers,
      ...descriptionHandlers(publicUrl),
      ...sessionHandlers({ signIn, sessions, readers, publicUrl, isSandbox }),
    },
    identify,
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
  { state, clientOf }: DoorParts,
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
      // RFC 9112 §3.2.
      throw new AppError('bad_request', 'The request has no Host header.')
    }
    if (request.is404) throw unknownRoute(request.raw.url ?? '', reply, visibility)
    if (!request.routeOptions.config.operationId?.startsWith('service.')) await options.started
  })
  app.addHook('onSend', async (_request, reply) => {
    // A connection kept open by a closing server would hold up its end.
    if (state.isClosing) reply.header('connection', 'close')
    // After a refused body the framework hangs up, and the client, still writing, would see a reset
    // instead of the answer. The rest is read and dropped; the request's time limit bounds it.
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
    throw unknownRoute(request.raw.url ?? '', reply, visibility)
  })
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, request.id)
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

function sendProblem(reply: FastifyReply, { status, headers, body }: Problem): FastifyReply {
  // A list that failed before its first byte was sent may have been going to be compressed.
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
