import type { LimitScope } from '@mailroom/contract/vocabulary.ts'
import { formatMailbox } from '@mailroom/mail/address-list.ts'
import { INLINE_HTML_LENGTH_MAX } from '@mailroom/mail/compose/body-parts.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { messageIdKey } from '@mailroom/mail/message-headers.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { type Account, findAccount } from '#accounts/accounts-rows.ts'
import { type DkimOwner, SERVICE_OWNER, type Signers } from '#domains/domains.ts'
import { findDomain, isUsable } from '#domains/domains-rows.ts'
import { freeMemory } from '#http/collect-body.ts'
import { domainOf, type Inbox } from '#inboxes/inboxes.ts'
import { findInbox, findOwnInbox } from '#inboxes/inboxes-rows.ts'
import { type MessageContent, ownBytes, withRawBytes } from '#mailbox/mailbox.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import { limitFields, notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import {
  AUTOMATIC_SENDS_MAX,
  coldAccountLimit,
  findRefusal,
  hasWritten,
  isYoung,
  type SendCheck,
  type SendSettings,
  type TooCold,
} from './check-send-rows.ts'
import {
  addressSend,
  type Composition,
  composeSend,
  type Replied,
  readReplied,
  type SendMessage,
} from './compose-send.ts'
import type { NewDelivery } from './delivery-rows.ts'
import * as store from './idempotency-key-rows.ts'
import { insertSend, type SendOutcome } from './send-message-rows.ts'
import { hopMarkOf, makeReturnPath } from './sent-marks.ts'
import { unsubscribeUrl } from './unsubscribe.ts'

/** Octets of a composed message. */
const SENT_BYTES_MAX = 25 * 1024 * 1024
/**
 * How often a reply is composed when a message was added to its thread meanwhile: as often as an inbox may reply in a
 * minute, and a few more times for arriving mail.
 */
const COMPOSE_ATTEMPTS_MAX = 12
/** How long a delivery is retried. */
export const DELIVERY_MS_MAX = 2 * DAY_MS

export type SendDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  blobs: BlobStore | null
  parser: Parser
  signers: Signers
  inboxDomain: string
  sending: SendSettings
  laneOf: (domain: string) => string
  queueClock: QueueClock
  wakeDelivery: () => void
  wakeEvents: () => void
  deriveKey: (purpose: string) => Uint8Array
  sealer: Sealer
  publicUrl: () => string
}

/**
 * Accepts one message to be sent: composes and signs it, and stores and queues it for each of its recipients in
 * one transaction, or repeats the answer to an earlier request under the same key. A refusal uses up nothing:
 * `not_found`, `invalid_domain`, `feature_requires_paid_plan`, `payload_too_large`, `idempotency_key_reused`,
 * `recipient_suppressed`, `loop_suspected`, `rate_limit_exceeded`, `cold_outreach_limit` or, with a
 * link to unsubscribe for several recipients, `bad_request`.
 */
export async function sendMessage(
  deps: SendDeps,
  input: SendMessage,
): Promise<{ isReplay: boolean; response: store.SendAnswer }> {
  const { accountId, inboxId, threadId } = input
  checkUnsubscribe(input, [input.to, ...input.cc])
  const [inbox, account] = await Promise.all([
    findInbox(deps.db, accountId, inboxId),
    findAccount(deps.db, accountId),
  ])
  if (inbox === null || account === null) throw notFound()
  let replied = await readReplied(deps, { inbox, threadId })
  const domain = await findSendingDomain(deps, inbox)
  await checkReplyTo(deps, account, input.replyTo)
  const sender: Sender = { inbox, account, domain, attachments: null }
  for (let attempt = 1; ; attempt++) {
    const mayBeStale = attempt === COMPOSE_ATTEMPTS_MAX
    const outcome = await acceptSend(deps, input, { sender, replied, mayBeStale })
    if (outcome.kind === 'thread_changed') {
      replied = await readReplied(deps, { inbox, threadId })
      continue
    }
    if (outcome.kind === 'queued') deps.wakeDelivery()
    if (outcome.kind === 'loop_suspected' && !outcome.isReported) deps.wakeEvents()
    return answerOf(deps, outcome)
  }
}

/**
 * The answer to an earlier send under the same key, null when the key is free;
 * `idempotency_key_reused` when it belongs to another request.
 */
export async function findReplay(
  deps: { db: Db; clock: Clock },
  input: { accountId: string; key: string; requestHash: Uint8Array },
): Promise<store.SendAnswer | null> {
  const replay = await store.findReplay(deps.db.reading, { ...input, nowMs: deps.clock.now() })
  if (replay?.kind === 'key_reused') throw problem('idempotency_key_reused')
  return replay?.answer ?? null
}

type Sender = {
  inbox: Inbox
  account: Account
  domain: SendingDomain
  /** Attachments of the composed message, the same in each attempt; null before the first. */
  attachments: readonly ParsedAttachment[] | null
}

type Attempt = {
  sender: Sender
  replied: Replied | null
  /** Whether the thread may have newer messages than the reply was composed after. */
  mayBeStale: boolean
}

/** Checks, composes, signs and commits; `payload_too_large` when the whole is over 25 MiB. */
async function acceptSend(
  deps: SendDeps,
  input: SendMessage,
  attempt: Attempt,
): Promise<SendOutcome> {
  const { sender, replied } = attempt
  const { inbox } = sender
  const { cc, recipients } = addressSend(input, { inbox, replied })
  checkUnsubscribe(input, recipients)
  const check = await findCheck(deps, input, { ...attempt, recipients })
  if (isCostly(input)) {
    const refusal = await findRefusal(deps.db, check)
    if (refusal !== null) return refusal
  }
  const composition = await composeSend(deps, input, { inbox, replied, cc })
  const messageId = deps.makeId('msg')
  // Fixed before the first attempt: every attempt sends the same message.
  const rfcMessageId = `<${messageId.slice('msg_'.length)}@${domainOf(inbox.address)}>`
  const made = { messageId, rfcMessageId, nowMs: check.use.nowMs }
  const { raw, needsSmtpUtf8 } = await composeAndSign(deps, input, { attempt, composition, made })
  sender.attachments ??= await listAttachments(deps, input, raw)
  // Checked once more, so that large bytes are not written in vain.
  if (raw.length > ROW_BLOB_BYTES_MAX) {
    const refusal = await findRefusal(deps.db, check)
    if (refusal !== null) return refusal
  }
  const outcome = await withRawBytes(deps, raw, {
    write: (row) =>
      deps.db.write(insertSend, {
        ...check,
        messageId,
        raw: {
          ...row,
          reverse_path: inbox.address,
          client_address: null,
          helo: null,
          tls: null,
          origin: 'service',
          created_at: made.nowMs,
        },
        content: contentOf(input, sender, { composition, rfcMessageId }),
        toAddr: input.to,
        deliveries: deliveriesOf(deps, sender, {
          message_id: messageId,
          raw_id: row.id,
          size_bytes: raw.length,
          needs_smtputf8: needsSmtpUtf8 ? 1 : 0,
          created_at: made.nowMs,
          recipients,
        }),
        loopEventId: deps.makeId('evt'),
      }),
    isKept: ({ kind }) => kind === 'queued',
  })
  // The bytes are in the blob store now. Without one, the database may still use them.
  if (deps.blobs !== null) freeMemory(raw)
  return outcome
}

/** Whether composing the message costs more than checking it once more. */
function isCostly({ body, bodyHtml, threadId, attachments }: SendMessage): boolean {
  const length = body.length + (bodyHtml?.length ?? 0)
  return attachments.length > 0 || threadId !== null || length > INLINE_HTML_LENGTH_MAX
}

async function findCheck(
  deps: SendDeps,
  input: SendMessage,
  { sender, replied, mayBeStale, recipients }: Attempt & { recipients: string[] },
): Promise<SendCheck> {
  const { inbox } = sender
  const { accountId, idempotencyKey: key, requestHash } = input
  const nowMs = deps.clock.now()
  return {
    use: { accountId, key, requestHash: ownBytes(requestHash), nowMs },
    inboxId: inbox.id,
    thread:
      replied === null
        ? { kind: 'new', id: deps.makeId('thr') }
        : {
            kind: 'reply',
            id: replied.thread.id,
            messageCount: mayBeStale ? null : replied.thread.messageCount,
          },
    recipientKeys: recipients.map(addressKey),
    coldRecipients: await findColdRecipients(deps, inbox, recipients),
    limits: limitsOf(deps, sender, nowMs),
  }
}

/** Keys of recipients that have never written to the inbox, except inboxes of the same account. */
async function findColdRecipients(
  deps: { db: Db },
  { id: inboxId, accountId }: Inbox,
  recipients: string[],
): Promise<string[]> {
  const isStranger = async (address: string) =>
    (await findOwnInbox(deps.db, accountId, address)) === null &&
    !(await hasWritten(deps.db, { inboxId, addressKey: addressKey(address) }))
  const answers = await Promise.all(recipients.map(isStranger))
  return recipients.filter((_, index) => answers[index]).map(addressKey)
}

/** The limits of a send that is accepted now. */
export function limitsOf(
  { sending }: { sending: SendSettings },
  { inbox, account }: Pick<Sender, 'inbox' | 'account'>,
  nowMs: number,
): SendCheck['limits'] {
  const { sendsPerMinute, sendsPerDay, coldPerDay, coldAccountPerDay } = sending
  const isAccountYoung = isYoung(account.createdAtMs, nowMs)
  return {
    perMinute: sendsPerMinute,
    perDay: sendsPerDay,
    coldPerDay: isYoung(inbox.createdAtMs, nowMs) ? coldPerDay : null,
    coldAccountPerDay: coldAccountPerDay ?? coldAccountLimit(account.plan, isAccountYoung),
  }
}

async function composeAndSign(
  deps: SendDeps,
  input: SendMessage,
  {
    attempt,
    composition,
    made,
  }: {
    attempt: Attempt
    composition: Composition
    made: { messageId: string; rfcMessageId: string; nowMs: number }
  },
): Promise<{ raw: Uint8Array; needsSmtpUtf8: boolean }> {
  const { accountId, inboxId, to: address, hasUnsubscribe } = input
  const { messageId, rfcMessageId, nowMs } = made
  const composed = await composeMessage({
    ...composition.outgoing,
    messageId: rfcMessageId,
    dateMs: nowMs,
    hopMark: hopMarkOf(deps, inboxId),
    unsubscribeUrl: hasUnsubscribe ? unsubscribeUrl(deps, { accountId, address, messageId }) : null,
  })
  // A message that starts a thread is never composed again.
  if (attempt.replied === null) for (const { content } of input.attachments) freeMemory(content)
  const raw = await deps.signers.sign(attempt.sender.domain.owner, composed.raw, nowMs)
  freeMemory(composed.raw)
  if (raw.length <= SENT_BYTES_MAX) return { raw, needsSmtpUtf8: composed.needsSmtpUtf8 }
  throw problem('payload_too_large', 'The composed message would be larger than 25 MiB.', {
    fix: 'Send fewer or smaller attachments.',
  })
}

/** Attachments as the parser finds them in the message, with the names that their URLs have. */
async function listAttachments(
  deps: SendDeps,
  input: SendMessage,
  raw: Uint8Array,
): Promise<readonly ParsedAttachment[]> {
  if (input.attachments.length === 0) return []
  return (await deps.parser.parse(raw)).attachments
}

function contentOf(
  input: SendMessage,
  { inbox, attachments }: Sender,
  { composition, rfcMessageId }: { composition: Composition; rfcMessageId: string },
): MessageContent {
  const { outgoing, ownText } = composition
  const { text, html } = outgoing
  return {
    rfc_message_id: rfcMessageId,
    message_key: messageIdKey(rfcMessageId),
    receipt_key: null,
    from_addr: formatMailbox({ name: inbox.displayName ?? '', address: inbox.address }),
    header_to: null,
    cc: JSON.stringify(outgoing.cc),
    reply_to: input.replyTo,
    reference_ids: JSON.stringify(outgoing.references),
    subject: outgoing.subject,
    body_length: text.length + html.length,
    body_text: text,
    body_html: html,
    extracted_text: ownText === text ? null : ownText,
    attachments: JSON.stringify(attachments ?? []),
    authentication: null,
    automatic_reason: null,
    defects: '[]',
  }
}

type DeliveredMessage = Pick<
  NewDelivery,
  'message_id' | 'raw_id' | 'size_bytes' | 'needs_smtputf8' | 'created_at'
>

function deliveriesOf(
  deps: {
    makeId: MakeId
    queueClock: QueueClock
    laneOf: (domain: string) => string
    deriveKey: (purpose: string) => Uint8Array
  },
  { inbox, domain }: Sender,
  { recipients, ...message }: DeliveredMessage & { recipients: string[] },
): NewDelivery[] {
  const queueMs = deps.queueClock.now()
  const key = deps.deriveKey('return-path')
  return recipients.map((recipient) => {
    const id = deps.makeId('dlv')
    return {
      ...message,
      id,
      account_id: inbox.accountId,
      inbox_id: inbox.id,
      recipient,
      return_path: makeReturnPath(key, { deliveryId: id, domain: domain.returnPathDomain }),
      lane: deps.laneOf(domainOf(recipient)),
      next_attempt_at: queueMs,
      expires_at: queueMs + DELIVERY_MS_MAX,
    }
  })
}

type SendingDomain = {
  /** The owner of the signing key. */
  owner: DkimOwner
  /** The domain of return paths. */
  returnPathDomain: string
}

/** `invalid_domain` where the inbox's domain has failed or is another account's now. */
async function findSendingDomain(
  deps: { db: Db; inboxDomain: string },
  inbox: Inbox,
): Promise<SendingDomain> {
  const { inboxDomain } = deps
  if (inbox.domainId === null) {
    return { owner: { ownerId: SERVICE_OWNER, domain: inboxDomain }, returnPathDomain: inboxDomain }
  }
  const domain = await findDomain(deps.db, inbox.accountId, inbox.domainId)
  if (domain === null || !isUsable(domain)) {
    const name = domain?.domain ?? domainOf(inbox.address)
    const reason =
      domain?.isHolder === false
        ? `another account has verified ${name} in the meantime`
        : `${name} has failed its DNS checks`
    throw problem('invalid_domain', `The inbox cannot send: ${reason}.`, {
      fix: 'Publish the records that GET /v1/domains/{id} lists and verify the domain again.',
    })
  }
  return {
    owner: { ownerId: domain.id, domain: domain.domain },
    returnPathDomain: domain.takesBounces ? domain.domain : inboxDomain,
  }
}

/** A link that goes to several recipients would let each unsubscribe the others. */
function checkUnsubscribe(input: SendMessage, recipients: string[]): void {
  if (!input.hasUnsubscribe) return
  const [own, ...others] = new Set(recipients.map(addressKey))
  const other = recipients.find((address) => addressKey(address) !== own)
  if (others.length === 0 || other === undefined) return
  const isCopier = !input.cc.some((address) => addressKey(address) === addressKey(other))
  const message = isCopier
    ? `must be empty with unsubscribe, but a reply in this thread also goes to ${other}`
    : 'must be empty with unsubscribe, because the link is for one recipient'
  throw problem('bad_request', `cc ${message}.`, { details: [{ path: 'cc', message }] })
}

/** On the free plan, replies may only go to inboxes of the account. */
async function checkReplyTo(
  deps: { db: Db },
  account: Account,
  replyTo: string | null,
): Promise<void> {
  if (replyTo === null || account.plan !== 'free') return
  if ((await findOwnInbox(deps.db, account.id, replyTo)) !== null) return
  throw problem(
    'feature_requires_paid_plan',
    'On the free plan, replyTo must be the address of an inbox of the account.',
    { fields: { feature: 'external_reply_to' } },
  )
}

function answerOf(
  deps: { clock: Clock },
  outcome: Exclude<SendOutcome, { kind: 'thread_changed' }>,
): { isReplay: boolean; response: store.SendAnswer } {
  // The time may have passed since the check.
  const secondsUntil = (timeMs: number) =>
    Math.max(1, Math.ceil((timeMs - deps.clock.now()) / 1000))
  const limited = (scope: LimitScope, limit: number, retryAtMs: number) => ({
    retryAfterSeconds: secondsUntil(retryAtMs),
    fields: limitFields({ scope, limit, resetsAtMs: retryAtMs }),
  })
  switch (outcome.kind) {
    case 'queued':
      return { isReplay: false, response: outcome.answer }
    case 'replay':
      return { isReplay: true, response: outcome.answer }
    case 'key_reused':
      throw problem('idempotency_key_reused')
    case 'not_found':
      throw notFound()
    case 'suppressed':
      throw problem(
        'recipient_suppressed',
        `${outcome.address} is on the suppression list of the account (${outcome.type}).`,
        { fields: { type: outcome.type, address: outcome.address } },
      )
    case 'loop_suspected':
      throw problem(
        'loop_suspected',
        `The inbox has replied to automatic messages ${AUTOMATIC_SENDS_MAX} times within an hour in this thread.`,
        limited('thread', AUTOMATIC_SENDS_MAX, outcome.retryAtMs),
      )
    case 'too_many':
      throw problem(
        'rate_limit_exceeded',
        outcome.window === 'minute'
          ? `The inbox may send ${outcome.limit} messages a minute.`
          : `The inbox may send ${outcome.limit} messages in 24 hours.`,
        limited('inbox', outcome.limit, outcome.retryAtMs),
      )
    case 'too_cold':
      throw problem('cold_outreach_limit', COLD_TEXTS[outcome.scope](outcome.limit), {
        ...limited(outcome.scope, outcome.limit, outcome.retryAtMs),
        // The message has more cold recipients than the limit of a whole day.
        ...(outcome.coldRecipients > outcome.limit ? { fix: fixForTooCold(outcome.limit) } : {}),
      })
  }
}

function fixForTooCold(limit: number): string {
  return limit === 0
    ? 'Send only to addresses that have written to the inbox. Repeating this request cannot succeed.'
    : `Send to at most ${limit} new addresses in one message. Repeating this request cannot succeed.`
}

const COLD_TEXTS: Record<TooCold['scope'], (limit: number) => string> = {
  inbox: (limit) =>
    `A new inbox may send to ${limit} addresses a day (UTC) that have never written to it.`,
  account: (limit) =>
    `The account may send to ${limit} addresses a day (UTC) that have never written to its inboxes.`,
}
