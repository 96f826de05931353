import { formatMailbox, parseAddressList } from '@mailroom/mail/address-list.ts'
import type { OutgoingMessage } from '@mailroom/mail/compose/compose-message.ts'
import {
  COMPOSED_HEADER_OCTETS_MAX,
  replySubject,
  trimReferences,
} from '@mailroom/mail/compose/header-text.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import {
  findCopiedFrom,
  findLastMessage,
  findThread,
  listThreadIds,
  type Message,
  type Thread,
} from '#mailbox/mailbox-rows.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { findSuppressed } from './suppression-rows.ts'

type SendAttachment = {
  filename: string
  contentType: string
  /** May be freed after the send, if it is large and has memory of its own. */
  content: Uint8Array
  /** For an image that the HTML refers to as `cid:…`. */
  contentId: string | null
}

export type SendMessage = {
  accountId: string
  inboxId: string
  idempotencyKey: string
  /** SHA-256 of the request: the same key with another one is refused. */
  requestHash: Uint8Array
  to: string
  cc: string[]
  body: string
  bodyHtml: string | null
  /** Null only with `threadId`. */
  subject: string | null
  threadId: string | null
  includeQuote: boolean
  replyTo: string | null
  attachments: SendAttachment[]
  /** Whether the message has a link by which its one recipient can unsubscribe. */
  hasUnsubscribe: boolean
}

export type Replied = {
  thread: Thread
  /** The newest message. */
  last: Message
  /** Message-IDs of the thread, oldest first: all, or the first and the newest where a header cannot hold all. */
  rfcMessageIds: string[]
  /** The author who wrote to others and copied the inbox; null without one, or if suppressed. */
  copiedBy: string | null
}

/** Null for a send that starts a thread; `not_found` when the inbox has no such thread. */
export async function readReplied(
  deps: { db: Db },
  { inbox, threadId }: { inbox: Inbox; threadId: string | null },
): Promise<Replied | null> {
  if (threadId === null) return null
  const { accountId } = inbox
  const thread = await findThread(deps.db, accountId, threadId)
  if (thread === null || thread.inboxId !== inbox.id) throw noThread()
  const [last, rfcMessageIds, from] = await Promise.all([
    findLastMessage(deps.db, { accountId, threadId }),
    listThreadIds(deps.db, { accountId, threadId, octetsMax: COMPOSED_HEADER_OCTETS_MAX }),
    findCopiedFrom(deps.db, { accountId, threadId }),
  ])
  // Its inbox has been deleted meanwhile.
  if (last === null) throw notFound()
  return { thread, last, rfcMessageIds, copiedBy: await findCopier(deps, accountId, from) }
}

function noThread() {
  const fix = 'Use the id of a thread of this inbox, or leave threadId out to start one.'
  return problem('not_found', notFound().message, { fix })
}

/** The author's bare address, unless it is suppressed. */
async function findCopier(
  deps: { db: Db },
  accountId: string,
  fromAddr: string | null,
): Promise<string | null> {
  const address = fromAddr === null ? undefined : parseAddressList(fromAddr)[0]?.address
  if (address === undefined || checkEmailAddress(address) !== null) return null
  const suppressed = await findSuppressed(deps.db, accountId, [addressKey(address)])
  return suppressed === null ? address : null
}

type Addressees = {
  /** For the header; includes the author who copied the inbox and expects to see the replies. */
  cc: string[]
  /** Envelope recipients, each once. */
  recipients: string[]
}

export function addressSend(
  { to, cc }: SendMessage,
  { inbox, replied }: { inbox: Inbox; replied: Replied | null },
): Addressees {
  const copier = replied?.copiedBy ?? null
  const isPresent = (key: string) =>
    [to, ...cc, inbox.address].some((address) => addressKey(address) === key)
  const all = copier === null || isPresent(addressKey(copier)) ? cc : [...cc, copier]
  const byKey = new Map<string, string>()
  for (const address of [to, ...all]) {
    const key = addressKey(address)
    if (!byKey.has(key)) byKey.set(key, address)
  }
  return { cc: all, recipients: [...byKey.values()] }
}

export type Composition = {
  outgoing: Omit<OutgoingMessage, 'messageId' | 'dateMs' | 'hopMark' | 'unsubscribeUrl'>
  /** The text without its quote. */
  ownText: string
}

/** The message except its identifier and its date. */
export async function composeSend(
  deps: { parser: Parser },
  input: SendMessage,
  { inbox, replied, cc }: { inbox: Inbox; replied: Replied | null; cc: string[] },
): Promise<Composition> {
  const { to, replyTo } = input
  const [body, bodyHtml] = [withLineFeeds(input.body), withLineFeeds(input.bodyHtml ?? '')]
  const quote = replied !== null && input.includeQuote ? originalOf(replied.last) : null
  const { text, html, ownText } = await deps.parser.makeBodies({ body, bodyHtml, quote })
  // A reply has the subject of its thread, even if the client sends another.
  const subject = replied === null ? (input.subject ?? '') : replySubject(replied.thread.subject)
  const texts = [inbox.displayName ?? '', inbox.address, to, replyTo ?? '', subject, ...cc]
  const references = trimReferences(replied?.rfcMessageIds ?? [], texts)
  return {
    outgoing: {
      from: { name: inbox.displayName, address: inbox.address },
      to: [to],
      cc,
      replyTo,
      subject,
      text,
      html,
      inReplyTo: references.at(-1) ?? null,
      references,
      attachments: input.attachments.map((attachment) => ({
        ...attachment,
        isInline: attachment.contentId !== null,
      })),
    },
    ownText,
  }
}

/** Received bodies are stored with LF too; forms always send CRLF. */
function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

/** The author of mail without a From and with the null reverse-path. */
const NOBODY = 'an unknown sender'

function originalOf(message: Message) {
  const [author] = parseAddressList(message.fromAddr)
  return {
    dateMs: message.createdAtMs,
    fromName:
      author === undefined ? message.fromAddr || NOBODY : author.name || formatMailbox(author),
    text: message.bodyText,
    html: message.bodyHtml,
  }
}
