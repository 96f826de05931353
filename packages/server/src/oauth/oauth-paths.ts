// The endpoints of OAuth. They are outside the contract, because RFCs define their fields.

import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Identify } from '#accounts/keys/keys.ts'
import type { BinaryResponse } from '#http/handler.ts'
import { limiter } from '#http/problems.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import { readStrictJson } from '#platform/strict-json.ts'
import { continueAuthorization, openAuthorization } from './authorize.ts'
import { issueTokens, registerClient, revokeByClient } from './issue-tokens.ts'
import {
  RESOURCE_METADATA_PATHS,
  resourceMetadata,
  SERVER_METADATA_PATHS,
  serverMetadata,
} from './metadata.ts'
import { OauthError, offersOauth } from './model.ts'
import type { OauthDeps } from './open-oauth.ts'
import type { From } from './record-step.ts'

const BODY_BYTES_MAX = 64 * 1024
/** Hosted assistants send the requests of all their users from a few addresses. */
const PER_MINUTE_MAX = { page: 60, token: 600, registration: 30 }

/** Paths outside the contract, with their methods. */
export const OAUTH_PATHS = [
  ...[...RESOURCE_METADATA_PATHS, ...SERVER_METADATA_PATHS].map((path) => ['GET', path] as const),
  ['GET', '/oauth/authorize'],
  ['POST', '/oauth/authorize'],
  ['POST', '/oauth/token'],
  ['POST', '/oauth/revoke'],
  ['POST', '/oauth/register'],
] as const

/** Must be called once, before the server listens. */
export function addOauthPaths(
  app: FastifyInstance,
  deps: OauthDeps & { readonly identify: Identify },
): void {
  app.register(async (scope) => {
    acceptForms(scope)
    scope.addHook('onRequest', async () => {
      if (!offersOauth(deps.publicUrl())) throw notFound()
    })
    addMetadata(scope, deps)
    addPages(scope, deps)
    addTokens(scope, deps)
  })
}

function addMetadata(scope: FastifyInstance, deps: OauthDeps): void {
  const documents = [
    [RESOURCE_METADATA_PATHS, resourceMetadata],
    [SERVER_METADATA_PATHS, serverMetadata],
  ] as const
  for (const [paths, make] of documents) {
    for (const url of paths) {
      scope.get(url, { config: { shownPath: url } }, async (request, reply) => {
        await deps.recordStep({ step: 'discovery', from: fromOf(request) })
        return sendPlain(reply, make(deps.publicUrl()))
      })
    }
  }
}

function addPages(scope: FastifyInstance, deps: OauthDeps & { readonly identify: Identify }): void {
  const limit = addressLimit(deps, 'sign-in pages', PER_MINUTE_MAX.page)
  const url = '/oauth/authorize'
  const config = { shownPath: url }
  scope.get(url, { config }, async (request, reply) => {
    await limit(request)
    const query = readPairs((request.raw.url ?? '').split('?').slice(1).join('?'))
    return sendPage(reply, await openAuthorization(deps, query, fromOf(request)))
  })
  scope.post(url, { config }, async (request, reply) => {
    await limit(request)
    const from = { ...fromOf(request), headers: request.headers }
    const form = formOf(request)
    return sendPage(reply, await continueAuthorization(deps, form, { ...deps, from }))
  })
}

function addTokens(scope: FastifyInstance, deps: OauthDeps): void {
  const limit = addressLimit(deps, 'token requests', PER_MINUTE_MAX.token)
  const limitRegistrations = addressLimit(deps, 'registrations', PER_MINUTE_MAX.registration)
  addProtocol(scope, '/oauth/token', async (request, reply) => {
    await limit(request)
    refuseClientSecret(request)
    return sendPlain(reply, await issueTokens(deps, formOf(request), fromOf(request)))
  })
  addProtocol(scope, '/oauth/revoke', async (request, reply) => {
    await limit(request)
    refuseClientSecret(request)
    await revokeByClient(deps, formOf(request))
    return sendPlain(reply, {})
  })
  addProtocol(scope, '/oauth/register', async (request, reply) => {
    await limitRegistrations(request)
    const metadata = request.body instanceof URLSearchParams ? undefined : request.body
    return sendPlain(reply.code(201), await registerClient(deps, metadata, fromOf(request)))
  })
}

/** Refusals have the form of RFC 6749 §5.2. */
function addProtocol(
  scope: FastifyInstance,
  url: string,
  run: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  scope.post(url, { config: { shownPath: url } }, async (request, reply) => {
    try {
      return await run(request, reply)
    } catch (error) {
      if (error instanceof OauthError) {
        return sendPlain(reply.code(error.status), {
          error: error.code,
          error_description: error.message,
        })
      }
      if (!(error instanceof AppError) || error.code !== 'rate_limit_exceeded') throw error
      reply.code(429).header('retry-after', String(error.options.retryAfterSeconds ?? 60))
      return sendPlain(reply, {
        error: 'temporarily_unavailable',
        error_description: error.message,
      })
    }
  })
}

/** Clients have no secrets, so one that sends one mistakes this server for another. */
function refuseClientSecret({ headers }: FastifyRequest): void {
  if (headers.authorization === undefined) return
  throw new OauthError(
    'invalid_client',
    'Clients have no secrets here: send client_id in the body, without Authorization.',
    401,
  )
}

function acceptForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  const parsing = { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX } as const
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    parsing,
    async (_request: FastifyRequest, body: Buffer) => readPairs(body.toString()),
  )
  scope.addContentTypeParser(
    'application/json',
    parsing,
    async (_request: FastifyRequest, body: Buffer) => {
      const read = readStrictJson(body)
      if (read.kind === 'value') return read.value
      throw new AppError('bad_request', read.message)
    },
  )
  scope.addContentTypeParser('*', async () => {
    throw new AppError(
      'unsupported_media_type',
      'The Content-Type must be application/x-www-form-urlencoded.',
    )
  })
}

/** Throws `bad_request` for U+0000, which PostgreSQL cannot store or compare. */
function readPairs(text: string): URLSearchParams {
  const pairs = new URLSearchParams(text)
  if (!pairs.toString().includes('%00')) return pairs
  throw problem('bad_request', 'The parameters must not contain the character U+0000.')
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  if (body instanceof URLSearchParams) return body
  throw problem(
    'unsupported_media_type',
    'The Content-Type must be application/x-www-form-urlencoded.',
  )
}

function addressLimit(deps: OauthDeps, name: string, perMinute: number) {
  const message = 'Too many requests from this address.'
  const limit = limiter(deps, { name, perMinute, message })
  return ({ clientAddress }: FastifyRequest) => limit(clientGroup(clientAddress))
}

function fromOf({ clientAddress, headers }: FastifyRequest): From {
  return { clientAddress, userAgent: headers['user-agent'] }
}

function sendPlain(reply: FastifyReply, body: object): FastifyReply {
  return reply
    .headers({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      pragma: 'no-cache',
    })
    .send(JSON.stringify(body))
}

function sendPage(
  reply: FastifyReply,
  { status = 200, headers, content }: BinaryResponse,
): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .send(typeof content === 'string' ? content : undefined)
}
