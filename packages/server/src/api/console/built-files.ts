// The files of a folder that was built: found by their names, with what a cache has to know of them.
// Knows nothing of requests.

import { hash } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Encoding } from '#http/answer.ts'
import { Cache } from '#platform/cache.ts'

export type BuiltFile = {
  readonly content: Uint8Array
  readonly contentType: string
  /** Strong: of the content as it is sent. */
  readonly etag: string
  /** As it is packed; null for as it is. */
  readonly encoding: Encoding | null
  /** Its name changes with its content. */
  readonly isImmutable: boolean
}

export type BuiltFiles = {
  /**
   * The file with this path, `/` between folders, packed in the first of the encodings that there is of
   * it; null when there is none. A file that has changed is read anew.
   */
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

/** Names without a dot at their start, so that no path leads out of the folder. */
const PATH = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/
const HASHED = /[-.][A-Za-z0-9_]{8,}\.\w+$/
const NO_LINKS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)
const PATH_LENGTH_MAX = 200
/** The whole of a console is smaller; what does not fit is read at every request. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024

/** Reads nothing before it is asked. */
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
        const packed = await read(path, encoding)
        if (packed !== null) return packed
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
