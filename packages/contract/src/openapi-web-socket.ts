// The WebSocket as the OpenAPI document can show it: the request that opens it.

import { errorExample } from './error-example.ts'

/** The path item; frames are told in the description of the tag. */
export const webSocketPathItem = {
  get: {
    operationId: 'events.webSocket',
    tags: ['Events'],
    summary: 'Be told of events as they happen over a WebSocket.',
    description:
      'The frames are described with the tag. A key that is not good is told by the close code 4001.',
    responses: {
      101: { description: 'The connection is a WebSocket from here on.' },
      426: {
        description: 'The request does not ask for a WebSocket.',
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: { upgrade_required: { value: errorExample('upgrade_required') } },
          },
        },
      },
    },
    security: [{ apiKey: [] }, { keyInQuery: [] }],
  },
}
