// Sends a handler's result as JSON, file or stream, compressed if allowed.

import { finished, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, createGzip, gzip } from 'node:zlib'
import type { Operation } from '@mailroom/contract/operation.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '#platform/log.ts'
import { type AnswerBudget, STREAMED_ANSWER_BYTES } from './answer-budget.ts'
import type { Answered, BinaryResponse } from './handler.ts'

export function answer(
  reply: FastifyReply,
  operation: Operation,
  result: unknown,
  options: { readonly answers: AnswerBudget; readonly log: Log },
): FastifyReply {
  const { success } = operation
  if (operation.setsCookie || operation.hasEtag || operation.otherSuccess !== undefined) {
    return answerOneOf(reply, result as Answered<unknown>)
  }
  if ('mediaType' in success) {
    if (success.isEndless) reply.raw.shouldKeepAlive = false
    return answerBinary(reply, result as BinaryResponse, options)
  }
  reply.code(success.status)
  if (success.status === 204) return reply.send()
  return isStreamed(result) ? answerStreamed(reply, result, options) : sendJson(reply, result)
}

function answerOneOf(
  reply: FastifyReply,
  { status, headers = {}, body }: Answered<unknown>,
): FastifyReply {
  reply.code(status).headers(headers)
  return status === 204 ? reply.header('cache-control', 'no-store').send() : sendJson(reply, body)
}

function answerBinary(
  reply: FastifyReply,
  { status = 200, headers, content, release }: BinaryResponse,
  { answers }: { readonly answers: AnswerBudget },
): FastifyReply {
  if (release !== undefined) finished(reply.raw, () => release())
  if (content === null || typeof content === 'string') {
    return reply
      .code(status)
      .headers(headers)
      .send(content ?? undefined)
  }
  if (!(content instanceof Uint8Array)) {
    const { stream, holdsBytes } = content
    const isWanted = isContentWanted(reply.request)
    try {
      if (isWanted) answers.reserve(reply.request, reply, holdsBytes)
    } catch (error) {
      stream.destroy()
      throw error
    }
    if (!isWanted) {
      stream.destroy()
      return reply.code(status).headers(headers).send()
    }
    return reply.code(status).headers(headers).send(stream)
  }
  // The Buffer shares the memory, because a copy would double large mail.
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  return reply.code(status).headers(headers).send(bytes)
}

/** JSON.stringify takes 240 µs for 50 short messages; a compiled serializer took 370 µs. */
export function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return sendText(asJson(reply), JSON.stringify(body))
}

function asJson(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
}

function answerStreamed(
  reply: FastifyReply,
  body: StreamedBody,
  { answers, log }: { readonly answers: AnswerBudget; readonly log: Log },
): FastifyReply {
  const { request } = reply
  if (!isContentWanted(request)) return asJson(reply).send()
  answers.reserve(request, reply, STREAMED_ANSWER_BYTES)
  const parts = writeStreamed(body, () => answers.takeTurn(request, reply))
  const stream = Readable.from(parts, { highWaterMark: 1 })
  stream.once('error', (error) => {
    // Before the headers are sent, the error becomes the response and is logged there.
    if (!reply.raw.headersSent) return
    const { operationId } = request.routeOptions.config
    log.error({ requestId: request.id, operationId, error }, 'An answer was cut short.')
  })
  return sendStream(asJson(reply), stream)
}

type StreamedBody = { data: AsyncIterable<unknown> }

function isStreamed(body: unknown): body is StreamedBody {
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : null
  return typeof data === 'object' && data !== null && Symbol.asyncIterator in data
}

/** Minimum characters of a streamed part. */
const PART_LENGTH_MIN = 16 * 1024

/** Occupies a slot for each part until the client starts to read the part. */
async function* writeStreamed(
  { data, ...rest }: StreamedBody,
  takeTurn: () => ReturnType<AnswerBudget['takeTurn']>,
): AsyncGenerator<string> {
  const head = JSON.stringify(rest).slice(0, -1)
  const items = data[Symbol.asyncIterator]()
  let part = `${head}${head === '{' ? '' : ','}"data":[`
  let separator = ''
  let isDone = false
  try {
    while (!isDone) {
      const endTurn = await takeTurn()
      if (endTurn === null) return
      try {
        while (part.length < PART_LENGTH_MIN) {
          const next = await items.next()
          isDone = next.done === true
          if (isDone) break
          part += separator + JSON.stringify(next.value)
          separator = ','
        }
      } finally {
        await endTurn()
      }
      yield isDone ? `${part}]}` : part
      part = ''
    }
  } finally {
    await items.return?.()
  }
}

export function isContentWanted(request: FastifyRequest): boolean {
  return request.method !== 'HEAD'
}

export type Encoding = 'br' | 'gzip'

/** Minimum characters; a shorter response fits into one TCP segment. */
const COMPRESSED_LENGTH_MIN = 1_400

function sendText(reply: FastifyReply, text: string): FastifyReply {
  if (text.length < COMPRESSED_LENGTH_MIN || !mayCompress(reply)) return reply.send(text)
  gzip(text, (error, content) => {
    reply.send(error ?? markCompressed(reply, content))
  })
  return reply
}

function sendStream(reply: FastifyReply, stream: Readable): FastifyReply {
  if (!mayCompress(reply)) return reply.send(stream)
  const compressed = createGzip()
  // `pipeline` would emit an error on the stream when the client merely disconnects.
  stream.once('error', (error) => compressed.destroy(error))
  compressed.once('close', () => stream.destroy())
  stream.pipe(compressed)
  return reply.send(markCompressed(reply, compressed))
}

/**
 * Requests with cookies are excluded, because the console's responses contain both mail from
 * strangers and secrets. An attacker who mails guesses and measures encrypted lengths could find
 * the secrets (BREACH). Brotli would need 4 MiB per response; gzip needs 256 KiB.
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

/** Computes each encoding once, on first use. */
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

/**
 * Follows RFC 9110 §12.5.3. The better encoding comes first; a weight of zero excludes an encoding.
 */
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

/** Escapes text for use between tags and within quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
