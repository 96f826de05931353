import type { CapturedMessage } from '@mailroom/contract/shapes/sandbox.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { completeLineFeeds, countLineEnds } from '@mailroom/mail/compose/encode-transfer.ts'
import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import type { Carrier } from '#delivery/carrier.ts'
import type { Signers } from '#domains/signers.ts'
import type { Handlers, Input } from '#http/handler.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { type AcceptedRecipient, findRecipient } from '#inbound/find-recipient.ts'
import type { CountedReport } from '#inbound/find-reported.ts'
import { findAtReturnPath } from '#inbound/find-reported.ts'
import type { Loop } from '#inbound/receive-mail.ts'
import { type ReceiveDeps, receiveMail } from '#inbound/receive-mail.ts'
import { domainOf } from '#inboxes/inbox.ts'
import { findOwnInbox } from '#inboxes/inbox-rows.ts'
import type { Extractions } from '#mailbox/extractions.ts'
import type { Message } from '#mailbox/message-rows.ts'
import { findMessage } from '#mailbox/message-rows.ts'
import {
  CUT_READ_LENGTH,
  cutBodies,
  presentAttachments,
  presentListed,
} from '#mailbox/present-message.ts'
import type { UrlSigner } from '#mailbox/signed-url.ts'
import type { Captured } from '#outbound/captured-message-rows.ts'
import * as store from '#outbound/captured-message-rows.ts'
import { removeCaptured } from '#outbound/captured-message-rows.ts'
import type { SendSettings } from '#outbound/check-send-rows.ts'
import type { SendAttachment } from '#outbound/compose-send.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import { checkEmailAddress } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import type { Db, Page } from '#schema/tables.ts'

type Needs = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  parser: Parser
  extractions: Extractions
  blobs: BlobStore | null
  inboxDomain: string
  publicUrl: string
  urlKey: Uint8Array
  sending: SendSettings
  signers: Signers
  sealer: Sealer
  deriveKey: (purpose: string) => Uint8Array
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
  queueClock: QueueClock
  carrier: Carrier | null
  laneOf: (domain: string) => string
  countReport: (outcome: CountedReport) => void
  wakeDelivery: () => void
  wakeEvents: () => void
}

export function sandboxHandlers(
  deps: Needs,
): Pick<Handlers, Extract<keyof Handlers, `sandbox.${string}`>> {
  return {
    'sandbox.list': async ({ query }, { accountId, takeSlot }) => {
      await takeSlot()
      const { captured, total } = await listCaptured(deps, { accountId, ...query })
      const nowMs = deps.clock.now()
      const data = []
      for await (const one of captured) data.push(presentCaptured(one, deps, nowMs))
      return { data, total }
    },
    'sandbox.clear': async (_input, { accountId }) => {
      await clearCaptured(deps, { accountId })
    },
    'sandbox.receive': async (input, { accountId }) => {
      const { messages } = await receiveInSandbox(deps, { accountId, mail: sandboxMail(input) })
      const nowMs = deps.clock.now()
      const data = await Array.fromAsync(presentListed(messages, deps, nowMs))
      return { data, total: data.length }
    },
  }
}

function sandboxMail({ body, query }: Input<'sandbox.receive'>): SandboxMail {
  if (body instanceof Uint8Array) {
    return { kind: 'raw', raw: body, from: query.from ?? null, to: query.to ?? null }
  }
  for (const path of ['from', 'to'] as const) {
    if (query[path] !== undefined) throw notWithFields(path)
  }
  const { from, to, subject, text = '', html = '', inReplyTo = null, attachments } = body
  const recipients = [to].flat()
  return {
    kind: 'composed',
    from,
    to: recipients,
    subject,
    text,
    html,
    inReplyTo,
    attachments: [...attachments],
  }
}

function notWithFields(path: 'from' | 'to') {
  const message = 'belongs to a body of message/rfc822; in JSON it is a field'
  return problem('bad_request', `The query parameter "${path}" ${message}.`, {
    details: [{ path, message }],
  })
}

/** Mail that the sandbox kept; its attachments' addresses are signed afresh each time. */
export function presentCaptured(
  { id, recipients, reversePath, capturedAtMs, message: read, inReplyTo }: Captured,
  signer: UrlSigner,
  nowMs: number,
): CapturedMessage {
  const { message, isTruncated } = cutBodies(read)
  return {
    id,
    messageId: message.id,
    threadId: message.threadId,
    inboxId: message.inboxId,
    from: message.fromAddr,
    to: recipients,
    reversePath,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    text: message.bodyText,
    html: message.bodyHtml,
    isTruncated,
    rfcMessageId: message.rfcMessageId,
    inReplyTo,
    references: message.references,
    attachments: presentAttachments(message, signer, nowMs),
    createdAt: presentTime(capturedAtMs),
  }
}

export type SandboxMail =
  | {
      kind: 'composed'
      from: string
      to: string[]
      subject: string
      text: string
      html: string
      inReplyTo: string | null
      attachments: SendAttachment[]
    }
  /** As it would come over the wire; without an envelope its own header names the parties. */
  | { kind: 'raw'; raw: Uint8Array; from: string | null; to: string[] | null }

/** `not_found` unless mail is captured in this service. */
export function requireSandbox({ carrier }: { carrier: Carrier | null }): void {
  if (carrier !== null) throw notFound()
}

/** Newest first. */
export function listCaptured(
  deps: { db: Db; carrier: Carrier | null },
  input: { accountId: string } & Page,
): Promise<{ captured: AsyncIterable<Captured>; total: number }> {
  requireSandbox(deps)
  return store.listCaptured(deps.db, { ...input, bodyLengthMax: CUT_READ_LENGTH })
}

/** Forgets what was captured for the account; the messages stay in their inboxes. */
export async function clearCaptured(
  deps: { db: Db; carrier: Carrier | null },
  { accountId }: { accountId: string },
): Promise<void> {
  requireSandbox(deps)
  const step = { accountId, limit: PURGE_STEP_ROWS }
  while ((await deps.db.write(removeCaptured, step)) === PURGE_STEP_ROWS);
}

/**
 * Receives a message as if it came by SMTP; returns what was stored, in the order of the recipients,
 * long bodies as far as CUT_READ_LENGTH, and nothing where an inbox had it already, or for reports to return
 * paths. `bad_request` when a
 * recipient is no inbox of the account and no return path of its mail, or the message could not have
 * come by SMTP; `delivery_pending` when it reports of mail that is being delivered.
 */
export async function receiveInSandbox(
  deps: ReceiveDeps & { carrier: Carrier | null; inboxDomain: string },
  { accountId, mail }: { accountId: string; mail: SandboxMail },
): Promise<{ messages: Message[] }> {
  requireSandbox(deps)
  const { raw, from, to } =
    mail.kind === 'composed'
      ? await composed(deps, mail)
      : await withEnvelope(deps, accountId, mail)
  const recipients = await Promise.all(
    to.map((address, index) => acceptOwn(deps, accountId, { address, index })),
  )
  const result = await receiveMail(deps, {
    raw,
    reversePath: from,
    recipients,
    origin: 'sandbox',
    clientAddress: null,
    helo: null,
    tls: null,
  })
  if (result.kind === 'loop') throw wrong('', loopTexts[result.reason](result))
  if (result.kind === 'too_early') throw problem('delivery_pending')
  const ids = result.kind === 'stored' ? result.messageIds : []
  const read = { lengthMax: CUT_READ_LENGTH }
  const messages = await Promise.all(ids.map((id) => findMessage(deps.db, accountId, id, read)))
  return { messages: messages.filter((message) => message !== null) }
}

type OwnDeps = {
  db: Db
  clock: Clock
  inboxDomain: string
  deriveKey: (purpose: string) => Uint8Array
}
type Envelope = { raw: Uint8Array; from: string; to: string[] }

async function composed(
  deps: { clock: Clock; makeId: MakeId },
  mail: Extract<SandboxMail, { kind: 'composed' }>,
): Promise<Envelope> {
  const { from, to, inReplyTo, attachments } = mail
  const id = deps.makeId('msg').slice('msg_'.length)
  const { raw } = await composeMessage({
    from: { name: null, address: from },
    to,
    cc: [],
    replyTo: null,
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    inReplyTo,
    references: inReplyTo === null ? [] : [inReplyTo],
    messageId: `<${id}@${domainOf(from)}>`,
    dateMs: deps.clock.now(),
    attachments: attachments.map((attachment) => ({
      ...attachment,
      isInline: attachment.contentId !== null,
    })),
    hopMark: null,
    unsubscribeUrl: null,
  })
  return { raw, from, to }
}

/** The octets with CRLF line ends, as the listener stores them, and who it is from and for. */
async function withEnvelope(
  deps: OwnDeps & { parser: Parser },
  accountId: string,
  mail: Extract<SandboxMail, { kind: 'raw' }>,
): Promise<Envelope> {
  const raw = await withLineEnds(mail.raw)
  if (mail.from !== null && mail.to !== null) return { raw, from: mail.from, to: mail.to }
  const { headers } = await deps.parser.parse(raw)
  const from = mail.from ?? headers.from?.address ?? ''
  const to = mail.to ?? (await ownAddresses(deps, accountId, [...headers.to, ...headers.cc]))
  if (to.length === 0) {
    throw wrong('', 'has no inbox of the account in To or Cc; add one with ?to=')
  }
  if (from !== '' && checkEmailAddress(from) !== null)
    throw wrong('from', 'is not an email address')
  return { raw, from, to }
}

/** A bare line feed is taken for a line end, a bare carriage return is refused. */
async function withLineEnds(raw: Uint8Array): Promise<Uint8Array> {
  const { bareLineFeeds, bareCarriageReturns } = await countLineEnds(raw)
  if (bareCarriageReturns > 0) throw wrong('', 'contains a carriage return without a line feed')
  if (raw.length + bareLineFeeds > MESSAGE_BYTES_MAX) throw problem('payload_too_large')
  return completeLineFeeds(raw, bareLineFeeds)
}

/** A header names others as well, whose copies went elsewhere. */
async function ownAddresses(
  deps: OwnDeps,
  accountId: string,
  mailboxes: readonly Mailbox[],
): Promise<string[]> {
  const own: string[] = []
  for (const address of new Set(mailboxes.map(({ address }) => address))) {
    if ((await findOwn(deps, accountId, address)) !== null) own.push(address)
  }
  return own
}

async function acceptOwn(
  deps: OwnDeps,
  accountId: string,
  { address, index }: { address: string; index: number },
): Promise<AcceptedRecipient> {
  const own = await findOwn(deps, accountId, address)
  if (own === null) throw wrong(`to[${index}]`, 'is not an inbox of this account')
  return own
}

/** An inbox of the account, or a return path of what it has sent; null for any other address. */
async function findOwn(
  deps: OwnDeps,
  accountId: string,
  address: string,
): Promise<AcceptedRecipient | null> {
  const recipient = await findRecipient(deps, address)
  if (recipient.kind !== 'return_path') {
    const inbox = await findOwnInbox(deps.db, accountId, address)
    return inbox === null ? null : { kind: 'inbox', inbox, address }
  }
  const found = await findAtReturnPath(deps, recipient.localPart)
  if (typeof found === 'string' || found.sent.accountId !== accountId) return null
  return { ...recipient, address }
}

const loopTexts = {
  hops: ({ hops }: Loop) => `has passed through ${hops} servers`,
  own_mark: () => 'was sent by its recipient (X-Loop)',
} satisfies Record<Loop['reason'], (loop: Loop) => string>

function wrong(path: string, message: string) {
  const subject = path === '' ? 'The message' : path
  return problem('bad_request', `${subject} ${message}.`, { details: [{ path, message }] })
}
