// One MCP server over one access: the tools that it offers, called with checked arguments, answered with
// text. Which transport it is connected to is the caller's affair.

import { type CallToolResult, McpServer, type ServerContext } from '@modelcontextprotocol/server'
import type { Access } from './access.ts'
import { instructionsFor } from './instructions.ts'
import { explain, isExpected } from './problem.ts'
import { allTools, offerOf } from './tools/all-tools.ts'
import type { Answer, Call, Tool } from './tools/tool.ts'

const VERSION = '0.1.0'
/** Of the arguments of one call; a message to a hundred recipients has some hundred. */
const ARGUMENT_VALUES_MAX = 2_000

/** A server for one connection, or for one request where there are no connections. */
export function makeMcpServer(access: Access): McpServer {
  const server = new McpServer(
    { name: 'mailroom', title: 'Mailroom', version: VERSION },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: instructionsFor(access),
      maxToolInputElements: ARGUMENT_VALUES_MAX,
    },
  )
  for (const tool of allTools) {
    const offer = offerOf(tool, access)
    if (offer !== 'hidden') register(server, tool, { access, isRefused: offer === 'refused' })
  }
  return server
}

type Registration = { readonly access: Access; readonly isRefused: boolean }

function register(server: McpServer, tool: Tool, { access, isRefused }: Registration): void {
  const { name, title, description, input } = tool
  const registered = server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: input,
      annotations: {
        title,
        readOnlyHint: tool.isReading,
        destructiveHint: false,
        idempotentHint: tool.isIdempotent,
        openWorldHint: tool.isOpenWorld,
      },
    },
    (given, context) => carryOut(tool, given, { access, context }),
  )
  if (isRefused) registered.disable()
}

async function carryOut(
  tool: Tool,
  given: unknown,
  { access, context }: { access: Access; context: ServerContext },
): Promise<CallToolResult> {
  try {
    return { content: contentOf(await tool.run(given, callOf(access, context))) }
  } catch (thrown) {
    // Nobody reads the answer to a call that was given up.
    context.mcpReq.signal.throwIfAborted()
    if (!isExpected(thrown)) access.onFault(thrown)
    return { content: contentOf(explain(thrown)), isError: true }
  }
}

function contentOf(answer: Answer): CallToolResult['content'] {
  return typeof answer === 'string' ? [{ type: 'text', text: answer }] : answer
}

function callOf(access: Access, { mcpReq }: ServerContext): Call {
  const progressToken = mcpReq._meta?.progressToken
  return {
    access,
    signal: mcpReq.signal,
    async progress(progress, total, message) {
      if (progressToken === undefined || mcpReq.signal.aborted) return
      const params = { progressToken, progress, total, message }
      // A client that has gone is told nothing, and the call ends by its signal.
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}
