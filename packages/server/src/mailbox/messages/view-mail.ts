// Reads messages for views; `mail-reading` composes the text.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { EarlierText } from '@mailroom/mail-reading/view/fold-quotes.ts'
import { VIEW_TEXT_LENGTH_MAX } from '@mailroom/mail-reading/view/plain-body.ts'
import type { ViewedMessage } from '@mailroom/mail-reading/view/view-page.ts'
import { type ViewPage, viewPage } from '@mailroom/mail-reading/view/view-page.ts'
import {
  findViewedMessage,
  listEarlierMessages,
  listViewedMessages,
  type Message,
  type StoredView,
} from '#mailbox/messages/store/messages.ts'
import { findThread } from '#mailbox/threads/store/threads.ts'
import type { Parser } from '#parser/parser.ts'
import type { Chance } from '#platform/chance.ts'
import { notFound } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'
import { withParsedTexts } from './present-message.ts'

/** The text and HTML of a view are cut to this total. One message alone may have more. */
const VIEW_THREAD_LENGTH_MAX = 6_000_000
/** The window of messages moves in steps, so that offsets stay valid in between. */
const VIEW_MESSAGES_MAX = 100
const VIEW_MESSAGES_STEP = 50

type ViewDeps = { db: Db; parser: Parser; chance: Chance }

export type ViewOptions = {
  readonly accountId: string
  /** The limit is in code points. */
  readonly maxChars: number
  /** The offset counts code points after the opening boundary line. */
  readonly offset: number
  readonly hasFullLinks: boolean
  readonly isUnfolded: boolean
}

export async function viewMessage(
  deps: ViewDeps,
  { messageId, ...options }: ViewOptions & { readonly messageId: string },
): Promise<ViewPage> {
  const { accountId } = options
  const asked = { accountId, messageId, bodyLengthMax: VIEW_THREAD_LENGTH_MAX }
  const stored = await findViewedMessage(deps.db, asked)
  if (stored === null) throw notFound()
  const earlier = options.isUnfolded ? [] : await earlierOf(deps, stored.message, accountId)
  const rooms = { room: VIEW_THREAD_LENGTH_MAX, filesRoom: { left: VIEW_FILES_LENGTH_MAX } }
  const shown = await shownOf(deps, stored, { ...options, ...rooms, earlier })
  const title = `# Message of thread ${stored.message.threadId}`
  return viewPage({ title, notes: [], messages: [shown], chance: deps.chance, ...options })
}

export async function viewThread(
  deps: ViewDeps,
  { threadId, ...options }: ViewOptions & { readonly threadId: string },
): Promise<ViewPage> {
  const { accountId } = options
  const thread = await findThread(deps.db, accountId, threadId)
  if (thread === null) throw notFound()
  const after = firstShown(thread.messageCount)
  const messages: ViewedMessage[] = []
  const earlier: EarlierText[] = []
  let room = VIEW_THREAD_LENGTH_MAX
  const filesRoom = { left: VIEW_FILES_LENGTH_MAX }
  const asked = { accountId, threadId, after, limit: VIEW_MESSAGES_MAX, readLength: () => room }
  for await (const stored of listViewedMessages(deps.db, asked)) {
    const rooms = { room, filesRoom }
    const shown = await shownOf(deps, stored, { ...options, ...rooms, earlier: nearest(earlier) })
    earlier.push({ text: stored.message.bodyText, html: stored.message.bodyHtml })
    if (earlier.length > EARLIER_MESSAGES_MAX) earlier.shift()
    room = Math.max(0, room - lengthOf(stored.message))
    messages.push(shown)
  }
  const count = `${thread.messageCount} ${thread.messageCount === 1 ? 'message' : 'messages'}`
  const title = `# Thread ${thread.id}: ${count}, ${thread.isRead ? 'read' : 'unread'}`
  const notes = notesOf({ threadId, after, messages })
  return viewPage({ title, notes, messages, chance: deps.chance, ...options })
}

/** Most messages quote the one directly before them. */
const EARLIER_MESSAGES_MAX = 20
/** The total is in UTF-16 units. It is small because it is searched again for each message. */
const EARLIER_LENGTH_MAX = 256 * 1024

async function earlierOf(
  { db }: ViewDeps,
  { id, threadId }: Message,
  accountId: string,
): Promise<EarlierText[]> {
  const asked = { accountId, threadId, messageId: id, limit: EARLIER_MESSAGES_MAX }
  const earlier = await listEarlierMessages(db, { ...asked, bodyLengthMax: EARLIER_LENGTH_MAX })
  return nearest(earlier.map(({ bodyText, bodyHtml }) => ({ text: bodyText, html: bodyHtml })))
}

/** The first text may be cut. */
function nearest(earlier: readonly EarlierText[]): EarlierText[] {
  const kept: EarlierText[] = []
  let room = EARLIER_LENGTH_MAX
  for (const { text, html } of earlier.toReversed()) {
    const one = { text: text.slice(0, room), html: '' }
    one.html = html.slice(0, room - one.text.length)
    room -= one.text.length + one.html.length
    kept.unshift(one)
    if (room <= 0) break
  }
  return kept
}

function lengthOf({ bodyText, bodyHtml }: Message): number {
  return bodyText.length + bodyHtml.length
}

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
  const last = `Messages are oldest first. For the newest only, use GET /v1/messages/${newest?.id}/view`
  return [...(after > 0 ? [older] : []), ...(messages.length > 1 ? [last] : [])]
}

/** `room` is in UTF-16 units. */
async function shownOf(
  { db, parser }: ViewDeps,
  { message, inboxAddress, isFirstContact }: StoredView,
  {
    hasFullLinks,
    isUnfolded,
    earlier,
    room,
    filesRoom,
  }: Pick<ViewOptions, 'hasFullLinks' | 'isUnfolded'> & {
    readonly earlier: readonly EarlierText[]
    readonly room: number
    readonly filesRoom: FilesRoom
  },
): Promise<ViewedMessage> {
  const { bodyText, bodyHtml, defects } = message
  const isBeyond = lengthOf(message) >= room
  const html = bodyHtml.length > room ? '' : bodyHtml
  const textMax = Math.max(0, Math.min(VIEW_TEXT_LENGTH_MAX, room))
  const text = bodyText.slice(0, textMax)
  const body = await parser.makeView({ text, html, defects, hasFullLinks, isUnfolded, earlier })
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
    attachments: beginningsOf(await withParsedTexts(db, message), filesRoom),
    invites: message.invites,
    body: html === bodyHtml ? body : { ...body, source: 'unread-html' },
    isBeyond: isBeyond || bodyText.length > textMax,
  }
}

/** The limit is in UTF-16 units. */
const VIEW_FILES_LENGTH_MAX = 200_000

type FilesRoom = { left: number }

function beginningsOf(
  files: Awaited<ReturnType<typeof withParsedTexts>>,
  room: FilesRoom,
): ViewedMessage['attachments'] {
  return files.map(({ parsedText, ...file }) => {
    if (parsedText === null || parsedText === '' || room.left === 0) return file
    const text = parsedText.slice(0, room.left).toWellFormed()
    room.left -= text.length
    return { ...file, beginning: { text, isCut: text.length < parsedText.length } }
  })
}

function senderOf({ direction, authentication }: Message): ViewedMessage['sender'] {
  if (direction === 'outbound') return { kind: 'own' }
  const found = authentication as Authentication | null
  if (found === null) return { kind: 'unchecked' }
  return found.verifiedFrom
    ? { kind: 'verified', domain: found.dmarc.domain }
    : { kind: 'unverified' }
}
