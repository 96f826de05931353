// Every tool, in the order in which a model sees them.

import type { Access } from '#access.ts'
import { getAttachment } from './attachment-tool.ts'
import { createInbox, listInboxes } from './inbox-tools.ts'
import { listUnread, markThread, readMessage, readThread } from './reading-tools.ts'
import { getSandboxMail, simulateInbound } from './sandbox-tools.ts'
import { searchMail } from './search-tool.ts'
import { getDeliveryStatus, listSent, reply, sendMail } from './sending-tools.ts'
import type { Tool } from './tool.ts'
import { waitForMail } from './waiting-tool.ts'

export const allTools: readonly Tool[] = [
  listInboxes,
  createInbox,
  listUnread,
  readThread,
  readMessage,
  waitForMail,
  sendMail,
  reply,
  markThread,
  searchMail,
  getAttachment,
  listSent,
  getDeliveryStatus,
  getSandboxMail,
  simulateInbound,
]

export type Offer = 'offered' | 'hidden' | 'refused'

/** Refused tools are not listed either, and say why when they are called all the same. */
export function offerOf(tool: Tool, { isSandbox, narrowing }: Access): Offer {
  if (tool.isOfSandbox && !isSandbox) return 'hidden'
  if (narrowing.isReadOnly && !tool.isReading) return 'refused'
  return tool.isOfAccount && narrowing.inbox !== null ? 'refused' : 'offered'
}
