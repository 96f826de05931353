// The WebSocket as the OpenAPI document can show it: the request that opens it.

import { type ErrorCode, errorCodes } from './error-codes.ts'

/** What a request that opens no WebSocket is answered with; a bad key is told once it is open. */
export const webSocketErrors = [
  'bad_request',
  'upgrade_required',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[]

/** The path item; frames are told in the description of the tag. */
export const webSocketPathItem = {
  get: {
    operationId: 'events.webSocket',
    tags: ['Events'],
    summary: 'Stream events over a WebSocket.',
    description:
      'The frames are described under Events. An invalid key closes the connection with code 4001.',
    responses: {
      101: { description: 'The connection is now a WebSocket.' },
      ...Object.fromEntries(
        webSocketErrors.map((code) => {
          const { status, sentence } = errorCodes[code]
          return [status, { description: sentence, ...errorHead(status), content: bodyOf(code) }]
        }),
      ),
    },
    security: [{ apiKey: [] }, { keyInQuery: [] }],
  },
}

function errorHead(status: number) {
  const names =
    status === 429 || status === 503 ? ['X-Request-Id', 'Retry-After'] : ['X-Request-Id']
  const refer = (name: string) => [name, { $ref: `#/components/headers/${name}` }]
  return { headers: Object.fromEntries(names.map(refer)) }
}

function bodyOf(code: ErrorCode) {
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: { [code]: { $ref: `#/components/examples/${code}` } },
    },
  }
}
