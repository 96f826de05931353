// MCP over standard input and output: one process per client, which calls the API over HTTP.

import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Mailroom } from '@mailroom/sdk'
import { Access } from '@mailroom/tools/access.ts'
import { isNotFound } from '@mailroom/tools/problem.ts'
import type { Restriction } from '@mailroom/tools/restriction.ts'
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { makeMcpServer } from './mcp-server.ts'

export type StdioOptions = {
  readonly baseUrl: string
  readonly apiKey: string
  readonly restriction: Restriction
}

const PROBE_MS_MAX = 5_000
/** How long requests may take that are not answered when the input ends. */
const LAST_ANSWERS_MS_MAX = 60_000

/**
 * Resolves when the client has closed standard input and its requests are answered. Standard output
 * carries the protocol, and standard error the errors. If the service is unreachable, the tools
 * report it.
 */
export async function runStdio(options: StdioOptions): Promise<void> {
  const { baseUrl, apiKey, restriction } = options
  // A file as standard input, such as /dev/null, ends and is not closed.
  const ended = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close')])
  // The library drops unanswered requests when its input ends, so its input is a copy.
  const input = process.stdin.pipe(new PassThrough(), { end: false })
  const transport = new StdioServerTransport(input)
  const handle = serveStdio(
    async () => {
      const isSandbox = await findSandbox(options)
      return makeMcpServer(
        new Access({
          client: new Mailroom({ baseUrl, apiKey }),
          restriction,
          isSandbox,
          onFault: complain,
        }),
      )
    },
    { onerror: complain, transport },
  )
  const answered = watchRequests(transport)
  await ended
  // The copy passes its last messages on.
  await nextTurn()
  await answered()
  await handle.close()
}

/** Returns a function that waits for the answers to all requests so far. */
function watchRequests(transport: StdioServerTransport): () => Promise<void> {
  const open = new Set<RequestId>()
  let wake = () => {}
  const settle = (id: RequestId | undefined) => {
    if (id !== undefined) open.delete(id)
    if (open.size === 0) wake()
  }
  const { onmessage, onclose } = transport
  transport.onmessage = (message: JSONRPCMessage) => {
    // The answer to a subscription is the end of the connection.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') open.add(message.id)
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      settle(message.params?.requestId as RequestId | undefined)
    }
    onmessage?.(message)
  }
  const send = transport.send.bind(transport)
  transport.send = async (message) => {
    await send(message)
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) settle(message.id)
  }
  transport.onclose = () => {
    open.clear()
    wake()
    onclose?.()
  }
  return async () => {
    if (open.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LAST_ANSWERS_MS_MAX)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** The sandbox operations exist only in sandbox mode. */
async function findSandbox({ baseUrl, apiKey }: StdioOptions): Promise<boolean> {
  const client = new Mailroom({ baseUrl, apiKey, maxRetries: 1 })
  try {
    await client.sandbox.list({ limit: 1, timeoutMs: PROBE_MS_MAX }).page()
    return true
  } catch (thrown) {
    if (!isNotFound(thrown)) complain(thrown)
    return false
  }
}

function complain(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(`mailroom mcp: ${reason}\n`)
}
