// Serves files that a build has made, with an ETag, and compressed if the build compressed them.

import { hash } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Encoding } from '#http/answer.ts'
import { Cache } from '#platform/cache.ts'

export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: BuiltFile,
): FastifyReply {
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

function isListed(field: string | undefined, etag: string): boolean {
  return (field ?? '').split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
}

export type BuiltFile = {
  readonly content: Uint8Array
  readonly contentType: string
  readonly etag: string
  readonly encoding: Encoding | null
  /** Whether the file's name changes with its content. */
  readonly isImmutable: boolean
}

export type BuiltFiles = {
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
  '.tgz': 'application/gzip',
  '.whl': 'application/zip',
}
const SUFFIXES = { br: '.br', gzip: '.gz' } as const

/** No segment begins with a dot, so no path leaves the folder. */
const PATH = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/
const HASHED = /[-.][A-Za-z0-9_]{8,}\.\w+$/
const NO_LINKS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)
const PATH_LENGTH_MAX = 200
/** Large enough for the complete console. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024

export function openBuiltFiles(folder: string): BuiltFiles {
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
