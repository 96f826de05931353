import { RECIPIENTS_MAX } from '@mailroom/contract/sending.ts'
import type { BodyFormat } from '@mailroom/contract/vocabulary.ts'
import { formatMailbox, parseAddressList } from '@mailroom/mail/address-list.ts'
import type { OutgoingMessage } from '@mailroom/mail/compose/compose-message.ts'
import {
  COMPOSED_HEADER_OCTETS_MAX,
  replySubject,
  trimReferences,
} from '@mailroom/mail/compose/header-text.ts'
import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'
import type { Forwarded } from '@mailroom/mail-reading/quote/body-parts.ts'
import { findServingDomains } from '#domains/store/domains.ts'
import { type Inbox, inboxAddressOf } from '#inboxes/inboxes.ts'
import { findInboxByAddress } from '#inboxes/store/inboxes.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import {
  findCopiedFrom,
  findThread,
  listRecentMessages,
  listThreadIds,
  type RecentMessage,
  type Thread,
} from '#mailbox/threads/store/threads.ts'
import { findSuppressed } from '#outbound/suppressions/store/suppressions.ts'
import type { Parser } from '#parser/parser.ts'
import type { Clock } from '#platform/clock.ts'
import {
  addressKey,
  checkWrittenAddress,
  domainOf,
  mailboxOf,
  type Names,
  namesOf,
  unquote,
} from '#platform/email-address.ts'
import { problem, wrongField } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'
import { calendarOf, type SentInvite } from './invite-to-send.ts'
import { ownBodies } from './own-bodies.ts'

type SendAttachment = {
  filename: string
  contentType: string
  /** The buffer may be freed after the send if it is large and not shared. */
  content: Uint8Array
  /** Identifies an image that the HTML refers to as `cid:…`. */
  contentId: string | null
  /** Whether the file is shown within the message. The default is true with a `contentId`. */
  isInline?: boolean
  /** An alternative body for programs, such as a calendar. */
  isAlternative?: boolean
}

export type HeaderField = { readonly name: string; readonly value: string }

export type SendMessage = {
  accountId: string
  inboxId: string
  idempotencyKey: string
  /** SHA-256 of the request. The key cannot be reused for a different request. */
  requestHash: Uint8Array
  /** Null only with `replyAll`; the reply then goes to the author of the last message. */
  to: string[] | null
  cc: string[]
  bcc: string[]
  /** Names of recipients in To and Cc, and of `replyTo`. */
  names: Names
  /** Requires `threadId`. The reply also goes to the other recipients of its last message. */
  replyAll: boolean
  headers: readonly HeaderField[]
  body: string
  /** Null unless the format is `auto`. */
  bodyHtml: string | null
  format: BodyFormat
  includeSignature: boolean
  subject: string | null
  threadId: string | null
  includeQuote: boolean
  replyTo: string | null
  attachments: SendAttachment[]
  invite?: SentInvite | null
  /** Adds a link with which the only recipient can unsubscribe. */
  hasUnsubscribe: boolean
  /** Whether a program replies or sends by itself (RFC 3834 §5). */
  isAutomatic: boolean
  sendAtMs: number | null
  /** The forwarded message follows the body. It excludes a `threadId`. */
  forwarded?: Forwarded & { readonly threadId: string }
  /** SHA-256 of a worker's lease token, or null without a lease. */
  leaseTokenHash: Uint8Array | null
}

export type Replied = {
  thread: Thread
  /** Received and queued messages, newest first. */
  recent: RecentMessage[]
  /**
   * Message-IDs, oldest first. If a header field cannot contain all of them, only the first and the
   * newest are included.
   */
  rfcMessageIds: string[]
  /** The author who wrote to others and copied the inbox, unless suppressed. */
  copiedBy: Mailbox | null
}

/** Returns null if the send starts a thread. Throws `not_found` or `thread_trashed`. */
export async function readReplied(
  deps: { db: Db },
  { inbox, threadId }: { inbox: Inbox; threadId: string | null },
): Promise<Replied | null> {
  if (threadId === null) return null
  const { accountId } = inbox
  const thread = await findThread(deps.db, accountId, threadId)
  if (thread === null || thread.inboxId !== inbox.id) throw noThread()
  if (thread.trashedAtMs !== null) throw problem('thread_trashed')
  const [recent, rfcMessageIds, from] = await Promise.all([
    listRecentMessages(deps.db, { accountId, threadId }),
    listThreadIds(deps.db, { accountId, threadId, octetsMax: COMPOSED_HEADER_OCTETS_MAX }),
    findCopiedFrom(deps.db, { accountId, threadId }),
  ])
  return { thread, recent, rfcMessageIds, copiedBy: await findCopier(deps, accountId, from) }
}

export function noThread() {
  const fix = 'Use the id of a thread of this inbox, or omit threadId to start a thread.'
  return problem('not_found', 'The inbox has no thread with this threadId.', { fix })
}

async function findCopier(
  deps: { db: Db },
  accountId: string,
  fromAddr: string | null,
): Promise<Mailbox | null> {
  const [author] = parseAddressList(fromAddr ?? '')
  if (author === undefined || checkWrittenAddress(author.address) !== null) return null
  const suppressed = await findSuppressed(deps.db, accountId, [addressKey(author.address)])
  return suppressed === null ? author : null
}

export type Addressees = {
  /** There is at least one address. */
  to: string[]
  /** Includes the author who copied the inbox and expects to see the replies. */
  cc: string[]
  bcc: string[]
  recipients: string[]
  /** A reply keeps the names in the message that it answers. */
  names: Names
  /** Null if the send starts a thread. */
  answered: Answered | null
}

/** Adds recipients from the thread. Throws `bad_request` if there are none or too many. */
export async function addressSend(
  deps: { db: Db; inboxDomain: string },
  input: SendMessage,
  { inbox, replied }: { inbox: Inbox; replied: Replied | null },
): Promise<Addressees> {
  const repliedToAll = input.replyAll ? await findRepliedToAll(deps, inbox, replied) : null
  const all =
    repliedToAll === null ? NO_ADDRESSEES : await readAddressees(deps, repliedToAll, inbox)
  const others = await withoutSuppressed(deps, inbox.accountId, [...all.to, ...all.cc])
  // If the inbox wrote to itself, the message has no other author.
  const to = input.to ?? (all.to.length > 0 ? all.to : others)
  if (to.length === 0)
    throw wrongField('to', 'is required, because the message being answered has no other address')
  const named = new Set([...to, ...input.cc, ...input.bcc, inbox.address].map(addressKey))
  const copier = replied?.copiedBy ?? null
  const cc = [...input.cc]
  for (const address of [...others, ...(copier === null ? [] : [copier.address])]) {
    const key = addressKey(address)
    if (named.has(key)) continue
    named.add(key)
    cc.push(address)
  }
  const byKey = new Map<string, string>()
  for (const address of [...to, ...cc, ...input.bcc]) {
    const key = addressKey(address)
    if (!byKey.has(key)) byKey.set(key, address)
  }
  checkCount({ ...input, to }, cc.length - input.cc.length)
  const answered = await findAnswered(deps, inbox, { replied, to })
  const known = new Map([
    ...(answered?.isQuotable ? namesIn(answered.message) : []),
    ...(repliedToAll === null ? [] : namesIn(repliedToAll)),
    ...namesOf(copier === null ? [] : [copier]),
    ...input.names,
  ])
  const shown = [...to, ...cc, ...(input.replyTo === null ? [] : [input.replyTo])]
  const names = namesOf(shown.map((address) => mailboxOf(known, address)))
  return { to, cc, bcc: input.bcc, recipients: [...byKey.values()], names, answered }
}

function namesIn({ names, fromAddr }: Message): Names {
  return new Map([...names, ...namesOf(parseAddressList(fromAddr))])
}

const NO_ADDRESSEES = { to: [], cc: [] }

/**
 * RECIPIENTS_MAX limits all fields together, except that one `to` may have as many `cc`. The author
 * who copied the inbox is not counted.
 */
export function checkCount(
  { to, cc, bcc, replyAll }: Pick<SendMessage, 'to' | 'cc' | 'bcc' | 'replyAll'>,
  addedCount: number,
): void {
  const isSingle = (to?.length ?? 0) === 1 && bcc.length === 0 && !replyAll
  const added = replyAll ? addedCount : 0
  const count = (to?.length ?? 0) + cc.length + bcc.length + added
  if (count <= RECIPIENTS_MAX || (isSingle && cc.length <= RECIPIENTS_MAX)) return
  const message = `has ${count} addresses with cc and bcc; at most ${RECIPIENTS_MAX} are allowed`
  throw wrongField('to', message)
}

async function findRepliedToAll(
  deps: { db: Db },
  { accountId }: Inbox,
  replied: Replied | null,
): Promise<Message | null> {
  const recent = replied?.recent ?? []
  const found = recent.find(({ isReceived }) => isReceived) ?? recent[0]
  return found === undefined ? null : findMessage(deps.db, accountId, found.id)
}

/**
 * A reply to all goes to Reply-To or From (or to the recipients of our own message) and to all
 * other recipients. Addresses of the inbox itself are ignored.
 */
async function readAddressees(
  deps: { db: Db; inboxDomain: string },
  message: Message,
  inbox: Inbox,
): Promise<{ to: string[]; cc: string[] }> {
  const isOutbound = message.direction === 'outbound'
  const usable = (addresses: readonly string[]) =>
    distinct(addresses.filter((address) => checkWrittenAddress(address) === null))
  const wanted = isOutbound ? [] : usable(addressesIn(message.replyTo ?? ''))
  const authors = usable(isOutbound ? message.to : addressesIn(message.fromAddr))
  const others = usable(isOutbound ? message.cc : [...message.to, ...message.cc])
  // A catch-all inbox also has the address at which it received the message.
  const own = new Set([inbox.address, comparedAddress(message.recipient ?? inbox.address)])
  const isOther = (address: string) => !own.has(comparedAddress(address))
  const chosen = () => {
    const asked = wanted.filter(isOther)
    return { to: asked.length > 0 ? asked : authors.filter(isOther), cc: others.filter(isOther) }
  }
  const { to, cc } = chosen()
  const count = to.length + cc.length
  if (Math.max(count, authors.length) > ANSWERED_MAX) {
    const allowed = `at most ${RECIPIENTS_MAX} are allowed`
    throw wrongField('to', `has ${count} addresses in a reply to all; ${allowed}`)
  }
  const asked = [...wanted, ...authors, ...others]
  for (const address of await findOwnAddresses(deps, inbox, asked)) own.add(address)
  return chosen()
}

/** Finds addresses without tags that reach the inbox through a subdomain or a catch-all. */
async function findOwnAddresses(
  { db, inboxDomain }: { db: Db; inboxDomain: string },
  inbox: Inbox,
  addresses: readonly string[],
): Promise<string[]> {
  const compared = new Set(addresses.map(comparedAddress))
  const domains = [...new Set([...compared].map(domainOf))]
  const serving = await findServingDomains({ db, inboxDomain }, domains)
  const own: string[] = []
  for (const address of compared) {
    const served = serving.get(domainOf(address))
    if (served?.accountId !== inbox.accountId) continue
    const localPart = address.slice(0, address.lastIndexOf('@'))
    const reached =
      (await findInboxByAddress(db, address)) ??
      (await findInboxByAddress(db, `${localPart}@${served.domain}`))
    if ((reached?.id ?? served.catchAllInboxId) === inbox.id) own.push(address)
  }
  return own
}

/**
 * Higher than RECIPIENTS_MAX, because suppressed recipients are dropped before that limit applies.
 * A limit is needed, because the sender of a hostile message chooses the number.
 */
const ANSWERED_MAX = 4 * RECIPIENTS_MAX

function distinct(addresses: readonly string[]): string[] {
  return [...new Map(addresses.map((address) => [addressKey(address), address])).values()]
}

function addressesIn(list: string): string[] {
  return parseAddressList(list).map(({ address }) => address)
}

function comparedAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return inboxAddressOf(unquote(address.slice(0, at)), address.slice(at + 1))
}

async function withoutSuppressed(
  deps: { db: Db },
  accountId: string,
  addresses: readonly string[],
): Promise<string[]> {
  const isFree = async (address: string) =>
    (await findSuppressed(deps.db, accountId, [addressKey(address)])) === null
  const answers = await Promise.all(addresses.map(isFree))
  return addresses.filter((_, index) => answers[index])
}

type Answered = {
  message: Message
  /** True if the message was received or a recipient knows it. Other messages are not disclosed. */
  isQuotable: boolean
}

/**
 * Finds the newest message that all of `to` wrote or received, else the newest that the first of
 * them did, else the newest received.
 */
async function findAnswered(
  deps: { db: Db },
  { accountId }: Inbox,
  { replied, to }: { replied: Replied | null; to: readonly string[] },
): Promise<Answered | null> {
  const recent = (replied?.recent ?? []).map((message) => ({
    ...message,
    keys: new Set(message.parties.map(addressKey)),
  }))
  const keys = to.map(addressKey)
  const shared =
    recent.find((message) => keys.every((key) => message.keys.has(key))) ??
    recent.find((message) => keys[0] !== undefined && message.keys.has(keys[0]))
  const chosen = shared ?? recent.find(({ isReceived }) => isReceived) ?? recent[0]
  const message = chosen && (await findMessage(deps.db, accountId, chosen.id))
  if (!message) return null
  return { message, isQuotable: shared !== undefined || chosen.isReceived }
}

export type Composition = {
  outgoing: Omit<OutgoingMessage, 'messageId' | 'dateMs' | 'hopMark' | 'unsubscribeUrl'>
  ownText: string
}

/** The result has no Message-ID and no Date yet. */
export async function composeSend(
  deps: { parser: Parser; clock: Clock },
  input: SendMessage,
  {
    inbox,
    replied,
    answered,
    to,
    cc,
    names,
    rfcMessageId,
  }: Pick<Addressees, 'to' | 'cc' | 'names' | 'answered'> & {
    inbox: Inbox
    replied: Replied | null
    rfcMessageId: string
  },
): Promise<Composition> {
  const { replyTo } = input
  const signature = input.includeSignature ? inbox.signature : null
  const own = await ownBodies(deps, { ...input, accountId: inbox.accountId, signature })
  const quoted = answered?.isQuotable && input.includeQuote ? originalOf(answered.message) : null
  const quote = input.forwarded ?? quoted
  const { text, html, ownText } = await deps.parser.makeBodies({ ...own, quote })
  // A reply has the subject of its thread, even if the request has another.
  const subject = replied === null ? (input.subject ?? '') : replySubject(replied.thread.subject)
  const calendar =
    input.invite == null
      ? []
      : [await calendarOf(deps, input.invite, { inbox, to, cc, subject, rfcMessageId })]
  const extra = input.headers.flatMap(({ name, value }) => [name, value])
  const named = (address: string) => mailboxOf(names, address)
  const fields = {
    from: { name: inbox.displayName ?? '', address: inbox.address },
    to: to.map(named),
    cc: cc.map(named),
    replyTo: replyTo === null ? null : named(replyTo),
  }
  const people = Object.values(fields).flatMap((field) => field ?? [])
  const texts = [...people.map(formatMailbox), subject, ...extra]
  const references = trimReferences(referencesTo(replied, answered), texts)
  return {
    outgoing: {
      ...fields,
      subject,
      text,
      html,
      inReplyTo: references.at(-1) ?? null,
      references,
      extraFields: input.isAutomatic
        ? [autoSubmitted(replied !== null), ...input.headers]
        : input.headers,
      attachments: [...calendar, ...input.attachments].map((attachment) => ({
        ...attachment,
        isInline: attachment.isInline ?? attachment.contentId !== null,
      })),
    },
    ownText,
  }
}

/** The Message-ID of the answered message comes last (RFC 5322 §3.6.4). */
function referencesTo(replied: Replied | null, answered: Answered | null): string[] {
  const ids = replied?.rfcMessageIds ?? []
  const last = answered?.message.rfcMessageId
  return last ? [...ids.filter((id) => id !== last), last] : ids
}

export function autoSubmitted(isReply: boolean): HeaderField {
  return { name: 'Auto-Submitted', value: isReply ? 'auto-replied' : 'auto-generated' }
}

/** Shown for mail without From and with the null reverse-path. */
const UNKNOWN_AUTHOR = 'an unknown sender'

function originalOf(message: Message) {
  const [author] = parseAddressList(message.fromAddr)
  return {
    dateMs: message.createdAtMs,
    fromName:
      author === undefined
        ? message.fromAddr || UNKNOWN_AUTHOR
        : author.name || formatMailbox(author),
    text: message.bodyText,
    html: message.bodyHtml,
  }
}
