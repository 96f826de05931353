// The console at /console/: the files that were built of it, and for every other path below its page,
// which finds out by itself what is meant. It holds no secret; who sees what is the API's affair.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings } from '#http/answer.ts'
import { problem } from '#platform/problem.ts'
import type { BuiltFile, BuiltFiles } from './built-files.ts'

export type ConsolePort = {
  readonly files: BuiltFiles
  /** Null when what was built is there, else why it is not; starts to build it where that is possible. */
  findObstacle(): string | null
}

const PREFIX = '/console/'
const PAGE = 'index.html'
/** Nothing but what the service itself serves, no script in the page, and no page around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const COMMON = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Path of a route that is no operation, for metrics. */
    shownPath?: string
  }
}

/** Call it once, before the server listens. */
export function addConsole(app: FastifyInstance, port: ConsolePort): void {
  const method = ['GET', 'HEAD']
  app.route({
    method,
    url: '/',
    config: { shownPath: '/' },
    handler: async (_request, reply) => {
      const page = await port.files.find(PAGE, [])
      return redirect(reply, page === null ? '/docs' : PREFIX)
    },
  })
  app.route({
    method,
    url: '/console',
    config: { shownPath: PREFIX },
    handler: async (_request, reply) => redirect(reply, PREFIX),
  })
  app.route({
    method,
    url: `${PREFIX}*`,
    config: { shownPath: PREFIX },
    handler: async (request, reply) => {
      const { '*': path = '' } = request.params as { '*'?: string }
      return answer(port, { request, reply, path })
    },
  })
}

function redirect(reply: FastifyReply, location: string): FastifyReply {
  return reply.code(302).headers({ location, 'cache-control': 'no-cache' }).send()
}

async function answer(
  { files, findObstacle }: ConsolePort,
  { request, reply, path }: { request: FastifyRequest; reply: FastifyReply; path: string },
): Promise<FastifyReply> {
  reply.headers(COMMON)
  const encodings = acceptedEncodings(request.headers['accept-encoding'])
  const file = path === '' ? null : await files.find(path, encodings)
  if (file !== null) return sendFile(request, reply, file)
  // A page in the place of a script would hide that the script is missing.
  if (path.startsWith('assets/')) throw problem('not_found')
  const page = await files.find(PAGE, encodings)
  if (page !== null) return sendFile(request, reply, page)
  return sendAbsence(request, reply, findObstacle() ?? 'The console is being built.')
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  const { content, contentType, etag, encoding, isImmutable } = file
  reply.headers({
    'content-type': contentType,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag,
    ...(encoding === null ? {} : { 'content-encoding': encoding }),
  })
  if (isListed(request.headers['if-none-match'], etag)) return reply.code(304).send()
  reply.header('content-length', String(content.length))
  if (request.method === 'HEAD') return reply.send()
  return reply.send(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
}

/** People see a page that looks again by itself, programs the error in the form of all others. */
function sendAbsence(request: FastifyRequest, reply: FastifyReply, why: string): FastifyReply {
  if (!request.headers.accept?.includes('text/html')) {
    throw problem('service_unavailable', why, { retryAfterSeconds: 1 })
  }
  return reply
    .code(503)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'retry-after': '1',
      refresh: '1',
    })
    .send(`<!doctype html><html lang="en"><title>Mailroom</title><p>${why}</p></html>\n`)
}

function isListed(field: string | undefined, etag: string): boolean {
  return (field ?? '').split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
}
