export { claimHandlers } from './claim-handlers.ts'
export { readEnvelopes } from './envelope.ts'
export { eventHandlers } from './event-handlers.ts'
export { type EventHub, openEventHub } from './event-hub.ts'
export { type EventPorts, openEventStream, SOCKETS_PER_ACCOUNT_MAX } from './event-stream.ts'
export { checkFilter } from './read-events.ts'
export {
  addWebSocketPath,
  isWebSocketRequest,
  type SocketTimeouts,
  WebSocketEndpoint,
} from './websocket-endpoint.ts'
