// The MCP endpoint (Streamable HTTP) without sessions: each request gets its own server, so any
// process can answer it. The caller is already authenticated.

import { Mailroom } from '@mailroom/sdk'
import { Access } from '@mailroom/tools/access.ts'
import { allTools, isGranted } from '@mailroom/tools/all-tools.ts'
import type { Restriction, Scope } from '@mailroom/tools/restriction.ts'
import {
  createMcpHandler,
  localhostAllowedOrigins,
  type McpRequestContext,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { makeMcpServer } from './mcp-server.ts'

export type McpEndpointOptions = {
  /** Base URL of the client's requests; `fetch` uses only their path and query. */
  readonly baseUrl: string
  /** The service's time in milliseconds. */
  readonly now: () => number
  /** Called with messages that were refused before any tool ran. */
  onRefused(error: Error): void
  /** Called with unexpected errors, whose details are withheld from the caller. */
  onFault(error: unknown): void
}

export type McpCaller = {
  readonly apiKey: string
  readonly restriction: Restriction
  readonly isSandbox: boolean
  /** Calls the API as the caller. */
  readonly fetch: typeof fetch
}

export type McpEndpoint = {
  /** Scopes of the tools that the message calls, except the granted ones. */
  missingScopes(message: unknown, granted: readonly Scope[]): readonly Scope[]
  /** Aborting the request's signal aborts its tools. `message` is its parsed body. */
  answer(request: Request, message: unknown, caller: McpCaller): Promise<Response>
}

/** Handles requests without any state between them. */
export function openMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { baseUrl, now, onRefused, onFault } = options
  const handler = createMcpHandler(
    ({ authInfo }: McpRequestContext) => {
      const { apiKey, restriction, isSandbox, fetch } = callerOf(authInfo?.extra)
      return makeMcpServer(
        new Access({
          client: new Mailroom({ baseUrl, apiKey, fetch }),
          restriction,
          isSandbox,
          now,
          onFault,
        }),
      )
    },
    // A connection's tools never change, so there is nothing to subscribe to.
    { onerror: onRefused, maxSubscriptions: 0 },
  )
  const { hostname } = new URL(baseUrl)
  // The Host header is not used: after DNS rebinding it is the attacker's name.
  const origins = [...localhostAllowedOrigins(), hostname]
  return {
    missingScopes,
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

function missingScopes(message: unknown, granted: readonly Scope[]): readonly Scope[] {
  const called = [message].flat().map((one) => {
    const { method, params } = Object(one) as { method?: unknown; params?: unknown }
    return method === 'tools/call' ? (Object(params) as { name?: unknown }).name : undefined
  })
  const missing = allTools.filter((tool) => called.includes(tool.name) && !isGranted(tool, granted))
  return [...new Set(missing.map(({ scope }) => scope))]
}

function callerOf(extra: Record<string, unknown> | undefined): McpCaller {
  const caller = extra?.caller
  if (caller === undefined) throw new Error('A request without a caller.')
  return caller as McpCaller
}
