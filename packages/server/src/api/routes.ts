// One route for each operation: it identifies the caller, counts the request, checks the input, calls the handler
// and sends the result.

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
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import type { EventPorts } from '#streams/streams.ts'
import { hashRequest, readIdempotencyKey } from './idempotency.ts'
import { type CheckedInput, type CompileSchema, readInput, type Validator } from './read-input.ts'

/**
 * A handler of any operation; only its own route can call it with the right arguments. Those of the server itself
 * may check parts of the body.
 */
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
    idempotencyKey: string | null
  }
}

/** Adds every operation of the contract; call it once, before the server listens. */
export function addRoutes(app: FastifyInstance, options: RouteOptions): void {
  const compile = schemaCompiler()
  app.decorateRequest('caller', null)
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
        // A client may send the type of a body that this operation does not read.
        if (!operation.body && !operation.upload) delete request.raw.headers['content-type']
        // Before anything is read, looked up or counted.
        if (operation.method !== 'GET') options.ports.requireRoom?.()
        await admit(operation, options, request, reply)
        options.answers.requireRoom(request)
        const payer = payerOf(request.caller)
        if (operation.method !== 'GET' && payer !== null) options.ports.requireRoom?.(payer)
        if (operation.isOfSandbox && !options.ports.isSandbox()) throw notFound()
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
        const input = inputOf(request, operationId, compileSchema)
        const context = Object.assign(contextOf(request, reply, options), once?.context)
        // The schema that checked the values is also the source of the handler's types.
        const result = await handler(input as never, context as never, compileSchema)
        if (once === null) return answer(reply, operation, result, options)
        const { isReplay, body } = result as Once<unknown>
        return answer(reply, operation, isReplay ? asReplay(reply, body) : body, options)
      },
    })
  }
}

/** RFC 8259 §8.1: JSON is in UTF-8, of which ASCII is a part. */
function requireUtf8({ headers }: FastifyRequest): void {
  const found = /^application\/json\s*;.*?charset="?([^\s;"]*)/i.exec(headers['content-type'] ?? '')
  if (found === null || /^(?:utf-?8|us-ascii)$/i.test(found[1] ?? '')) return
  throw new AppError('unsupported_media_type', 'JSON must be in UTF-8.', {
    fix: 'Send the body in UTF-8, without a charset or with charset=utf-8.',
  })
}

/** Reserves memory for the request's body; the response releases it. */
function holdBody(request: FastifyRequest, reply: FastifyReply, bodies: BodyBudget): void {
  const hold = bodies.open(payerOf(request.caller) ?? undefined)
  request.bodyHold = hold
  finished(reply.raw, () => hold.release())
}

/** What an operation without a body asks is in its path. */
const NO_BODY = { kind: 'json', value: {} } as const

type Earlier = {
  readonly context: { readonly idempotencyKey: string; readonly requestHash: Uint8Array }
  /** Null when there was no request with this key. */
  readonly replay: unknown
}

/** Looks for an earlier request with this key, before the body is checked. Null without idempotency keys. */
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
  // Reading, hashing and decoding a large body take long: other requests run in between.
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
  const caller = await identify(operation.auth, {
    authorization: request.headers.authorization,
    clientAddress: request.clientAddress,
    isSigned: isSigned(request.query),
    headers: request.headers,
    isReading: operation.method === 'GET',
  })
  request.caller = caller
  const payer = payerOf(caller)
  if (!operation.isRateLimited || payer === null) return
  await takeRequest({ requests, clock }, payer, (name, value) => reply.header(name, value))
}

function isSigned(query: unknown): boolean {
  if (typeof query !== 'object' || query === null) return false
  return 'signature' in query || 'expires' in query
}

function inputOf(
  request: FastifyRequest,
  operationId: OperationId,
  compile: CompileSchema,
): CheckedInput {
  const raw = {
    path: request.params as Record<string, string>,
    query: request.query as Record<string, unknown>,
    body: bodyOf(request),
  }
  try {
    return readInput(operationId, raw, compile)
  } catch (error) {
    const isMalformed = error instanceof AppError && error.code === 'bad_request'
    // The service signs no malformed URL.
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
    // Made only on demand: few handlers read them, and many requests wait.
    get headers() {
      // Without the credentials, so that no handler can log them.
      const { authorization: _, cookie: __, ...headers } = request.headers
      if (!wantsContent) delete headers.range
      return headers
    },
    wantsContent,
    takeSlot: (kind = 'read') => answers.takeSlot(request, reply, kind),
    onGone(listener) {
      // A response within the process has no socket, and is never `writableFinished`.
      let wasAnswered = reply.raw.writableFinished
      reply.raw.once('finish', () => {
        wasAnswered = true
      })
      const tell = () => listener(wasAnswered)
      if (reply.raw.closed) tell()
      else reply.raw.once('close', tell)
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
  return Object.assign(context, { accountId, keyId, actor, session, isSigned: false })
}

/** Compiles each schema once, on first use. */
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

/** The server calls these before it reads a request's body, and for WebSockets. */
export type RequestPorts = EventPorts & {
  /**
   * Body of the answer to an earlier request with this key, or null. Rejects with
   * `idempotency_key_reused` when that request was different.
   */
  findReplay(asked: {
    readonly accountId: string
    readonly key: string
    readonly requestHash: Uint8Array
  }): Promise<unknown>
  /**
   * Throws `service_unavailable` when the store is too slow for the writes of all accounts or of this payer. Called
   * for requests that change something.
   */
  requireRoom?(payer?: string): void
  /** Whether mail goes to the sandbox; otherwise the sandbox's routes look as if they did not exist. */
  isSandbox(): boolean
}
