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

/** OpenAPI has no form for frames, so they are described in words. */
const frames = [
  'Send the API key in the Authorization header or in the query parameter token.',
  'To subscribe, send the frame `{ "type": "subscribe", "inbox_ids": [], "pod_ids": [], "event_types": [], "last_event_id": "evt_…" }`. Only type is required; an empty or missing list means all. The reply is a frame of type `subscribed` with the subscription. Every frame without a `type` is an event.',
  'To resume after a disconnect, send the event_id of the last event as `last_event_id`: the events after it come first. If no event has arrived yet, use the `last_event_id` of `subscribed` (null if there is none). If the event is no longer in the log, events resume at its time; if the value is not an event id, only new events are sent. In both cases a frame of type `error` comes before `subscribed`.',
  'Unknown `event_types` are ignored if others are known, and a frame of type `error` names them. If all of them are unknown, or if an inbox or a pod does not belong to the account, the reply is an `error` frame and there is no subscription.',
  '`unsubscribe` ends the subscriptions to its `inbox_ids`, or all subscriptions without `inbox_ids`; the reply is `unsubscribed`. `ping` is answered with `pong`, and an invalid frame with `error`.',
  'An account may have ten connections (close code 4008), and a connection may send 30 frames in 10 seconds (4029). Close code 4001 means that the API key is invalid or was revoked.',
].join('\n\n')

/** The path item. */
export const webSocketPathItem = {
  get: {
    operationId: 'events.webSocket',
    tags: ['Events'],
    summary: 'Stream events over a WebSocket.',
    description: frames,
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
