// The MCP server on standard input and output.

import { runStdio } from '@mailroom/mcp/stdio.ts'
import { readToolSet } from '@mailroom/tools/all-tools.ts'
import { readRestrictionSettings } from '@mailroom/tools/read-restriction.ts'
import { Failure } from '#base/failure.ts'
import { openSession } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

export type McpOptions = CommonOptions & {
  readonly inbox?: string
  readonly tools?: string
  readonly readOnly?: true
}

/** Runs until the client disconnects. Options and settings can only restrict access. */
export async function serveMcp(options: McpOptions): Promise<void> {
  const reading = readRestrictionSettings(process.env)
  if (reading.kind === 'mistake') throw new Failure('usage', reading.message)
  const { inbox, isReadOnly, tools } = reading.restriction
  if (inbox !== null && options.inbox !== undefined && options.inbox !== inbox) {
    const fix = 'Omit one of them.'
    throw new Failure('usage', '--inbox and MAILROOM_MCP_INBOX name different inboxes.', fix)
  }
  if (tools !== null && options.tools !== undefined) {
    const fix = 'Omit one of them.'
    throw new Failure('usage', '--tools and MAILROOM_MCP_TOOLS are both given.', fix)
  }
  const wanted = readToolSet(options.tools ?? 'all')
  if (wanted.kind === 'mistake') throw new Failure('usage', `--tools ${wanted.message}`)
  const { baseUrl, apiKey } = await openSession(options)
  const restriction = {
    ...reading.restriction,
    inbox: options.inbox ?? inbox,
    tools: tools ?? wanted.tools,
    isReadOnly: isReadOnly || options.readOnly === true,
  }
  await runStdio({ baseUrl, apiKey, restriction })
}
