// The MCP endpoint of a service (Streamable HTTP), without a session: every request is served by a server
// of its own, so that any process can answer any of them. Who calls was found out before.

import {
  createMcpHandler,
  localhostAllowedOrigins,
  type McpRequestContext,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { Access } from './access.ts'
import { makeMcpServer } from './mcp-server.ts'
import type { Narrowing } from './narrowing.ts'

export type McpEndpointOptions = {
  /** Of the service, for the client's requests; only their path and query matter to `fetch`. */
  readonly baseUrl: string
  /** The service's time in milliseconds. */
  readonly now: () => number
  /** A message that was refused before any tool was called. */
  onRefused(error: Error): void
  /** A fault of ours or of what we use, which the caller is told nothing of. */
  onFault(error: unknown): void
}

/** What is known of the caller of one request. */
export type McpCaller = {
  readonly apiKey: string
  readonly narrowing: Narrowing
  readonly isSandbox: boolean
  /** Asks the API as the caller. */
  readonly fetch: typeof fetch
}

export type McpEndpoint = {
  /** Aborting the request's signal gives up what its tools do. `message` is its body, parsed. */
  answer(request: Request, message: unknown, caller: McpCaller): Promise<Response>
}

/** Holds nothing between two requests. */
export function openMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { baseUrl, now, onRefused, onFault } = options
  const handler = createMcpHandler(
    ({ authInfo }: McpRequestContext) => {
      const { apiKey, narrowing, isSandbox, fetch } = callerOf(authInfo?.extra)
      return makeMcpServer(
        new Access({ baseUrl, apiKey, narrowing, isSandbox, fetch, now, onFault }),
      )
    },
    // The tools never change while a connection lasts: there is nothing to subscribe to.
    { onerror: onRefused, maxSubscriptions: 0 },
  )
  const { hostname } = new URL(baseUrl)
  // Not what the Host field says, which is the attacker's own name where DNS was rebound.
  const origins = [...localhostAllowedOrigins(), hostname]
  return {
    async answer(request, message, caller) {
      const foreign = originValidationResponse(request, origins)
      if (foreign !== undefined) return foreign
      return handler.fetch(request, {
        parsedBody: message,
        authInfo: { token: caller.apiKey, clientId: 'api-key', scopes: [], extra: { caller } },
      })
    },
  }
}

function callerOf(extra: Record<string, unknown> | undefined): McpCaller {
  const caller = extra?.caller
  if (caller === undefined) throw new Error('A request without a caller.')
  return caller as McpCaller
}
