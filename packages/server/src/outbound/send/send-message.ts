import type { HoldReason } from '@mailroom/contract/sending.ts'
import { formatMailbox } from '@mailroom/mail/address-list.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { isInternational } from '@mailroom/mail/compose/header-text.ts'
import { messageIdKey } from '@mailroom/mail/message-headers.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { INLINE_HTML_LENGTH_MAX } from '@mailroom/mail-reading/quote/body-parts.ts'
import { type Account, findAccount } from '#accounts/store/accounts.ts'
import { setPlanCommandOf } from '#config/limit-fix.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findInbox, findOwnInbox } from '#inboxes/store/inboxes.ts'
import { namesColumn } from '#mailbox/messages/store/recipient-names.ts'
import { ownBytes, withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import type { MessageContent } from '#mailbox/messages/store/write-messages.ts'
import { insertSend, type SendInput, type SendOutcome } from '#outbound/send/store/accept-send.ts'
import { checkSend, findRefusal, type SendCheck } from '#outbound/send/store/check-send.ts'
import * as store from '#outbound/send/store/idempotency-keys.ts'
import { hopMarkOf } from '#outbound/send/store/loop-marks.ts'
import { unsubscribeUrl } from '#outbound/unsubscribe/unsubscribe.ts'
import {
  hashAttachments,
  makeHold,
  namedFields,
  type ReviewEnvelope,
} from '#outbound/waiting/review-content.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import { addressKey, domainOf } from '#platform/email-address.ts'
import { freeMemory } from '#platform/free-memory.ts'
import { type AppError, notFound, problem, wrongField } from '#platform/problem.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { judgeSend, type SendJudgement } from '#policy/policy.ts'
import type { NewHold } from '#reviews/store/pending-reviews.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import { auditOfSend, judgedMessageOf, rejectSend, tooManyPerHour } from './apply-policy.ts'
import {
  type Addressees,
  addressSend,
  type Composition,
  composeSend,
  type Replied,
  readReplied,
  type SendMessage,
} from './compose-send.ts'
import { type RefusalDeps, refusalOf, storageFull } from './send-refusal.ts'
import {
  deliveriesOf,
  findColdRecipients,
  findSendingDomain,
  limitsOf,
  type SendDeps,
  type Sender,
  sentRaw,
  sign,
} from './sender.ts'

const SENT_BYTES_MAX = 25 * 1024 * 1024
/** Space reserved for the signature of a message that is signed later. */
export const SIGNATURE_BYTES_MAX = 4 * 1024
/** Sends may be scheduled from 1 minute to 90 days ahead, with tolerance for transit and clocks. */
const SCHEDULED_MS_MIN = MINUTE_MS - SECOND_MS
const SCHEDULED_MS_MAX = 90 * DAY_MS + SECOND_MS
/**
 * A reply is composed again if its thread has changed. The limit allows for an inbox's replies in a
 * minute, plus some arriving mail.
 */
const COMPOSE_ATTEMPTS_MAX = 12
/**
 * Composes, signs, stores and queues a message. A repetition with the same key returns the first
 * answer. A refusal uses up nothing. It is `not_found`, `invalid_domain`,
 * `feature_requires_paid_plan`, `payload_too_large`, `idempotency_key_reused`,
 * `recipient_suppressed`, `loop_suspected`, `rate_limit_exceeded`, `cold_outreach_limit` or, with
 * an unsubscribe link for several recipients, `bad_request`. `accept` is the transaction that
 * stores the message, or one that does more.
 */
export async function sendMessage(
  deps: SendDeps,
  input: SendMessage,
  accept: Accept = acceptOnly(deps),
): Promise<{ isReplay: boolean; response: store.SendAnswer }> {
  const outcome = await runSend(deps, input, { isCheck: false, accept })
  if (outcome.kind === 'queued') deps.wakeDelivery()
  if (outcome.kind === 'waiting' && outcome.answer.hold !== undefined) deps.wakeEvents()
  if (outcome.kind === 'loop_suspected' && !outcome.isReported) deps.wakeEvents()
  return answerOf(deps, outcome)
}

/**
 * Dry run: returns the policy's decision and stores nothing. All refusals of a send apply, except
 * those by policy.
 */
export async function checkMessage(
  deps: SendDeps,
  input: Omit<SendMessage, 'idempotencyKey' | 'requestHash'>,
): Promise<Pick<SendJudgement, 'decision' | 'reasons'>> {
  const asked = { ...input, idempotencyKey: '', requestHash: new Uint8Array() }
  const outcome = await runSend(deps, asked, { isCheck: true, accept: acceptOnly(deps) })
  if (outcome.kind !== 'checked') throw problemOf(deps, outcome)
  const { decision, reasons } = outcome
  return { decision, reasons }
}

type Settled = Exclude<Outcome, { kind: 'too_many_per_hour' | 'thread_changed' }>

/** Retries a reply if its thread has changed, and holds a send above the hourly limit. */
async function runSend(
  deps: SendDeps,
  input: SendMessage,
  { isCheck, accept }: Pick<Attempt, 'isCheck' | 'accept'>,
): Promise<Settled> {
  const { accountId, inboxId, threadId } = input
  checkUnsubscribe(input, [...(input.to ?? []), ...input.cc, ...input.bcc])
  checkSendAt(deps, input.sendAtMs)
  const [inbox, account] = await Promise.all([
    findInbox(deps.db, accountId, inboxId),
    findAccount(deps.db, accountId),
  ])
  if (inbox === null || account === null) throw notFound()
  let replied = await readReplied(deps, { inbox, threadId })
  const domain = await findSendingDomain(deps, inbox)
  await checkReplyTo(deps, account, input.replyTo)
  const sender: ComposingSender = { inbox, account, domain, attachments: null }
  const heldByCount: HoldReason[] = []
  for (let attempt = 1; ; attempt++) {
    const mayBeStale = attempt === COMPOSE_ATTEMPTS_MAX
    const made = { sender, replied, mayBeStale, heldByCount, isCheck, accept }
    const outcome = await trySend(deps, input, made)
    if (outcome.kind === 'too_many_per_hour') {
      heldByCount.push(tooManyPerHour(outcome.limit))
    } else if (outcome.kind === 'thread_changed') {
      replied = await readReplied(deps, { inbox, threadId })
    } else return outcome
  }
}

/** Returns null if the key is free. Throws `idempotency_key_reused` if another request used it. */
export async function findReplay(
  deps: Store,
  input: { accountId: string; key: string; requestHash: Uint8Array },
): Promise<store.SendAnswer | null> {
  const replay = await store.findReplay(deps.db.reading, { ...input, nowMs: deps.clock.now() })
  if (replay?.kind === 'key_reused') throw problem('idempotency_key_reused')
  return replay?.answer ?? null
}

type ComposingSender = Sender & {
  attachments: readonly ParsedAttachment[] | null
}

type Accept = (send: SendInput) => Promise<SendOutcome>

function acceptOnly({ db }: SendDeps): Accept {
  return (send) => db.write(insertSend, send)
}

type Attempt = {
  accept: Accept
  sender: ComposingSender
  replied: Replied | null
  mayBeStale: boolean
  heldByCount: readonly HoldReason[]
  isCheck: boolean
}

type Outcome =
  | SendOutcome
  | ({ kind: 'checked' } & Pick<SendJudgement, 'decision' | 'reasons'>)
  | { kind: 'rejected'; problem: AppError }
  | { kind: 'storage_full' }

async function trySend(deps: SendDeps, input: SendMessage, attempt: Attempt): Promise<Outcome> {
  const { sender, replied, heldByCount, isCheck } = attempt
  const { inbox } = sender
  const addressees = await addressSend(deps, input, { inbox, replied })
  const { recipients } = addressees
  checkUnsubscribe(input, recipients)
  const ids = idsOf(deps, inbox)
  let composing: Promise<Composition> | null = null
  const readComposition = () => {
    composing ??= composeSend(deps, input, {
      inbox,
      replied,
      ...addressees,
      rfcMessageId: ids.rfcMessageId,
    })
    return composing
  }
  const threads = {
    threadId: replied?.thread.id ?? null,
    forwardedThreadId: input.forwarded?.threadId ?? null,
  }
  const judgement = await judgeSend(deps, {
    inbox,
    readMessage: async () => judgedMessageOf(await readComposition(), addressees, threads),
  })
  if (judgement?.decision === 'reject') {
    if (isCheck) return { kind: 'checked', decision: 'reject', reasons: judgement.reasons }
    const rejected = { inbox, recipients, messageId: null, judgement }
    return { kind: 'rejected', problem: await rejectSend(deps, rejected) }
  }
  const reasons = [...(judgement?.reasons ?? []), ...heldByCount]
  const found = await findCheck(deps, input, { ...attempt, recipients })
  const isHeld = reasons.length > 0
  const holdAbovePerHour = isHeld ? null : (judgement?.holdAbovePerHour ?? null)
  const release = isHeld ? heldRelease(input) : releaseOf(input, sender, found.nowMs)
  const isWaiting = isHeld || release.releaseAtMs !== null
  const check = { ...found, holdAbovePerHour, isWaiting, isHeld }
  if (isWaiting && (await deps.storageQuota.isFull(input.accountId))) {
    // The same request may have been accepted since the check, and may have filled the storage.
    return (await store.findReplay(deps.db.reading, check.use)) ?? { kind: 'storage_full' }
  }
  if (isCostly(input)) {
    const refusal = await findRefusal(deps.db, check)
    if (refusal !== null) return refusal
  }
  const composition = await readComposition()
  return acceptSend(deps, input, {
    ids,
    attempt,
    addressees,
    check,
    composition,
    judgement,
    reasons,
    release,
  })
}

type Release = {
  /** Null if the message is sent as soon as it is accepted or approved. */
  releaseAtMs: number | null
  isForUndo: boolean
}

/** After an approval, a message does not wait for `undoSeconds`: a person has just decided. */
function heldRelease({ sendAtMs }: SendMessage): Release {
  return { releaseAtMs: sendAtMs, isForUndo: false }
}

function releaseOf({ sendAtMs }: SendMessage, { inbox, account }: Sender, nowMs: number): Release {
  const undoAtMs = nowMs + (inbox.undoSeconds ?? account.undoSeconds) * SECOND_MS
  if (undoAtMs <= Math.max(nowMs, sendAtMs ?? 0)) return { releaseAtMs: sendAtMs, isForUndo: false }
  return { releaseAtMs: undoAtMs, isForUndo: true }
}

/** The ids are fixed before the first attempt, so that every attempt sends the same message. */
function idsOf({ makeId }: SendDeps, { address }: Inbox) {
  const messageId = makeId('msg')
  return { messageId, rfcMessageId: `<${messageId.slice('msg_'.length)}@${domainOf(address)}>` }
}

type Accepting = {
  ids: ReturnType<typeof idsOf>
  attempt: Attempt
  addressees: Addressees
  check: SendCheck
  composition: Composition
  judgement: SendJudgement | null
  reasons: HoldReason[]
  release: Release
}

async function acceptSend(
  deps: SendDeps,
  input: SendMessage,
  accepting: Accepting,
): Promise<Outcome> {
  const { ids, attempt, addressees, check, composition, judgement, reasons, release } = accepting
  const { messageId, rfcMessageId } = ids
  const { sender } = attempt
  const { inbox } = sender
  const { to, bcc, recipients } = addressees
  const made = { messageId, rfcMessageId, nowMs: check.use.nowMs }
  const isHeld = reasons.length > 0
  const { isWaiting } = check
  // Attachments are hashed before composing, which may free them.
  const attachments = isWaiting ? await hashAttachments(composition.outgoing) : []
  const composed = await compose(deps, input, { accepting, made })
  const { needsSmtpUtf8 } = composed
  // A waiting message is signed when it is sent.
  const raw = isWaiting ? composed.raw : await sign(deps, sender, composed.raw, made.nowMs)
  checkSize(raw.length + (isWaiting ? SIGNATURE_BYTES_MAX : 0))
  if (attempt.isCheck) {
    const checked = await checkSend(deps.db.reading, check, 'read')
    if (checked.kind !== 'allowed') return checked
    return { kind: 'checked', decision: isHeld ? 'hold' : 'allow', reasons }
  }
  sender.attachments ??= await listAttachments(deps, input, raw)
  // The size is checked again, so that large messages are not written in vain.
  if (raw.length > ROW_BLOB_BYTES_MAX) {
    const refusal = await findRefusal(deps.db, check)
    if (refusal !== null) return refusal
  }
  const hold = isHeld ? holdOf(deps, input, { accepting, attachments }) : null
  const decision = isHeld ? 'hold' : 'allow'
  const judged = { inbox, recipients, messageId, decision, reasons, nowMs: made.nowMs } as const
  const traits = traitsOf(input, { composition, isReply: attempt.replied !== null })
  const envelope = { recipients, needsSmtpUtf8, attachments, ...traits }
  const outcome = await withRawBytes(deps, raw, {
    write: (row) =>
      attempt.accept({
        ...check,
        lease: leaseNow(deps, check),
        messageId,
        podId: inbox.podId,
        raw: sentRaw(row, inbox, made.nowMs),
        content: contentOf(input, sender, { composition, addressees, rfcMessageId }),
        to,
        bcc,
        deliveries: isWaiting
          ? []
          : deliveriesOf(deps, sender, {
              message_id: messageId,
              raw_id: row.id,
              size_bytes: raw.length,
              needs_smtputf8: needsSmtpUtf8 ? 1 : 0,
              created_at: made.nowMs,
              recipients,
            }),
        waiting: isWaiting ? { envelope, ...release, hold } : null,
        audit: judgement === null ? null : auditOfSend(deps, judged),
        loopEventId: deps.makeId('evt'),
      }),
    isKept: ({ kind }) => kind === 'queued' || kind === 'waiting',
  })
  // Without a blob store, the database may still use the bytes.
  if (deps.blobs !== null) freeMemory(raw)
  return outcome
}

/** The time is read again, because the claim may have expired while the message was composed. */
function leaseNow({ queueClock }: SendDeps, { lease }: SendCheck): SendCheck['lease'] {
  return lease && { ...lease, queueMs: queueClock.now() }
}

function holdOf(
  deps: SendDeps,
  input: SendMessage,
  { accepting, attachments }: { accepting: Accepting } & Pick<ReviewEnvelope, 'attachments'>,
): NewHold {
  const { attempt, addressees, check, composition, judgement, reasons } = accepting
  const { sender } = attempt
  const { outgoing } = composition
  const envelope: ReviewEnvelope = {
    inboxId: sender.inbox.id,
    from: fromOf(sender.inbox),
    ...namedFields({ ...addressees, replyTo: input.replyTo }),
    threadId: check.thread.id,
    inReplyTo: outgoing.inReplyTo,
    headers: Object.fromEntries(input.headers.map(({ name, value }) => [name, value])),
    attachments,
    sendAt: input.sendAtMs === null ? null : presentTime(input.sendAtMs),
    unsubscribe: input.hasUnsubscribe,
    isAutomatic: input.isAutomatic,
  }
  const { subject, text: bodyText, html: bodyHtml } = outgoing
  return makeHold(deps, {
    envelope,
    texts: { subject, bodyText, bodyHtml },
    reasons,
    findingHashes: judgement?.findingHashes ?? [],
    nowMs: check.nowMs,
  })
}

function fromOf({ displayName, address }: Inbox): string {
  return formatMailbox({ name: displayName ?? '', address })
}

function isCostly({ body, bodyHtml, format, ...input }: SendMessage): boolean {
  const length = body.length + (bodyHtml?.length ?? 0)
  const hasQuote = input.threadId !== null || input.forwarded !== undefined
  const isLong = format === 'markdown' || length > INLINE_HTML_LENGTH_MAX
  return input.attachments.length > 0 || hasQuote || isLong
}

function traitsOf(
  { hasUnsubscribe, isAutomatic, headers, forwarded, format }: SendMessage,
  { composition, isReply }: { composition: Composition; isReply: boolean },
) {
  return {
    isReply,
    hasUnsubscribe,
    isAutomatic,
    headers: [...headers],
    hasCalendar: composition.outgoing.attachments.some((file) => file.isAlternative),
    forwardedThreadId: forwarded?.threadId ?? null,
    format,
  }
}

async function findCheck(
  deps: SendDeps,
  input: SendMessage,
  { sender, replied, mayBeStale, recipients }: Attempt & { recipients: string[] },
): Promise<SendCheck> {
  const { inbox } = sender
  const { accountId, idempotencyKey: key, requestHash, forwarded } = input
  const nowMs = deps.clock.now()
  return {
    use: { accountId, key, requestHash: ownBytes(requestHash), nowMs },
    accountId,
    nowMs,
    inboxId: inbox.id,
    thread:
      replied === null
        ? { kind: 'new', id: deps.makeId('thr') }
        : {
            kind: 'reply',
            id: replied.thread.id,
            messageCount: mayBeStale ? null : replied.thread.messageCount,
          },
    lease: { tokenHash: input.leaseTokenHash, queueMs: deps.queueClock.now() },
    ...(forwarded !== undefined && { forwardedThreadId: forwarded.threadId }),
    recipientKeys: recipients.map(addressKey),
    coldRecipients: await findColdRecipients(deps, inbox, recipients),
    limits: limitsOf(deps, sender, nowMs),
    holdAbovePerHour: null,
    isCounted: false,
    isWaiting: false,
    isHeld: false,
  }
}

async function compose(
  deps: SendDeps,
  input: SendMessage,
  {
    accepting: { attempt, addressees, check, composition },
    made,
  }: {
    accepting: Accepting
    made: { messageId: string; rfcMessageId: string; nowMs: number }
  },
): Promise<{ raw: Uint8Array; needsSmtpUtf8: boolean }> {
  const { recipients } = addressees
  const { accountId, inboxId, hasUnsubscribe } = input
  const { messageId, rfcMessageId, nowMs } = made
  const [address = ''] = recipients
  const composed = await composeMessage({
    ...composition.outgoing,
    messageId: rfcMessageId,
    dateMs: nowMs,
    hopMark: hopMarkOf(deps, inboxId),
    unsubscribeUrl: hasUnsubscribe ? unsubscribeUrl(deps, { accountId, address, messageId }) : null,
  })
  // A message that starts a thread is composed again only to be held for the hourly limit.
  if (attempt.replied === null && check.holdAbovePerHour === null)
    for (const { content } of input.attachments) freeMemory(content)
  const needsSmtpUtf8 = composed.needsSmtpUtf8 || recipients.some(isInternational)
  return { raw: composed.raw, needsSmtpUtf8 }
}

/** Throws `payload_too_large` for a composed message of more than 25 MiB. */
export function checkSize(bytes: number, fix = 'Send fewer or smaller attachments.'): void {
  if (bytes <= SENT_BYTES_MAX) return
  const text = 'The composed message would be larger than 25 MiB.'
  throw problem('payload_too_large', text, { fix })
}

async function listAttachments(
  deps: SendDeps,
  input: SendMessage,
  raw: Uint8Array,
): Promise<readonly ParsedAttachment[]> {
  if (input.attachments.length === 0 && !input.invite) return []
  return (await deps.parser.parse(raw)).attachments
}

function contentOf(
  input: SendMessage,
  { inbox, attachments }: ComposingSender,
  {
    composition,
    addressees,
    rfcMessageId,
  }: { composition: Composition; addressees: Addressees; rfcMessageId: string },
): MessageContent {
  const { outgoing, ownText } = composition
  const { text, html } = outgoing
  return {
    rfc_message_id: rfcMessageId,
    message_key: messageIdKey(rfcMessageId),
    receipt_key: null,
    from_addr: fromOf(inbox),
    header_to: null,
    cc: JSON.stringify(addressees.cc),
    bcc: null,
    reply_to: input.replyTo,
    recipient_names: namesColumn(addressees.names),
    reference_ids: JSON.stringify(outgoing.references),
    in_reply_to: outgoing.inReplyTo,
    subject: outgoing.subject,
    body_length: text.length + html.length,
    body_text: text,
    body_html: html,
    extracted_text: ownText === text ? null : ownText,
    attachments: JSON.stringify(attachments ?? []),
    authentication: null,
    automatic_reason: null,
    category: null,
    judgement: null,
    invites: null,
    defects: '[]',
  }
}

export function checkSendAt({ clock }: { clock: Clock }, sendAtMs: number | null): void {
  if (sendAtMs === null) return
  const aheadMs = sendAtMs - clock.now()
  if (aheadMs >= SCHEDULED_MS_MIN && aheadMs <= SCHEDULED_MS_MAX) return
  throw wrongField('sendAt', 'must be 1 minute to 90 days ahead')
}

/** With a link for several recipients, each could unsubscribe the others. */
export function checkUnsubscribe(
  input: Pick<SendMessage, 'hasUnsubscribe' | 'to' | 'cc' | 'bcc'>,
  recipients: string[],
): void {
  if (!input.hasUnsubscribe) return
  const [own, ...others] = new Set(recipients.map(addressKey))
  const other = recipients.find((address) => addressKey(address) !== own)
  if (others.length === 0 || other === undefined) return
  const isAsked = (addresses: readonly string[] | null) =>
    addresses?.some((address) => addressKey(address) === addressKey(other)) === true
  if (isAsked(input.to)) {
    throw wrongField(
      'to',
      'must be one address with unsubscribe, because the link is for one recipient',
    )
  }
  const named = (['cc', 'bcc'] as const).find((name) => isAsked(input[name]))
  const reason =
    named === undefined
      ? `but a reply in this thread also goes to ${other}`
      : 'because the link is for one recipient'
  throw wrongField(named ?? 'cc', `must be empty with unsubscribe, ${reason}`)
}

export async function checkReplyTo(
  deps: { db: Db },
  account: Account,
  replyTo: string | null,
): Promise<void> {
  if (replyTo === null || account.plan !== 'free') return
  if ((await findOwnInbox(deps.db, account.id, replyTo)) !== null) return
  throw problem(
    'feature_requires_paid_plan',
    'On the free plan, replyTo must be the address of an inbox of the account.',
    {
      fields: { feature: 'external_reply_to' },
      fix: `Omit replyTo, or ask the operator to run: ${setPlanCommandOf(account.id, 'developer')}`,
    },
  )
}

function answerOf(
  deps: RefusalDeps,
  outcome: Settled,
): { isReplay: boolean; response: store.SendAnswer } {
  switch (outcome.kind) {
    case 'queued':
    case 'waiting':
      return { isReplay: false, response: outcome.answer }
    case 'replay':
      return { isReplay: true, response: outcome.answer }
    default:
      throw problemOf(deps, outcome)
  }
}

function problemOf(deps: RefusalDeps, outcome: Settled): unknown {
  switch (outcome.kind) {
    case 'storage_full':
      return storageFull(deps)
    case 'rejected':
      return outcome.problem
    case 'key_reused':
      return problem('idempotency_key_reused')
    case 'queued':
    case 'waiting':
    case 'replay':
    case 'checked':
      return new Error(`${outcome.kind} is not a refusal`)
    default:
      return refusalOf(deps, outcome)
  }
}
