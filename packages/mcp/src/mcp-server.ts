// The MCP server of one access: its instructions and tools, for any transport.

import type { Access } from '@mailroom/tools/access.ts'
import { allTools, callTool, offerOf, schemaOf } from '@mailroom/tools/all-tools.ts'
import { instructionsFor } from '@mailroom/tools/instructions.ts'
import type { Call, Tool } from '@mailroom/tools/tool.ts'
import {
  type CallToolResult,
  fromJsonSchema,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'

const VERSION = '0.1.0'
/** Maximum values in the arguments of a call; a message to 100 recipients has a few hundred. */
const ARGUMENT_VALUES_MAX = 2_000

/** Makes a server for one connection, or for one request if there are no connections. */
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
  const { name, title, description } = tool
  const registered = server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: inputOf(tool, access),
      ...(tool.values.length === 0 ? {} : { outputSchema: outputOf(tool) }),
      annotations: {
        readOnlyHint: tool.isReading,
        destructiveHint: tool.isDestructive,
        openWorldHint: tool.isOpenWorld,
        // Without meaning for a tool that changes nothing.
        ...(tool.isReading ? {} : { idempotentHint: tool.isIdempotent }),
      },
    },
    async (given, context): Promise<CallToolResult> => {
      const { content, values, isError } = await callTool(tool, given, callOf(access, context))
      return {
        content: [...content],
        ...(values === null ? {} : { structuredContent: values }),
        ...(isError ? { isError } : {}),
      }
    },
  )
  if (isRefused) registered.disable()
}

/** Validates with the tool's own schema, and lists the short one. */
function inputOf(tool: Tool, { restriction }: Access): StandardSchemaWithJSON {
  const { input } = tool
  const schema = () => schemaOf(tool, restriction)
  return { '~standard': { ...input['~standard'], jsonSchema: { input: schema, output: schema } } }
}

function outputOf({ values }: Tool): StandardSchemaWithJSON {
  const required = ['text', ...values]
  return fromJsonSchema({
    type: 'object',
    properties: Object.fromEntries(required.map((name) => [name, { type: 'string' }])),
    required,
  })
}

function callOf(access: Access, { mcpReq }: ServerContext): Omit<Call, 'has'> {
  const progressToken = mcpReq._meta?.progressToken
  return {
    access,
    signal: mcpReq.signal,
    async progress(progress, total, message) {
      if (progressToken === undefined || mcpReq.signal.aborted) return
      const params = { progressToken, progress, total, message }
      // If the client has disconnected, the call ends by its signal.
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}
