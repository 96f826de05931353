// Serves the console at /console/. Its files contain no secret: the API checks every access.

import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { constants, open } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings, type Encoding } from '#http/answer.ts'
import { Cache } from '#platform/cache.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'

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

function isListed(field: string | undefined, etag: string): boolean {
  return (field ?? '').split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
}

type BuiltFile = {
  readonly content: Uint8Array
  readonly contentType: string
  readonly etag: string
  readonly encoding: Encoding | null
  /** Whether the file's name changes with its content. */
  readonly isImmutable: boolean
}

type BuiltFiles = {
  /** Finds the first existing encoding of the current file; null if there is no such file. */
  find(path: string, encodings: readonly Encoding[]): Promise<BuiltFile | null>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
const SUFFIXES = { br: '.br', gzip: '.gz' } as const

/** No segment begins with a dot, so no path leaves the folder. */
const PATH = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/
const HASHED = /[-.][A-Za-z0-9_]{8,}\.\w+$/
const NO_LINKS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)
const PATH_LENGTH_MAX = 200
/** Large enough for the complete console. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024

function openBuiltFiles(folder: string): BuiltFiles {
  const kept = new Cache<{ file: BuiltFile; mtimeMs: number; size: number }>({
    sizeMax: KEPT_BYTES_MAX,
  })

  async function read(path: string, encoding: Encoding | null): Promise<BuiltFile | null> {
    const name = encoding === null ? path : `${path}${SUFFIXES[encoding]}`
    const handle = await open(join(folder, name), NO_LINKS).catch(nullIfMissing)
    if (handle === null) return null
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) return null
      const { mtimeMs, size } = stat
      const known = kept.get(name)
      if (known?.mtimeMs === mtimeMs && known.size === size) return known.file
      const content = await handle.readFile()
      const file = describe(path, encoding, content)
      kept.set(name, { file, mtimeMs, size }, { size: content.length })
      return file
    } finally {
      await handle.close()
    }
  }

  return {
    async find(path, encodings) {
      if (path.length > PATH_LENGTH_MAX || !PATH.test(path) || !isServed(path)) return null
      for (const encoding of encodings) {
        const compressed = await read(path, encoding)
        if (compressed !== null) return compressed
      }
      return read(path, null)
    },
  }
}

function isServed(path: string): boolean {
  return Object.hasOwn(TYPES, extname(path))
}

function describe(path: string, encoding: Encoding | null, content: Uint8Array): BuiltFile {
  return {
    content,
    contentType: TYPES[extname(path)] ?? 'application/octet-stream',
    etag: `"${hash('sha256', content, 'base64url').slice(0, 27)}"`,
    encoding,
    isImmutable: HASHED.test(path),
  }
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG'].includes(error.code ?? '')) {
    return null
  }
  throw error
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
