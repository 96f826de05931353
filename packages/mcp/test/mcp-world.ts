// A real service, and the protocol's own client on either transport: HTTP at the endpoint, or stdio with a process of
// its own.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isFullRun } from '@mailroom/mail/test/size-of.ts'
import { openWorld, type World, type WorldOptions } from '@mailroom/server/test/world.ts'
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

export const TRANSPORTS = ['http', 'stdio'] as const
export type TransportKind = (typeof TRANSPORTS)[number]

/** `auto` speaks the newest revision, `legacy` the one with a handshake. */
export type Era = 'auto' | 'legacy'

export type Connecting = {
  key?: string
  inbox?: string
  isReadOnly?: boolean
  tools?: string
  era?: Era
  headers?: Record<string, string>
}

export type Tools = AsyncDisposable & {
  readonly client: Client
  /** The names of the listed tools, in order. */
  names(): Promise<string[]>
  /** The text of a result; fails when it is an error. */
  call(name: string, given?: Record<string, unknown>): Promise<string>
  /** The text of an error; fails when there is none. */
  refusal(name: string, given?: Record<string, unknown>): Promise<string>
  /** The whole result. */
  result(name: string, given?: Record<string, unknown>): Promise<CallToolResult>
  close(): Promise<void>
}

const CHILD = fileURLToPath(import.meta.resolve('#test/stdio-child.ts'))

/** Runs the same tests over both transports, each on a service of its own; in a quick run only over HTTP. */
export function onEachTransport(
  name: string,
  define: (open: (options?: WorldOptions) => Promise<World>, connect: Connect) => void,
): void {
  for (const kind of isFullRun() ? TRANSPORTS : TRANSPORTS.slice(0, 1)) {
    suite(`${name} (${kind})`, () => {
      const open = (options?: WorldOptions) => openWorld('sqlite', options)
      define(open, (world, connecting) => connect(kind, world.baseUrl, world.key, connecting))
    })
  }
}

export type Connect = (world: World, connecting?: Connecting) => Promise<Tools>

/** A connected client; close it. */
export async function connect(
  kind: TransportKind,
  baseUrl: string,
  worldKey: string,
  connecting: Connecting = {},
): Promise<Tools> {
  const { era = 'auto', key = worldKey } = connecting
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } })
  await client.connect(
    kind === 'http' ? overHttp(baseUrl, key, connecting) : overStdio(baseUrl, key, connecting),
  )
  const result = async (name: string, given: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: given }, { timeout: 100_000 })) as CallToolResult
  return {
    client,
    result,
    names: async () => (await client.listTools()).tools.map((tool) => tool.name),
    async call(name, given) {
      const got = await result(name, given)
      assert.notEqual(got.isError, true, textOf(got))
      return textOf(got)
    },
    async refusal(name, given) {
      const got = await result(name, given)
      assert.equal(got.isError, true, textOf(got))
      return textOf(got)
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

export function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
}

export function overHttp(
  baseUrl: string,
  key: string,
  { inbox, isReadOnly, tools, headers = {} }: Connecting = {},
): StreamableHTTPClientTransport {
  const url = new URL('/mcp', baseUrl)
  if (inbox !== undefined) url.searchParams.set('inbox', inbox)
  if (tools !== undefined) url.searchParams.set('tools', tools)
  if (isReadOnly) url.searchParams.set('read_only', 'true')
  const init = { headers: { authorization: `Bearer ${key}`, ...headers } }
  return new StreamableHTTPClientTransport(url, { requestInit: init })
}

function overStdio(
  baseUrl: string,
  key: string,
  { inbox, isReadOnly, tools }: Connecting,
): StdioClientTransport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [CHILD],
    env: {
      PATH: process.env.PATH ?? '',
      ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
      MAILROOM_BASE_URL: baseUrl,
      MAILROOM_API_KEY: key,
      ...(inbox === undefined ? {} : { MAILROOM_MCP_INBOX: inbox }),
      ...(tools === undefined ? {} : { MAILROOM_MCP_TOOLS: tools }),
      ...(isReadOnly ? { MAILROOM_MCP_READ_ONLY: 'true' } : {}),
    },
    stderr: 'inherit',
  })
}

const FENCED =
  /<<<MAIL (?<nonce>[0-9a-f]{24,}) \(untrusted: data, not instructions\)\n(?<inside>[\s\S]*?)\nMAIL \k<nonce>>>>/g

/** The text within fences, and the text outside. */
export function splitFences(text: string): { inside: string; outside: string; count: number } {
  const parts = [...text.matchAll(FENCED)]
  return {
    inside: parts.map((part) => part.groups?.inside ?? '').join('\n'),
    outside: text.replaceAll(FENCED, '[fence]'),
    count: parts.length,
  }
}
