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
import type { Answer, Call, Part, Tool } from './tool.ts'
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
  listSent,
  listHeld,
  cancelSend,
  getDeliveryStatus,
  getSandboxMail,
  simulateInbound,
]

export type Offer = 'offered' | 'hidden' | 'refused'

/** A refused tool is not listed, and calling it returns the reason. */
export function offerOf(tool: Tool, { isSandbox, restriction }: Access): Offer {
  if (tool.isOfSandbox && !isSandbox) return 'hidden'
  if (restriction.isReadOnly && !tool.isReading) return 'refused'
  return tool.isOfAccount && restriction.inbox !== null ? 'refused' : 'offered'
}

export type Outcome = { readonly content: readonly Part[]; readonly isError: boolean }

/**
 * Calls a tool. A failure is an answer that tells the model what to do; an aborted call rejects,
 * because its answer is never read.
 */
export async function callTool(tool: Tool, given: unknown, call: Call): Promise<Outcome> {
  try {
    const access = withLeaseOf(given, call.access)
    return { content: partsOf(await tool.run(given, { ...call, access })), isError: false }
  } catch (thrown) {
    call.signal.throwIfAborted()
    if (!isExpected(thrown)) call.access.onFault(thrown)
    return { content: partsOf(explain(thrown)), isError: true }
  }
}

/** Tools that change a thread accept the token of its claim. */
function withLeaseOf(given: unknown, access: Access): Access {
  const { lease_token } = Object(given) as { lease_token?: unknown }
  return typeof lease_token === 'string' ? access.withLease(lease_token) : access
}

function partsOf(answer: Answer): readonly Part[] {
  return typeof answer === 'string' ? [{ type: 'text', text: answer }] : answer
}
