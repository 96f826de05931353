// Authenticates MCP requests, applies limits and delegates to the MCP package, loaded on first use.

import { AsyncLocalStorage } from 'node:async_hooks'
import { finished, Readable } from 'node:stream'
import { type ConnectionScope, connectionScopes, MCP_PATH } from '@mailroom/contract/vocabulary.ts'
import type { McpCaller, McpEndpoint } from '@mailroom/mcp/http.ts'
import type { Restriction } from '@mailroom/tools/restriction.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { type Caller, type Identify, payerOf } from '#accounts/keys/keys.ts'
import type { AnswerBudget } from '#http/answer-budget.ts'
import { type BodyBudget, collectBody } from '#http/collect-body.ts'
import { takeRequest } from '#http/problems.ts'
import type { RateWindow } from '#limits/limits.ts'
import { type Connections, challenge, type Grant, offersOauth } from '#oauth/oauth.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, problem } from '#platform/problem.ts'
import { readStrictJson } from '#platform/strict-json.ts'

/** Models attach only small files. */
const MCP_BODY_BYTES_MAX = 4 * 1024 * 1024

type McpOptions = {
  readonly identify: Identify
  /** Null without OAuth. */
  readonly connections: Connections | null
  readonly requests: RateWindow
  readonly bodies: BodyBudget
  readonly answers: AnswerBudget
  readonly publicUrl: () => string
  readonly ports: { isSandbox(): boolean }
  readonly clock: Clock
  readonly log: Log
}

/** Must be called once, before the server listens. */
export function addMcpPath(app: FastifyInstance, options: McpOptions): void {
  const fetchFrom = injectFetch(app)
  let opening: Promise<OpenedEndpoint> | undefined
  const opened = () => {
    opening ??= openEndpoint(options)
    return opening
  }
  app.register(async (scope) => {
    acceptMessages(scope)
    scope.route({
      method: 'POST',
      url: MCP_PATH,
      bodyLimit: MCP_BODY_BYTES_MAX,
      config: { shownPath: MCP_PATH },
      onRequest: (request, reply) => admit(request, reply, options),
      handler: async (request, reply) => {
        const { endpoint, readRestriction } = await opened()
        if (request.grant !== null) {
          requireScopes(endpoint.missingScopes(request.body, request.grant.scopes), {
            granted: request.grant.scopes,
            publicUrl: options.publicUrl(),
          })
        }
        const caller: McpCaller = {
          // The API ignores this value: the call within the process carries the grant itself.
          apiKey: request.grant === null ? tokenOf(request) : 'connection',
          restriction: restrictionOf(request, readRestriction),
          isSandbox: options.ports.isSandbox(),
          fetch: fetchFrom(request),
        }
        await takeBatch(request, reply, options)
        const asked = webRequest(request, reply, options.publicUrl())
        const answer = await endpoint.answer(asked, request.body, caller)
        return send(reply, answer, options.answers)
      },
    })
  })
}

/** Names all scopes at once, so that a person has to consent only once. */
function requireScopes(
  missing: readonly ConnectionScope[],
  { granted, publicUrl }: { granted: readonly ConnectionScope[]; publicUrl: string },
): void {
  if (missing.length === 0) return
  const scopes = connectionScopes.filter((one) => granted.includes(one) || missing.includes(one))
  throw problem('forbidden', `The connection was not granted ${missing.join(' and ')}.`, {
    headers: { 'www-authenticate': challenge(publicUrl, { error: 'insufficient_scope', scopes }) },
    fix: 'Connect the assistant again and grant these scopes.',
  })
}

type OpenedEndpoint = {
  readonly endpoint: McpEndpoint
  readonly readRestriction: typeof import('@mailroom/tools/read-restriction.ts').readRestriction
}

async function openEndpoint({ publicUrl, clock, log }: McpOptions): Promise<OpenedEndpoint> {
  const [{ openMcpEndpoint }, { readRestriction }] = await Promise.all([
    import('@mailroom/mcp/http.ts'),
    import('@mailroom/tools/read-restriction.ts'),
  ])
  const endpoint = openMcpEndpoint({
    baseUrl: publicUrl(),
    now: () => clock.now(),
    onRefused: (error) => log.debug({ error }, 'An MCP message was refused.'),
    onFault: (error) => log.error({ error }, 'A tool failed.'),
  })
  return { endpoint, readRestriction }
}

/** Accepts API keys and access tokens of connections, but no approver tokens or cookies. */
async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  options: McpOptions,
): Promise<void> {
  const { bodies, answers } = options
  const caller = await callerOf(request, options)
  request.caller = caller
  await countOne(request, reply, options)
  answers.requireRoom(request)
  const hold = bodies.open(payerOf(caller) ?? undefined)
  request.bodyHold = hold
  finished(reply.raw, () => hold.release())
}

async function callerOf(
  request: FastifyRequest,
  { identify, connections, publicUrl }: McpOptions,
): Promise<Caller> {
  const { clientAddress, headers } = request
  const { authorization } = headers
  const from = { clientAddress, userAgent: headers['user-agent'] }
  const isOffered = connections !== null && offersOauth(publicUrl())
  if (isOffered && authorization !== undefined) {
    const grant = await connections.authenticate(tokenOf(request), from)
    request.grant = grant
    if (grant !== null) {
      return { kind: 'key', accountId: grant.accountId, keyId: grant.keyId, session: null }
    }
  }
  // Assistants begin without a token, and a host sends the requests of many users: not a failure.
  if (isOffered && authorization === undefined) throw unauthorized(publicUrl(), {})
  try {
    const asked = { authorization, clientAddress, isSigned: false, headers: {}, isReading: false }
    return await identify('key', asked)
  } catch (error) {
    if (!isOffered || !(error instanceof AppError) || error.code !== 'unauthorized') throw error
    throw unauthorized(publicUrl(), { error: 'invalid_token', message: error.message })
  }
}

function unauthorized(
  publicUrl: string,
  {
    message = 'The Authorization header is missing.',
    ...failed
  }: { message?: string; error?: string },
): AppError {
  return problem('unauthorized', message, {
    headers: { 'www-authenticate': challenge(publicUrl, failed) },
    fix: 'Send an API key, or connect the assistant by OAuth.',
  })
}

async function countOne(
  request: FastifyRequest,
  reply: FastifyReply,
  limits: Pick<McpOptions, 'requests' | 'clock'>,
): Promise<void> {
  if (request.caller?.kind !== 'key') throw new AppError('unauthorized', 'An API key is required.')
  await takeRequest(limits, request.caller.accountId, (name, value) => reply.header(name, value))
}

/** Older clients send several messages in one request. Each is rate-limited as a request. */
async function takeBatch(
  request: FastifyRequest,
  reply: FastifyReply,
  limits: Pick<McpOptions, 'requests' | 'clock'>,
): Promise<void> {
  if (!Array.isArray(request.body)) return
  for (const _ of request.body.slice(1)) await countOne(request, reply, limits)
}

function acceptMessages(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/json',
    async ({ headers, bodyHold }: FastifyRequest, payload: Readable) => {
      if (bodyHold === null) throw new Error('A request that was not admitted.')
      const collecting = { headers, bytesMax: MCP_BODY_BYTES_MAX, hold: bodyHold }
      const bytes = await collectBody(payload, collecting)
      await bodyHold.takeSlot()
      const read = readStrictJson(bytes)
      // A tool may take a minute, and its own API request needs a slot too.
      bodyHold.releaseSlot()
      if (read.kind === 'value') return read.value
      const { message, path } = read
      throw new AppError('bad_request', message, { details: [{ path, message }] })
    },
  )
  scope.addContentTypeParser('*', async () => {
    throw new AppError('unsupported_media_type', 'The Content-Type must be application/json.')
  })
}

function tokenOf({ headers }: FastifyRequest): string {
  return (headers.authorization ?? '').replace(/^bearer +/i, '')
}

function restrictionOf(
  request: FastifyRequest,
  read: OpenedEndpoint['readRestriction'],
): Restriction {
  const query = new URLSearchParams((request.raw.url ?? '').split('?')[1] ?? '')
  const reading = read(query)
  if (reading.kind === 'restriction') {
    const { scopes, inboxIds } = request.grant ?? reading.restriction
    return { ...reading.restriction, scopes, inboxIds }
  }
  throw new AppError('bad_request', reading.message, {
    fix: `Ask for ${MCP_PATH}, ${MCP_PATH}?inbox=<id or address>, ${MCP_PATH}?tools=core or ${MCP_PATH}?read_only=true.`,
  })
}

/** The request without its credential. Aborts when the client disconnects. */
function webRequest(request: FastifyRequest, reply: FastifyReply, publicUrl: string): Request {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    const isWanted = /^(?:accept|content-type|origin|mcp-.*)$/.test(name)
    if (isWanted && value !== undefined) headers.set(name, String(value))
  }
  return new Request(new URL(MCP_PATH, publicUrl), {
    method: 'POST',
    headers,
    signal: gone.signal,
  })
}

/** The endpoint's keep-alives prevent idle timeouts of slow responses. */
function send(reply: FastifyReply, { status, headers, body }: Response, answers: AnswerBudget) {
  reply.code(status).headers(Object.fromEntries(headers))
  reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no')
  if (body === null) return reply.send()
  return reply.send(
    Readable.from(counted(body, (bytes) => answers.force(reply.request, reply, bytes))),
  )
}

async function* counted(body: ReadableStream<Uint8Array>, count: (bytes: number) => void) {
  for await (const chunk of body) {
    count(chunk.byteLength)
    yield chunk
  }
}

type InjectFetch = (from: Pick<FastifyRequest, 'clientAddress' | 'grant'>) => typeof fetch

type Within = { readonly signal: AbortSignal | null; readonly grant: Grant | null }

/**
 * Calls this server without a connection, through the same checks as any request. Ignores the
 * origin of a URL. Call it before the server listens.
 */
function injectFetch(app: FastifyInstance): InjectFetch {
  const calls = new AsyncLocalStorage<Within>()
  app.addHook('onRequest', async (request, { raw }) => {
    const within = calls.getStore()
    if (within === undefined) return
    // A header cannot carry the grant, because a stranger could send the same header.
    request.grant = within.grant
    const { signal } = within
    if (signal === null) return
    // Simulates a disconnect, which cancels pending work.
    const hangUp = () => raw.destroy()
    signal.addEventListener('abort', hangUp, { once: true })
    raw.once('close', () => signal.removeEventListener('abort', hangUp))
  })
  return ({ clientAddress, grant }) =>
    async (input, init = {}) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input)
      const { signal = null, body } = init
      signal?.throwIfAborted()
      const asked: InjectOptions = {
        method: methodOf(init.method),
        url: `${pathname}${search}`,
        headers: Object.fromEntries(new Headers(init.headers)),
        remoteAddress: clientAddress,
        ...(body ? { payload: payloadOf(body) } : {}),
      }
      const answer = await calls.run({ signal, grant }, async () => await app.inject(asked))
      // A wait may have ended after the connection.
      if (grant !== null && !(await grant.isLive())) return Response.json(REVOKED, { status: 401 })
      const headers = new Headers()
      for (const [name, value] of Object.entries(answer.headers)) {
        for (const one of [value ?? []].flat()) headers.append(name, String(one))
      }
      const { statusCode: status, rawPayload } = answer
      return new Response(rawPayload.length === 0 ? null : new Uint8Array(rawPayload), {
        status,
        headers,
      })
    }
}

const REVOKED = { error: 'unauthorized', message: 'The connection was revoked.' }

function methodOf(method = 'GET'): 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' {
  switch (method) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
      return method
  }
  throw new TypeError(`No operation has the method ${method}.`)
}

function payloadOf(body: unknown): string | Buffer {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body)
  throw new TypeError('A body must be a text or bytes.')
}
