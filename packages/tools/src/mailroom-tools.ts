// The tools for programs: the same table as for MCP, called in this process, with converters for
// agent frameworks. A framework's own functions are arguments, so this package depends on no
// framework.

import type { Mailroom } from '@mailroom/sdk'
import { z } from 'zod'
import { Access } from './access.ts'
import { allTools, callTool, offerOf, readToolSet, schemaOf } from './all-tools.ts'
import { instructionsFor } from './instructions.ts'
import { unrestricted } from './restriction.ts'
import type { Part, Tool } from './tool.ts'

export type MailroomToolsOptions = {
  /** Id or address of the only inbox that the tools can use; default: all inboxes. */
  inbox?: string
  /**
   * `core`, the smallest set for everyday work, or a list of names, which may contain `core`.
   * Default: all tools but those of the sandbox.
   */
  only?: 'core' | 'all' | readonly string[]
  /** Leaves out the tools that send, create or change anything. */
  isReadOnly?: boolean
}

export type MailroomTool = {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The schema of the arguments, in zod and as JSON Schema. */
  readonly schema: z.ZodType
  readonly jsonSchema: Record<string, unknown>
  /** Whether the tool changes nothing. */
  readonly isReading: boolean
  /**
   * Returns the text for the model. Errors of the service and wrong arguments become texts that say
   * what to do next. Rejects with the reason of an aborted signal, and with unexpected errors.
   */
  run(given: unknown, options?: { signal?: AbortSignal | undefined }): Promise<string>
}

/** The client's tools for a language model. Throws an error for an unknown name in `only`. */
export function mailroomTools(
  client: Mailroom,
  options: MailroomToolsOptions = {},
): readonly MailroomTool[] {
  const access = accessOf(client, options)
  return allTools
    .filter((tool) => offerOf(tool, access) === 'offered')
    .map((tool) => runnable(tool, access))
}

/** Instructions for the model: how the tools work together, and that mail is data. */
export function mailroomInstructions(options: MailroomToolsOptions = {}): string {
  return instructionsFor(restrictionOf(options))
}

function accessOf(client: Mailroom, options: MailroomToolsOptions): Access {
  return new Access({
    client,
    ...restrictionOf(options),
    onFault(error) {
      throw error
    },
  })
}

function restrictionOf({ inbox, only = 'all', isReadOnly = false }: MailroomToolsOptions) {
  if (inbox === '') throw new Error('inbox must be the id or the address of an inbox.')
  const reading = readToolSet([only].flat().join())
  if (reading.kind === 'mistake') throw new Error(`only ${reading.message}`)
  const { tools } = reading
  return {
    restriction: { ...unrestricted, inbox: inbox ?? null, tools, isReadOnly },
    // A program in the sandbox names the tools of the sandbox.
    isSandbox: allTools.some(({ isOfSandbox, name }) => isOfSandbox && tools?.includes(name)),
  }
}

function runnable(tool: Tool, access: Access): MailroomTool {
  const { name, title, description, input: schema, isReading } = tool
  return {
    name,
    title,
    description,
    schema,
    jsonSchema: schemaOf(tool, access.restriction),
    isReading,
    async run(given, { signal = new AbortController().signal } = {}) {
      const { error } = await schema.safeParseAsync(given)
      if (error !== undefined) return `The arguments are wrong.\n${z.prettifyError(error)}`
      const call = { access, signal, progress: async () => {} }
      const { content } = await callTool(tool, given, call)
      return content.map(textOf).join('\n')
    },
  }
}

function textOf(part: Part): string {
  return part.type === 'text' ? part.text : `(${part.mimeType}, which is not shown here)`
}

type Tools = readonly MailroomTool[]

export type AiSdkTool = {
  description: string
  inputSchema: z.ZodType
  execute(given: unknown, options: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

/** For `tools` of the Vercel AI SDK, version 5 and newer. */
export function toAiSdk(tools: Tools): Record<string, AiSdkTool> {
  const toolOf = ({ description, schema, run }: MailroomTool): AiSdkTool => ({
    description,
    inputSchema: schema,
    execute: (given, { abortSignal: signal }) => run(given, { signal }),
  })
  return Object.fromEntries(tools.map((tool) => [tool.name, toolOf(tool)]))
}

/** For `tools` of an agent of the OpenAI Agents SDK; `makeTool` is its function `tool`. */
export function toOpenAI<Made>(tools: Tools, makeTool: (options: never) => Made): Made[] {
  const make = makeTool as (options: object) => Made
  return tools.map(({ name, description, jsonSchema: parameters, run }) =>
    // A strict schema has no optional arguments.
    make({ name, description, parameters, strict: false, execute: (given: unknown) => run(given) }),
  )
}

/** For `tools` of an agent of LangChain; `makeTool` is its function `tool`. */
export function toLangChain<Made>(
  tools: Tools,
  makeTool: (run: never, fields: never) => Made,
): Made[] {
  const make = makeTool as (run: MailroomTool['run'], fields: object) => Made
  return tools.map(({ name, description, jsonSchema: schema, run }) =>
    make((given, config) => run(given, { signal: config?.signal }), { name, description, schema }),
  )
}
