// MCP over standard input and output: one process per client, which calls the API over HTTP.

import { once } from 'node:events'
import { Mailroom } from '@mailroom/sdk'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { Access } from './access.ts'
import { makeMcpServer } from './mcp-server.ts'
import { isNotFound } from './problem.ts'

export type StdioOptions = {
  readonly baseUrl: string
  readonly apiKey: string
  /** Id or address of the only inbox of this connection; null for all inboxes of the account. */
  readonly inbox?: string | null
  /** Omits the tools that send, create or change anything. */
  readonly isReadOnly?: boolean
}

const PROBE_MS_MAX = 5_000

/**
 * Resolves when the client closes standard input. Standard output carries the protocol, and
 * standard error the errors. If the service is unreachable, the tools report it.
 */
export async function runStdio(options: StdioOptions): Promise<void> {
  const { baseUrl, apiKey, inbox = null, isReadOnly = false } = options
  // A file as standard input, such as /dev/null, ends and is not closed.
  const ended = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close')])
  const handle = serveStdio(
    async () => {
      const isSandbox = await findSandbox(options)
      const restriction = { inbox, isReadOnly }
      return makeMcpServer(
        new Access({ baseUrl, apiKey, restriction, isSandbox, onFault: complain }),
      )
    },
    { onerror: complain },
  )
  await ended
  await handle.close()
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
