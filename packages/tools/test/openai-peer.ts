// A scripted model behind the two HTTP interfaces of OpenAI, which the frameworks call.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Turn = { readonly tool: string; readonly given: object } | { readonly text: string }
/** Gets the conversation so far as JSON. */
export type Script = readonly ((conversation: string) => Turn)[]

export type OpenAiPeer = AsyncDisposable & {
  readonly baseUrl: string
  /** The names of the tools that the model was offered. */
  readonly offered: ReadonlySet<string>
}

type Request = {
  input?: unknown
  messages?: unknown
  tools?: { name?: string; function?: { name: string } }[]
}

/** Plays the script from its beginning for each conversation with `/v1`. */
export async function openOpenAiPeer(script: Script): Promise<OpenAiPeer> {
  const offered = new Set<string>()
  let played = 0
  const server = createServer(async (request, response) => {
    const { tools = [], input, messages } = await bodyOf(request)
    for (const tool of tools) offered.add(tool.name ?? tool.function?.name ?? '')
    const next = script[played]
    played += 1
    const turn = next?.(JSON.stringify(input ?? messages)) ?? { text: 'The script is over.' }
    const answer = request.url?.endsWith('/responses') ? responseOf(turn) : completionOf(turn)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    offered,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

let calls = 0

function responseOf(turn: Turn) {
  calls += 1
  const output =
    'text' in turn
      ? {
          type: 'message',
          id: `msg_${calls}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: turn.text, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${calls}`,
          call_id: `call_${calls}`,
          name: turn.tool,
          arguments: JSON.stringify(turn.given),
          status: 'completed',
        }
  return {
    id: `resp_${calls}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'scripted',
    output: [output],
    usage: {
      input_tokens: 1,
      output_tokens: 1,
      total_tokens: 2,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }
}

function completionOf(turn: Turn) {
  calls += 1
  const isText = 'text' in turn
  const message = isText
    ? { role: 'assistant', content: turn.text }
    : {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: `call_${calls}`,
            type: 'function',
            function: { name: turn.tool, arguments: JSON.stringify(turn.given) },
          },
        ],
      }
  return {
    id: `chatcmpl-${calls}`,
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, message, finish_reason: isText ? 'stop' : 'tool_calls' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }
}
