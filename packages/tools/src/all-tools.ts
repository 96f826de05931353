// The table of tools: which of them an access has, and how one is called.

import type { Access } from './access.ts'
import { getAttachment } from './attachment-tool.ts'
import { claimThread, labelThread, releaseThread } from './claim-tools.ts'
import { deleteDraft, listDrafts, saveDraft, sendDraft } from './draft-tools.ts'
import { createInbox, getLimits, listInboxes } from './inbox-tools.ts'
import { explain, isExpected } from './problem.ts'
import {
  deleteThread,
  listUnread,
  markThread,
  readMessage,
  readThread,
  searchMail,
} from './reading-tools.ts'
import type { Restriction, Scope } from './restriction.ts'
import { getSandboxMail, simulateInbound } from './sandbox-tools.ts'
import {
  answerInvitation,
  cancelSend,
  checkSend,
  forward,
  getDeliveryStatus,
  listHeld,
  listSent,
  reply,
  sendMail,
} from './sending-tools.ts'
import type { Answer, Call, JsonSchema, Part, Tool, Values } from './tool.ts'
import { uploadLink } from './upload-tool.ts'
import { waitForMail } from './waiting-tool.ts'

export const allTools: readonly Tool[] = [
  listInboxes,
  createInbox,
  getLimits,
  listUnread,
  readThread,
  readMessage,
  waitForMail,
  checkSend,
  sendMail,
  reply,
  forward,
  answerInvitation,
  listDrafts,
  saveDraft,
  sendDraft,
  deleteDraft,
  markThread,
  labelThread,
  claimThread,
  releaseThread,
  deleteThread,
  searchMail,
  getAttachment,
  uploadLink,
  listSent,
  listHeld,
  cancelSend,
  getDeliveryStatus,
  getSandboxMail,
  simulateInbound,
]

/** The smallest set with which an agent can do its work. */
export const coreTools: readonly Tool[] = [
  listInboxes,
  listUnread,
  readThread,
  waitForMail,
  searchMail,
  getAttachment,
  sendMail,
  reply,
  saveDraft,
  claimThread,
  releaseThread,
  labelThread,
]

function isCore(tool: Tool): boolean {
  return coreTools.includes(tool)
}

export type ToolSetReading =
  | { readonly kind: 'tools'; readonly tools: readonly string[] | null }
  | { readonly kind: 'mistake'; readonly message: string }

/** Reads `all`, `core` or names of tools. A null result means all tools. */
export function readToolSet(text: string): ToolSetReading {
  const wanted = text.split(',').map((name) => name.trim())
  const names = new Set(allTools.map(({ name }) => name))
  const unknown = wanted.find((one) => one !== 'all' && one !== 'core' && !names.has(one))
  if (unknown !== undefined) {
    const message = `must be all, core, or names of tools with commas between them, not ${JSON.stringify(unknown)}. The tools are ${[...names].join(', ')}.`
    return { kind: 'mistake', message }
  }
  return { kind: 'tools', tools: wanted.includes('all') ? null : wanted }
}

/** The arguments that a connection sees. */
export function schemaOf({ inputSchema, coreSchema }: Tool, { tools }: Restriction): JsonSchema {
  return tools?.includes('core') ? coreSchema : inputSchema
}

export function isGranted({ scope, otherScopes }: Tool, granted: readonly Scope[]): boolean {
  return [scope, ...otherScopes].some((one) => granted.includes(one))
}

export type Offer = 'offered' | 'hidden' | 'refused'

/** A refused tool is not listed, and calling it returns the reason. */
export function offerOf(
  tool: Tool,
  { isSandbox, restriction }: Pick<Access, 'restriction' | 'isSandbox'>,
): Offer {
  const { inbox, inboxIds, scopes, tools, isReadOnly } = restriction
  if (tool.isOfSandbox && !isSandbox) return 'hidden'
  const isRefused =
    (isReadOnly && !tool.isReading) ||
    (tool.isOfAccount && (inbox !== null || inboxIds !== null)) ||
    (scopes !== null && !isGranted(tool, scopes)) ||
    (tools !== null && !tools.includes(tool.name) && !(tools.includes('core') && isCore(tool)))
  return isRefused ? 'refused' : 'offered'
}

export type Outcome = {
  readonly content: readonly Part[]
  /** The structured content; null for a tool that declares no values. */
  readonly values: Values | null
  readonly isError: boolean
}

/**
 * Calls a tool. A failure becomes an answer that says what the model can do; an aborted call
 * rejects, because its answer is never read.
 */
export async function callTool(
  tool: Tool,
  given: unknown,
  call: Omit<Call, 'has'>,
): Promise<Outcome> {
  const { access, signal } = call
  const has = (name: string) =>
    allTools.some((one) => one.name === name && offerOf(one, access) === 'offered')
  try {
    const leased = withLeaseOf(given, access)
    const answer = await tool.run(given, { ...call, has, access: leased })
    return { ...partsOf(answer), isError: false }
  } catch (thrown) {
    signal.throwIfAborted()
    if (!isExpected(thrown)) access.onFault(thrown)
    return { ...partsOf(explain(thrown)), isError: true }
  }
}

/** Tools that change a thread accept the token of its claim. */
function withLeaseOf(given: unknown, access: Access): Access {
  const { lease_token } = Object(given) as { lease_token?: unknown }
  return typeof lease_token === 'string' ? access.withLease(lease_token) : access
}

function partsOf(answer: Answer): Pick<Outcome, 'content' | 'values'> {
  if (typeof answer === 'string') return { content: [{ type: 'text', text: answer }], values: null }
  if (isParts(answer)) return { content: answer, values: null }
  const { text, values } = answer
  return { content: [{ type: 'text', text }], values: { text, ...values } }
}

function isParts(answer: Exclude<Answer, string>): answer is readonly Part[] {
  return Array.isArray(answer)
}
