// One route per operation: authentication, limits, input checks, the handler and its result.

import { finished } from 'node:stream'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Operation } from '@mailroom/contract/operation.ts'
import { type OperationId, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { TObject } from '@mailroom/contract/schema.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, type Identify, payerOf } from '#accounts/keys/keys.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { answer, isContentWanted } from '#http/answer.ts'
import type { AnswerBudget } from '#http/answer-budget.ts'
import type { BodyBudget } from '#http/collect-body.ts'
import type { Context, Once } from '#http/handler.ts'
import { takeRequest } from '#http/problems.ts'
import type { ReadBody } from '#http/read-body.ts'
import type { RateWindow } from '#limits/limits.ts'
import type { Grant } from '#oauth/oauth.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, problem } from '#platform/problem.ts'
import type { EventPorts } from '#streams/streams.ts'
import { hashRequest, readIdempotencyKey } from './idempotency.ts'
import { IGNORED_HEADER, ignoredNames, ignoredParameters } from './query-names.ts'
import { type CheckedInput, type CompileSchema, readInput, type Validator } from './read-input.ts'

/** Only a handler's own route has its argument types. Some handlers also compile schemas. */
export type AnyHandler = (input: never, context: never, compile: CompileSchema) => unknown

export type RouteOptions = {
  readonly handlers: Readonly<Record<OperationId, AnyHandler>>
  readonly identify: Identify
  readonly requests: RateWindow
  readonly clock: Clock
  readonly bodies: BodyBudget
  readonly answers: AnswerBudget
  readonly ports: RequestPorts
  readonly log: Log
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operationId?: OperationId
    operation?: Operation
  }
  interface FastifyRequest {
    caller: Caller | null
    /** Set only for calls within the process, by the tools of a connection. */
    grant: Grant | null
    idempotencyKey: string | null
  }
}

/** Must be called once, before the server listens. */
export function addRoutes(app: FastifyInstance, options: RouteOptions): void {
  const compile = schemaCompiler()
  app.decorateRequest('caller', null)
  app.decorateRequest('grant', null)
  app.decorateRequest('idempotencyKey', null)
  app.decorateRequest('bodyHold', null)
  for (const operationId of operationIds) {
    const operation = operationOf(operationId)
    const handler = options.handlers[operationId]
    app.route({
      method: operation.method === 'GET' ? ['GET', 'HEAD'] : operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operationId, operation },
      onRequest: async (request, reply) => {
        // The operation ignores a body, so its media type must not be refused.
        if (!operation.body && !operation.upload) delete request.raw.headers['content-type']
        // Checked before any query and any rate limit.
        if (operation.method !== 'GET') options.ports.requireRoom?.()
        await admit(operation, options, request, reply)
        options.answers.requireRoom(request)
        const payer = payerOf(request.caller)
        if (operation.method !== 'GET' && payer !== null) options.ports.requireRoom?.(payer)
        if (operation.needsIdempotencyKey) request.idempotencyKey = readIdempotencyKey(request.raw)
        if (operation.body) {
          requireUtf8(request)
          holdBody(request, reply, options.bodies)
        }
      },
      handler: async (request, reply) => {
        const once = await findEarlier(request, operationId, options.ports)
        if (once?.replay) return answer(reply, operation, asReplay(reply, once.replay), options)
        const compileSchema = (schema: TObject) => compile(request, schema)
        const input = inputOf(request, reply, { operationId, compile: compileSchema })
        await request.grant?.requireReach(operationId, input)
        const context = Object.assign(contextOf(request, reply, options), once?.context)
        // The handler's types come from the schema that checked these values.
        const result = await handler(input as never, context as never, compileSchema)
        if (once === null) return answer(reply, operation, result, options)
        const { isReplay, body } = result as Once<unknown>
        return answer(reply, operation, isReplay ? asReplay(reply, body) : body, options)
      },
    })
  }
}

/** RFC 8259 §8.1: JSON is in UTF-8, which includes ASCII. */
function requireUtf8({ headers }: FastifyRequest): void {
  const found = /^application\/json\s*;.*?charset="?([^\s;"]*)/i.exec(headers['content-type'] ?? '')
  if (found === null || /^(?:utf-?8|us-ascii)$/i.test(found[1] ?? '')) return
  throw new AppError('unsupported_media_type', 'JSON must be in UTF-8.', {
    fix: 'Send the body in UTF-8, without a charset or with charset=utf-8.',
  })
}

function holdBody(request: FastifyRequest, reply: FastifyReply, bodies: BodyBudget): void {
  const hold = bodies.open(payerOf(request.caller) ?? undefined)
  request.bodyHold = hold
  finished(reply.raw, () => hold.release())
}

const NO_BODY = { kind: 'json', value: {} } as const

type Earlier = {
  readonly context: { readonly idempotencyKey: string; readonly requestHash: Uint8Array }
  readonly replay: unknown
}

/** Called before the body is checked. Null for an operation without idempotency keys. */
async function findEarlier(
  request: FastifyRequest,
  operationId: OperationId,
  ports: RequestPorts,
): Promise<Earlier | null> {
  const { caller, idempotencyKey } = request
  const body = bodyOf(request)
  const { operation } = request.routeOptions.config
  const hasBody = body !== undefined || operation?.body === undefined
  if (body?.kind === 'upload') return null
  if (idempotencyKey === null || caller?.kind !== 'key' || !hasBody) return null
  const path = request.params as Record<string, string>
  // Other requests run between parsing and hashing, because both take long for a large body.
  await yieldToOthers()
  const requestHash = hashRequest({ operationId, path, body: body ?? NO_BODY })
  const { accountId } = caller
  const replay = await ports.findReplay({ accountId, key: idempotencyKey, requestHash })
  await yieldToOthers()
  return { context: { idempotencyKey, requestHash }, replay }
}

function asReplay<Body>(reply: FastifyReply, body: Body): Body {
  reply.header('idempotency-replayed', 'true')
  return body
}

function bodyOf(request: FastifyRequest): ReadBody | undefined {
  return request.body as ReadBody | undefined
}

async function admit(
  operation: Operation,
  { identify, requests, clock }: RouteOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const caller = await callerOf(operation, identify, request)
  request.caller = caller
  const payer = payerOf(caller)
  if (!operation.isRateLimited || payer === null) return
  await takeRequest({ requests, clock }, payer, (name, value) => reply.header(name, value))
}

async function callerOf(
  operation: Operation,
  identify: Identify,
  { grant, headers, clientAddress, query, routeOptions }: FastifyRequest,
): Promise<Caller> {
  if (grant !== null) {
    grant.requireScope(routeOptions.config.operationId)
    return { kind: 'key', accountId: grant.accountId, keyId: grant.keyId, session: null }
  }
  return identify(operation.auth, {
    authorization: headers.authorization,
    clientAddress,
    isSigned: isSigned(query),
    headers,
    isReading: operation.method === 'GET',
  })
}

function isSigned(query: unknown): boolean {
  if (typeof query !== 'object' || query === null) return false
  return 'signature' in query || 'expires' in query
}

function inputOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { operationId, compile }: { operationId: OperationId; compile: CompileSchema },
): CheckedInput {
  const raw = {
    path: request.params as Record<string, string>,
    query: request.query as Record<string, unknown>,
    body: bodyOf(request),
  }
  try {
    const ignored = ignoredParameters(operationId, raw.query)
    if (ignored.length > 0) reply.header(IGNORED_HEADER, ignoredNames(ignored))
    return readInput(operationId, raw, compile)
  } catch (error) {
    const isMalformed = error instanceof AppError && error.code === 'bad_request'
    // The service never signs a malformed URL.
    if (isMalformed && request.caller?.kind === 'signed') throw problem('invalid_signature')
    throw error
  }
}

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { answers }: RouteOptions,
): Context {
  const { caller } = request
  const wantsContent = isContentWanted(request)
  const context: Context = {
    requestId: request.id,
    clientAddress: request.clientAddress,
    // Built on use, because few handlers use the headers and many requests may wait.
    get headers() {
      // No handler can log credentials.
      const { authorization: _, cookie: __, ...headers } = request.headers
      if (!wantsContent) delete headers.range
      return headers
    },
    wantsContent,
    takeSlot: (kind = 'read') => answers.takeSlot(request, reply, kind),
    onGone(listener) {
      // An injected request's response has no socket and is never `writableFinished`.
      let wasAnswered = reply.raw.writableFinished
      reply.raw.once('finish', () => {
        wasAnswered = true
      })
      const close = () => listener(wasAnswered)
      if (reply.raw.closed) close()
      else reply.raw.once('close', close)
    },
  }
  if (caller?.kind === 'signed') return Object.assign(context, { isSigned: true })
  if (caller?.kind === 'session') return Object.assign(context, { signedIn: caller.signedIn })
  if (caller?.kind === 'approver') {
    const { accountId, approverId } = caller
    const actor: Actor = { kind: 'approver', approverId }
    return Object.assign(context, { accountId, approverId, actor, isSigned: false })
  }
  if (caller?.kind !== 'key') return context
  const { accountId, keyId, session } = caller
  const actor: Actor = { kind: 'key', keyId }
  const inboxIds = request.grant?.inboxIds ?? null
  return Object.assign(context, { accountId, keyId, actor, session, inboxIds, isSigned: false })
}

function schemaCompiler(): (request: FastifyRequest, schema: TObject) => Validator {
  const compiled = new Map<TObject, Validator>()
  return (request, schema) => {
    const known = compiled.get(schema)
    if (known) return known
    const validator: Validator = request.compileValidationSchema(schema)
    compiled.set(schema, validator)
    return validator
  }
}

/** Must be called before the body is received, and for WebSockets. */
export type RequestPorts = EventPorts & {
  /** Null without an earlier request. Rejects with `idempotency_key_reused` if it was different. */
  findReplay(asked: {
    readonly accountId: string
    readonly key: string
    readonly requestHash: Uint8Array
  }): Promise<unknown>
  /** Called for changes. Throws `service_unavailable` if writes, or this payer's, are too slow. */
  requireRoom?(payer?: string): void
  isSandbox(): boolean
}
