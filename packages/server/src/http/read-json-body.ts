// The content-type parsers of the door: strict JSON for operations that take a body, and nothing at
// all for the others, whatever a client says about the body it does not send.

import { isBodyOptional } from '@mailroom/contract/operations.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '#base/app-error.ts'
import { JSON_BODY_BYTES_MAX } from '#base/limits.ts'
import { readStrictJson } from '#base/strict-json.ts'

/** Malformed bodies are `bad_request`, other content types `unsupported_media_type`. */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: JSON_BODY_BYTES_MAX },
    async (request: FastifyRequest, bytes: Buffer) => readBody(request, bytes),
  )
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const { operation } = request.routeOptions.config
    if (!operation?.body) return undefined
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    const isEmpty = length === '0' && coding === undefined
    if (isEmpty && isBodyOptional(operation)) return undefined
    throw unsupportedMediaType('The Content-Type must be application/json.')
  })
}

function readBody(request: FastifyRequest, bytes: Buffer): unknown {
  const { operation } = request.routeOptions.config
  if (!operation?.body) return undefined
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType('A compressed body (Content-Encoding) is not supported.')
  }
  if (bytes.length === 0 && isBodyOptional(operation)) return undefined
  const read = readStrictJson(bytes)
  if (read.kind === 'value') return read.value
  throw new AppError('bad_request', read.message, {
    details: [{ path: '', message: read.message }],
  })
}

function unsupportedMediaType(message: string): AppError {
  return new AppError('unsupported_media_type', message)
}
