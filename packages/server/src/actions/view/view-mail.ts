// The view that a model reads: of one message, or of a thread. What it says is put together by `mail`;
// here it is read, within bounds over all messages of a view.

import type { Deps } from '#actions/deps.ts'
import {
  VIEW_MESSAGES_MAX,
  VIEW_MESSAGES_STEP,
  VIEW_TEXT_LENGTH_MAX,
  VIEW_THREAD_LENGTH_MAX,
} from '#base/limits.ts'
import type { Authentication } from '#mail/authentication.ts'
import { type ViewPage, viewPage } from '#mail/view/view-page.ts'
import type { ViewedMessage } from '#mail/view/viewed-message.ts'
import type { Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import { findThread } from '#store/thread.ts'
import { findViewedMessage, listViewedMessages, type StoredView } from '#store/viewed-message.ts'

type ViewDeps = Pick<Deps, 'db' | 'parser' | 'chance'>

export type ViewOptions = {
  readonly accountId: string
  /** Of the answer, in code points. */
  readonly maxChars: number
  /** In the text that stands between the marks, in code points. */
  readonly offset: number
  readonly hasFullLinks: boolean
}

/** `not_found` when the account has no such message. */
export async function viewMessage(
  deps: ViewDeps,
  { messageId, ...options }: ViewOptions & { readonly messageId: string },
): Promise<ViewPage> {
  const { accountId } = options
  const asked = { accountId, messageId, bodyLengthMax: VIEW_THREAD_LENGTH_MAX }
  const stored = await findViewedMessage(deps.db, asked)
  if (stored === null) throw notFound()
  const shown = await shownOf(deps, stored, { ...options, room: VIEW_THREAD_LENGTH_MAX })
  const title = `# Message of thread ${stored.message.threadId}`
  return viewPage({ title, notes: [], messages: [shown], chance: deps.chance, ...options })
}

/** Oldest message first. `not_found` when the account has no such thread. */
export async function viewThread(
  deps: ViewDeps,
  { threadId, ...options }: ViewOptions & { readonly threadId: string },
): Promise<ViewPage> {
  const { accountId } = options
  const thread = await findThread(deps.db, accountId, threadId)
  if (thread === null) throw notFound()
  const after = firstShown(thread.messageCount)
  const messages: ViewedMessage[] = []
  let room = VIEW_THREAD_LENGTH_MAX
  const asked = { accountId, threadId, after, limit: VIEW_MESSAGES_MAX, readLength: () => room }
  for await (const stored of listViewedMessages(deps.db, asked)) {
    const shown = await shownOf(deps, stored, { ...options, room })
    room = Math.max(0, room - lengthOf(stored.message))
    messages.push(shown)
  }
  const count = `${thread.messageCount} ${thread.messageCount === 1 ? 'message' : 'messages'}`
  const title = `# Thread ${thread.id}: ${count}, ${thread.isRead ? 'read' : 'unread'}`
  const notes = notesOf({ threadId, after, messages })
  return viewPage({ title, notes, messages, chance: deps.chance, ...options })
}

function lengthOf({ bodyText, bodyHtml }: Message): number {
  return bodyText.length + bodyHtml.length
}

/** In steps: between two of them a message that comes in changes no offset. */
function firstShown(count: number): number {
  if (count <= VIEW_MESSAGES_MAX) return 0
  return Math.ceil((count - VIEW_MESSAGES_MAX) / VIEW_MESSAGES_STEP) * VIEW_MESSAGES_STEP
}

function notesOf(view: {
  readonly threadId: string
  readonly after: number
  readonly messages: readonly ViewedMessage[]
}): string[] {
  const { threadId, after, messages } = view
  const newest = messages.at(-1)
  const older = `The oldest ${after} are not in this view: GET /v1/threads/${threadId}/messages.`
  const last = `Oldest first. The newest alone: GET /v1/messages/${newest?.id}/view`
  return [...(after > 0 ? [older] : []), ...(messages.length > 1 ? [last] : [])]
}

/** `room`: how much text and HTML may still be read for the view, in UTF-16 units. */
async function shownOf(
  { parser }: ViewDeps,
  { message, inboxAddress, isFirstContact }: StoredView,
  { hasFullLinks, room }: { readonly hasFullLinks: boolean; readonly room: number },
): Promise<ViewedMessage> {
  const { bodyText, bodyHtml } = message
  const isBeyond = lengthOf(message) >= room
  const html = bodyHtml.length > room ? '' : bodyHtml
  const textMax = Math.max(0, Math.min(VIEW_TEXT_LENGTH_MAX, room))
  const body = await parser.makeView({ text: bodyText.slice(0, textMax), html, hasFullLinks })
  return {
    id: message.id,
    threadId: message.threadId,
    inboxAddress,
    direction: message.direction,
    status: message.status,
    dateMs: message.createdAtMs,
    from: message.fromAddr,
    to: message.headerTo ?? message.toAddr,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    sender: senderOf(message),
    isFirstContact,
    automaticReason: message.automaticReason,
    attachments: message.attachments,
    body: html === bodyHtml ? body : { ...body, source: 'unread-html' },
    isBeyond: isBeyond || bodyText.length > textMax,
  }
}

function senderOf({ direction, authentication }: Message): ViewedMessage['sender'] {
  if (direction === 'outbound') return { kind: 'own' }
  const found = authentication as Authentication | null
  if (found === null) return { kind: 'unchecked' }
  return found.verifiedFrom
    ? { kind: 'verified', domain: found.dmarc.domain }
    : { kind: 'unverified' }
}
