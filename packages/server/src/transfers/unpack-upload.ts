import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type Bounds, fileTooLarge } from '#http/upload.ts'
import { problem } from '#platform/problem.ts'

export function wrongFile(message: string) {
  return problem('bad_request', `The file ${message}.`, { details: [{ path: 'file', message }] })
}

/**
 * Unpacks gzip data. Throws `payload_too_large` above `bytesMax` unpacked bytes and `bad_request`
 * for damaged data.
 */
export async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  bounds: Bounds,
): AsyncGenerator<Uint8Array> {
  const parts = chunks[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  while (start.length < 2) {
    const next = await parts.next()
    if (next.done === true) break
    start = Buffer.concat([start, next.value])
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    if (start.length > 0) yield start
    for (;;) {
      const next = await parts.next()
      if (next.done === true) return
      yield next.value
    }
  }
  try {
    if (start[0] !== 0x1f || start[1] !== 0x8b) yield* all()
    else yield* gunzipped(all(), bounds)
  } finally {
    await parts.return?.()
  }
}

async function* gunzipped(
  packed: AsyncIterable<Uint8Array>,
  bounds: Bounds,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip()
  const fed = pipeline(Readable.from(packed, { objectMode: true }), gunzip)
  // The loop below reports the error.
  fed.catch(() => {})
  let length = 0
  try {
    for await (const part of gunzip as AsyncIterable<Buffer>) {
      length += part.length
      if (length > bounds.bytesMax) throw fileTooLarge(bounds)
      yield part
    }
  } catch (error) {
    if (!isOfZlib(error)) throw error
    throw wrongFile('is damaged: gzip cannot read it to the end')
  }
}

function isOfZlib(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^Z_|^ERR_.*ZLIB/.test(String(error.code))
}
