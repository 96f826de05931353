// From what a handler returned to an answer: JSON, JSON item by item, files and streams.

import { finished, Readable } from 'node:stream'
import type { Operation } from '@mailroom/contract/operations/operation.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '#platform/log.ts'
import { type AnswerBudget, STREAMED_ANSWER_BYTES } from './answer-budget.ts'
import { sendStream, sendText } from './compression.ts'
import type { Answered, BinaryResponse } from './handler.ts'

/** Sends what a handler returned as its operation's success. */
export function answer(
  reply: FastifyReply,
  operation: Operation,
  result: unknown,
  options: { readonly answers: AnswerBudget; readonly log: Log },
): FastifyReply {
  const { success } = operation
  if (operation.setsCookie || operation.otherSuccess !== undefined) {
    return answerOneOf(reply, result as Answered<unknown>)
  }
  if ('mediaType' in success) {
    // A connection whose stream has ended has nothing more to wait for.
    if (success.isEndless) reply.raw.shouldKeepAlive = false
    return answerBinary(reply, result as BinaryResponse)
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
): FastifyReply {
  if (release !== undefined) finished(reply.raw, () => release())
  reply.code(status).headers(headers)
  if (content === null) return reply.send()
  if (content instanceof Readable && !isContentWanted(reply.request)) {
    content.destroy()
    return reply.send()
  }
  // Bytes of any kind are sent as a Buffer over the same memory; a copy would double large mail.
  return reply.send(
    content instanceof Uint8Array
      ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
      : content,
  )
}

/**
 * What is in an answer may be read by its receiver alone, so nobody on the way may keep it. A compiled
 * serialiser is no quicker here: 50 short messages take it 370 µs, JSON.stringify 240 µs.
 */
export function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return sendText(asJson(reply), JSON.stringify(body))
}

function asJson(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
}

/** On HEAD none of the items is read, at the price that the length is not told. */
function answerStreamed(
  reply: FastifyReply,
  body: StreamedBody,
  { answers, log }: { readonly answers: AnswerBudget; readonly log: Log },
): FastifyReply {
  const { request } = reply
  if (!isContentWanted(request)) return asJson(reply).send()
  answers.reserve(request, reply, STREAMED_ANSWER_BYTES)
  const stream = Readable.from(writeStreamed(body))
  stream.once('error', (error) => {
    // Before the head is out, the answer is an error's, which is logged where it is made.
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

/** The JSON of a body item by item, so that a page of long messages is never in memory as a whole. */
async function* writeStreamed({ data, ...rest }: StreamedBody): AsyncGenerator<string> {
  const head = JSON.stringify(rest).slice(0, -1)
  yield `${head}${head === '{' ? '' : ','}"data":[`
  let separator = ''
  for await (const item of data) {
    yield separator + JSON.stringify(item)
    separator = ','
  }
  yield ']}'
}

/** Whether the request is not a HEAD. */
export function isContentWanted(request: FastifyRequest): boolean {
  return request.method !== 'HEAD'
}
