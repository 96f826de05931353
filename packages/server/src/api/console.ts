// Serves the console at /console/. Its files contain no secret: the API checks every access.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings } from '#http/answer.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import { type BuiltFiles, openBuiltFiles, sendFile } from './built-files.ts'

export type ConsolePort = {
  readonly files: BuiltFiles
  findObstacle(): string
}

const PREFIX = '/console/'
const PAGE = 'index.html'
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
    /** The path in metrics, for a route that is not an operation. */
    shownPath?: string
  }
}

/** Must be called once, before the server listens. */
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
  // Sending the page instead of a script would hide that the script is missing.
  if (path.startsWith('assets/')) throw problem('not_found')
  const page = await files.find(PAGE, encodings)
  if (page !== null) return sendFile(request, reply, page)
  return sendAbsence(request, reply, findObstacle())
}

/** Sends a browser a page that reloads itself, and a program an error. */
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

const BUILD_MS_MAX = 60_000
const BUILD = '@mailroom/console/build.ts'

/** Builds missing files in another process, because the bundler is larger than the service. */
export function openConsole({
  folder,
  mayBuild = false,
  log,
}: {
  readonly folder?: string | undefined
  readonly mayBuild?: boolean | undefined
  readonly log: Log
}): ConsolePort {
  const program = fileURLToPath(import.meta.resolve(BUILD))
  const root = folder ?? join(dirname(program), 'dist')
  let isBuilding = mayBuild && !existsSync(join(root, 'index.html'))
  if (isBuilding) {
    execFile(process.execPath, [program], { timeout: BUILD_MS_MAX }, (error) => {
      isBuilding = false
      if (error !== null) log.warn({ error }, 'the console could not be built')
    })
  }
  return {
    files: openBuiltFiles(root),
    findObstacle: () => (isBuilding ? 'The console is being built.' : NOT_BUILT),
  }
}

const NOT_BUILT = 'The console is not built: run npm run build -w @mailroom/console.'
