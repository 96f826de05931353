// The content-type parsers of the door: strict JSON for operations that take a body, forms and whole
// messages where the contract says so, and nothing at all for the others, whatever a client says about
// the body it does not send.

import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BodyMediaType, Operation } from '@mailroom/contract/operations/operation.ts'
import { isBodyOptional } from '@mailroom/contract/operations.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '#platform/problem.ts'
import { readStrictJson } from '#platform/strict-json.ts'
import { type BodyHold, collectBody, freeMemory, JSON_BODY_BYTES_MAX } from './collect-body.ts'
import { readForm } from './read-form.ts'

/** A body that carries files: 25 MiB of them in base64, and texts. */
export const LARGE_BODY_BYTES_MAX = 36 * 1024 * 1024

/** A body as it was read, not yet compared with what the operation asks for. */
export type ReadBody =
  | { readonly kind: 'json'; readonly value: unknown }
  /** A form: `contents` are those of `value.attachments`, whose `data` is empty. */
  | { readonly kind: 'form'; readonly value: unknown; readonly contents: readonly Uint8Array[] }
  | { readonly kind: 'message'; readonly raw: Uint8Array }

declare module 'fastify' {
  interface FastifyRequest {
    bodyHold: BodyHold | null
  }
}

/** Octets that a body of the operation may have. */
export function bodyBytesMax(operation: Operation): number {
  return operation.hasLargeBody ? LARGE_BODY_BYTES_MAX : JSON_BODY_BYTES_MAX
}

/** Malformed bodies are `bad_request`, other content types `unsupported_media_type`. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  for (const mediaType of ['application/json', 'multipart/form-data', 'message/rfc822'] as const) {
    app.addContentTypeParser(mediaType, (request: FastifyRequest, payload: Readable) =>
      readBody(request, payload, mediaType),
    )
  }
  // However it ends, and be it that nobody is there any more to be answered.
  app.addHook('onSend', async (request) => request.bodyHold?.releaseSlot())
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const { operation } = request.routeOptions.config
    if (!operation?.body) return undefined
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    const isEmpty = length === '0' && coding === undefined
    if (isEmpty && isBodyOptional(operation)) return undefined
    throw wrongMediaType(operation)
  })
}

async function readBody(
  request: FastifyRequest,
  payload: Readable,
  mediaType: BodyMediaType,
): Promise<ReadBody | undefined> {
  const { operation } = request.routeOptions.config
  const { headers, bodyHold } = request
  if (!operation?.body || bodyHold === null) return undefined
  if (!mediaTypesOf(operation).includes(mediaType)) throw wrongMediaType(operation)
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType('A compressed body (Content-Encoding) is not supported.')
  }
  const bytesMax = bodyBytesMax(operation)
  const bytes = await collectBody(payload, { headers, bytesMax, hold: bodyHold })
  // What is made of a body takes several times its size; those that wait hold only themselves.
  await bodyHold.takeSlot()
  // Each step over a large body takes some 50 ms; others have their turn between two.
  if (bytes.length > JSON_BODY_BYTES_MAX) await nextTurn()
  if (mediaType === 'application/json') return readJson(bytes, operation)
  if (mediaType === 'message/rfc822') return { kind: 'message', raw: bytes }
  return { kind: 'form', ...(await readForm(bytes, headers['content-type'] ?? '', operation.body)) }
}

function readJson(bytes: Buffer, operation: Operation): ReadBody | undefined {
  if (bytes.length === 0 && isBodyOptional(operation)) return undefined
  const read = readStrictJson(bytes)
  freeMemory(bytes)
  if (read.kind === 'value') return { kind: 'json', value: read.value }
  // Its characters have a code of their own, and this is one of them.
  const isName = read.rule === 'nul' && read.path === 'mailboxName'
  throw new AppError(isName ? 'invalid_mailbox_name' : 'bad_request', read.message, {
    details: [{ path: read.path, message: read.message }],
  })
}

function mediaTypesOf(operation: Operation): readonly BodyMediaType[] {
  return operation.bodyMediaTypes ?? ['application/json']
}

function wrongMediaType(operation: Operation): AppError {
  return unsupportedMediaType(`The Content-Type must be ${mediaTypesOf(operation).join(' or ')}.`)
}

function unsupportedMediaType(message: string): AppError {
  return new AppError('unsupported_media_type', message)
}
