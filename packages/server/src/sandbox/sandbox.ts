// Lists captured mail, and receives mail without SMTP. In other modes of delivery, these operations
// do not exist.

import type { CapturedMessage } from '@mailroom/contract/sandbox.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { completeLineFeeds, countLineEnds } from '@mailroom/mail/compose/encode-transfer.ts'
import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import type { Carrier } from '#delivery/delivery.ts'
import type { Handlers, Input, KeyContext } from '#http/handler.ts'
import {
  type AcceptedRecipient,
  findRecipient,
  type Loop,
  type ReceiveDeps,
  receiveMail,
} from '#inbound/receive/receive.ts'
import { findAtReturnPath } from '#inbound/reports/reports.ts'
import { findOwnInbox } from '#inboxes/store/inboxes.ts'
import type { UrlSigner } from '#mailbox/attachments/attachments.ts'
import {
  CUT_READ_LENGTH,
  cutBodies,
  type Extractions,
  presentAttachments,
  presentListed,
  presentRecipients,
} from '#mailbox/messages/messages.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import {
  type Captured,
  listCaptured,
  removeCaptured,
} from '#outbound/deliveries/store/captured-messages.ts'
import { presentTime } from '#platform/clock.ts'
import { checkEmailAddress, domainOf, readMailbox } from '#platform/email-address.ts'
import { notFound, problem } from '#platform/problem.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import { readGivenFiles } from '#uploads/uploads.ts'

type SandboxDeps = ReceiveDeps &
  UrlSigner & {
    extractions: Extractions
    inboxDomain: string
    carrier: Carrier | null
    storageQuota: StorageQuota
  }

export function sandboxHandlers(
  deps: SandboxDeps,
): Pick<Handlers, Extract<keyof Handlers, `sandbox.${string}`>> {
  return {
    'sandbox.list': async ({ query }, { accountId, inboxIds, takeSlot }) => {
      await takeSlot()
      requireSandbox(deps)
      const page = { accountId, inboxIds, ...query, bodyLengthMax: CUT_READ_LENGTH }
      const { captured, total } = await listCaptured(deps.db, page)
      const nowMs = deps.clock.now()
      const data = []
      for await (const one of captured) data.push(await presentCaptured(one, deps, nowMs))
      return { data, total }
    },
    'sandbox.clear': async (_input, { accountId }) => {
      requireSandbox(deps)
      const step = { accountId, limit: PURGE_STEP_ROWS }
      while ((await deps.db.write(removeCaptured, step)) === PURGE_STEP_ROWS);
    },
    'sandbox.receive': async (input, caller) => {
      const messages = await receiveInSandbox(deps, caller, input)
      const nowMs = deps.clock.now()
      const data = await Array.fromAsync(presentListed(messages, deps, nowMs))
      return { data, total: data.length }
    },
  }
}

function requireSandbox({ carrier }: SandboxDeps): void {
  if (carrier !== null) throw notFound()
}

async function presentCaptured(
  { id, recipients, reversePath, capturedAtMs, message: read, inReplyTo }: Captured,
  presenter: SandboxDeps,
  nowMs: number,
): Promise<CapturedMessage> {
  const { message, isTruncated } = cutBodies(read)
  return {
    id,
    messageId: message.id,
    threadId: message.threadId,
    inboxId: message.inboxId,
    from: message.fromAddr,
    to: recipients,
    reversePath,
    cc: presentRecipients(message).cc,
    replyTo: message.replyTo,
    subject: message.subject,
    text: message.bodyText,
    html: message.bodyHtml,
    isTruncated,
    rfcMessageId: message.rfcMessageId,
    inReplyTo,
    references: message.references,
    attachments: await presentAttachments(message, presenter, nowMs),
    createdAt: presentTime(capturedAtMs),
  }
}

/**
 * Receives a message as if it came by SMTP. Returns the stored messages in the order of the
 * recipients, without duplicates and reports. Throws `bad_request` if a recipient is neither an
 * inbox of the account nor a return path of its mail, or if the message could not have come by
 * SMTP. Throws `delivery_pending` for a report about mail that is being delivered.
 */
async function receiveInSandbox(
  deps: SandboxDeps,
  caller: Caller,
  input: Input<'sandbox.receive'>,
): Promise<Message[]> {
  requireSandbox(deps)
  const { accountId } = caller
  const { raw, from, to } = await readEnvelope(deps, caller, input)
  const recipients = await Promise.all(
    to.map(async (address, index) => {
      const own = await findOwn(deps, caller, address)
      if (own === null) throw wrong(`to[${index}]`, 'is not an inbox of this account')
      return own
    }),
  )
  const isMail = recipients.some(({ kind }) => kind === 'inbox')
  if (isMail && (await deps.storageQuota.isExceeded(accountId))) {
    throw problem('storage_quota_reached')
  }
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
  return messages.filter((message) => message !== null)
}

type Caller = Pick<KeyContext, 'accountId' | 'inboxIds' | 'takeSlot'>

type Envelope = { raw: Uint8Array; from: string; to: string[] }

async function readEnvelope(
  deps: SandboxDeps,
  caller: Caller,
  { body, query }: Input<'sandbox.receive'>,
): Promise<Envelope> {
  if (body instanceof Uint8Array) {
    return readRaw(deps, caller, { raw: body, from: query.from, to: query.to })
  }
  for (const path of ['from', 'to'] as const) {
    if (query[path] === undefined) continue
    const message = 'is only for a body of message/rfc822; JSON has a field for it'
    throw problem('bad_request', `The query parameter "${path}" ${message}.`, {
      details: [{ path, message }],
    })
  }
  const { subject, text = '', html = '', inReplyTo = null, attachments } = body
  const files = await readGivenFiles(deps, { ...caller, files: attachments })
  const author = checkedMailbox(body.from)
  const recipients = [body.to].flat().map(checkedMailbox)
  const id = deps.makeId('msg').slice('msg_'.length)
  const { raw } = await composeMessage({
    from: author,
    to: recipients,
    cc: [],
    replyTo: null,
    subject,
    text,
    html,
    inReplyTo,
    references: inReplyTo === null ? [] : [inReplyTo],
    messageId: `<${id}@${domainOf(author.address)}>`,
    dateMs: deps.clock.now(),
    attachments: files.map((attachment) => ({
      ...attachment,
      isInline: attachment.contentId !== null,
    })),
    hopMark: null,
    unsubscribeUrl: null,
    extraFields: [],
  })
  return { raw, from: author.address, to: recipients.map(({ address }) => address) }
}

/** The text was checked. */
function checkedMailbox(text: string): Mailbox {
  return readMailbox(text) ?? { name: '', address: text }
}

/** Uses the sender and recipients of the header if the query has none. */
async function readRaw(
  deps: SandboxDeps,
  caller: Caller,
  given: { raw: Uint8Array; from: string | undefined; to: string[] | undefined },
): Promise<Envelope> {
  const raw = await withLineEnds(given.raw)
  if (given.from !== undefined && given.to !== undefined) {
    return { raw, from: given.from, to: given.to }
  }
  const { headers } = await deps.parser.parse(raw)
  const from = given.from ?? headers.from?.address ?? ''
  const to = given.to ?? (await ownAddresses(deps, caller, [...headers.to, ...headers.cc]))
  if (to.length === 0) {
    throw wrong('', 'has no inbox of the account in To or Cc; add one with ?to=')
  }
  if (from !== '' && checkEmailAddress(from) !== null)
    throw wrong('from', 'is not an email address')
  return { raw, from, to }
}

/** Turns a bare line feed into a line end and refuses a bare carriage return. */
async function withLineEnds(raw: Uint8Array): Promise<Uint8Array> {
  const { bareLineFeeds, bareCarriageReturns } = await countLineEnds(raw)
  if (bareCarriageReturns > 0) throw wrong('', 'contains a carriage return without a line feed')
  if (raw.length + bareLineFeeds > MESSAGE_BYTES_MAX) throw problem('payload_too_large')
  return completeLineFeeds(raw, bareLineFeeds)
}

/** Ignores recipients elsewhere, who have copies of their own. */
async function ownAddresses(
  deps: SandboxDeps,
  caller: Caller,
  mailboxes: readonly Mailbox[],
): Promise<string[]> {
  const own: string[] = []
  for (const address of new Set(mailboxes.map(({ address }) => address))) {
    if ((await findOwn(deps, caller, address)) !== null) own.push(address)
  }
  return own
}

/**
 * Finds an inbox of the account or a return path of its mail, and null for any other address and
 * for an inbox that the caller may not use.
 */
async function findOwn(
  deps: SandboxDeps,
  { accountId, inboxIds }: Caller,
  address: string,
): Promise<AcceptedRecipient | null> {
  const isOwn = (inbox: { accountId: string; id: string }) =>
    inbox.accountId === accountId && (inboxIds === null || inboxIds.includes(inbox.id))
  const recipient = await findRecipient(deps, address)
  if (recipient.kind === 'inbox') {
    return isOwn(recipient.inbox) ? { ...recipient, address } : null
  }
  if (recipient.kind !== 'return_path') {
    const inbox = await findOwnInbox(deps.db, accountId, address)
    if (inbox === null || !isOwn(inbox)) return null
    return { kind: 'inbox', inbox, through: null, address }
  }
  const found = await findAtReturnPath(deps, recipient.localPart)
  if (typeof found === 'string') return null
  const { accountId: sender, inboxId } = found.sent
  return isOwn({ accountId: sender, id: inboxId }) ? { ...recipient, address } : null
}

const loopTexts = {
  hops: ({ hops }: Loop) => `has passed through ${hops} servers`,
  own_mark: () => 'was sent by its recipient (X-Loop)',
} satisfies Record<Loop['reason'], (loop: Loop) => string>

function wrong(path: string, message: string) {
  const subject = path === '' ? 'The message' : path
  return problem('bad_request', `${subject} ${message}.`, { details: [{ path, message }] })
}
