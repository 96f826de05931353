// Compression of answers. JSON that is written for one request gets gzip alone, which takes 256 KiB for each
// answer under way; the window of Brotli is 4 MiB. Texts that are the same for everybody are compressed once.

import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BinaryResponse } from './handler.ts'

export type Encoding = 'br' | 'gzip'

/** In characters. A shorter answer fits one TCP segment as it is. */
const COMPRESSED_LENGTH_MIN = 1_400

/** Sends a text whose content type is set, compressed on the thread pool where that is allowed. */
export function sendText(reply: FastifyReply, text: string): FastifyReply {
  if (text.length < COMPRESSED_LENGTH_MIN || !mayCompress(reply)) return reply.send(text)
  gzip(text, (error, content) => {
    reply.send(error ?? markCompressed(reply, content))
  })
  return reply
}

/** Sends a stream likewise: it is read only as fast as the client takes in the compressed bytes. */
export function sendStream(reply: FastifyReply, stream: Readable): FastifyReply {
  if (!mayCompress(reply)) return reply.send(stream)
  const compressed = createGzip()
  // `pipeline` would tell the reader of the list of an error where the client merely left.
  stream.once('error', (error) => compressed.destroy(error))
  compressed.once('close', () => stream.destroy())
  stream.pipe(compressed)
  return reply.send(markCompressed(reply, compressed))
}

/**
 * Whether the client takes gzip and sent no cookie. Mail from strangers stands beside secrets in one
 * answer, and the console asks again and again by itself: an attacker who sends guesses by mail and
 * watches the length of the encrypted answers could find the secrets (BREACH).
 */
function mayCompress({ request }: FastifyReply): boolean {
  const { cookie, 'accept-encoding': accepted } = request.headers
  return (
    request.method !== 'HEAD' &&
    cookie === undefined &&
    acceptedEncodings(accepted).includes('gzip')
  )
}

function markCompressed<Content>(reply: FastifyReply, content: Content): Content {
  reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding')
  return content
}

const gzipOnce = promisify(gzip)
const brotliOnce = promisify(brotliCompress)

/** A public text in the encoding that the request asks for; each is made when it is first needed. */
export function precompressed(content: string, headers: Readonly<Record<string, string>>) {
  const made = new Map<Encoding, Promise<Uint8Array>>()
  const make = { gzip: () => gzipOnce(content), br: () => brotliOnce(content) }
  return async (request: Pick<FastifyRequest, 'headers'>): Promise<BinaryResponse> => {
    const varying = { ...headers, vary: 'accept-encoding' }
    const [encoding] = acceptedEncodings(request.headers['accept-encoding'])
    if (encoding === undefined) return { headers: varying, content }
    const compressed = made.get(encoding) ?? make[encoding]()
    made.set(encoding, compressed)
    return {
      headers: { ...varying, 'content-encoding': encoding },
      content: await compressed,
    }
  }
}

/** RFC 9110 §12.5.3, the better first; a weight of zero refuses. */
export function acceptedEncodings(field: string | string[] | undefined): Encoding[] {
  const accepted = new Map(
    String(field ?? '')
      .split(',')
      .map((entry): [string, string] => {
        const [name = '', ...parameters] = entry.split(';')
        return [name.trim().toLowerCase(), parameters.join(';').replaceAll(' ', '')]
      }),
  )
  const isTaken = (name: Encoding) => {
    const weight = accepted.get(name)
    return weight !== undefined && !/^q=0(?:\.0*)?$/i.test(weight)
  }
  return (['br', 'gzip'] as const).filter(isTaken)
}
