// The MCP server on standard input and output.

import { runStdio } from '@mailroom/mcp/stdio.ts'
import { readRestrictionSettings } from '@mailroom/tools/restriction.ts'
import { Failure } from '#base/failure.ts'
import { openSession } from '#base/session.ts'
import type { CommonOptions } from './run-operation.ts'

export type McpOptions = CommonOptions & { readonly inbox?: string; readonly readOnly?: true }

/** Runs until the client disconnects. Options and settings can only restrict access. */
export async function serveMcp(options: McpOptions): Promise<void> {
  const reading = readRestrictionSettings(process.env)
  if (reading.kind === 'mistake') throw new Failure('usage', reading.message)
  const { inbox, isReadOnly } = reading.restriction
  if (inbox !== null && options.inbox !== undefined && options.inbox !== inbox) {
    const fix = 'Omit one of them.'
    throw new Failure('usage', '--inbox and MAILROOM_MCP_INBOX name different inboxes.', fix)
  }
  const { baseUrl, apiKey } = await openSession(options)
  await runStdio({
    baseUrl,
    apiKey,
    inbox: options.inbox ?? inbox,
    isReadOnly: isReadOnly || options.readOnly === true,
  })
}
