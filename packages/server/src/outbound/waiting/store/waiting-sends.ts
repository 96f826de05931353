// Accepted sends that are not queued yet, because they wait for their time, for approval, or both.

import { type BodyFormat, type EventKind, POLICY_RULES_MAX } from '@mailroom/contract/vocabulary.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import { lockApprover } from '#accounts/store/approvers.ts'
import { insertAudit, type NewAuditEntry } from '#accounts/store/audit.ts'
import { insertEvents } from '#events/store/append.ts'
import { CANCELLED } from '#mailbox/messages/store/messages.ts'
import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { changeInboxes, NO_CHANGE } from '#mailbox/messages/store/write-messages.ts'
import { insertDeliveries, type NewDelivery } from '#outbound/deliveries/store/deliveries.ts'
import { eventsOf, lockSentMessages, type MessageIds } from '#outbound/deliveries/store/settle.ts'
import {
  type AllowedSend,
  checkRelease,
  countSend,
  type LimitCheck,
  type LimitRefusal,
  lockCounters,
} from '#outbound/send/store/check-send.ts'
import { noteWrittenTo } from '#outbound/send/store/written-to.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { noteAddedRule } from '#policy/store/change-policy.ts'
import { addRule } from '#policy/store/rules.ts'
import {
  endReview,
  findDigest,
  insertReview,
  type NewHold,
} from '#reviews/store/pending-reviews.ts'
import type { NewRow, ReadDb, Row, Tx } from '#store/tables.ts'
import { refuseHeld } from './check-waiting.ts'

export type ReviewedFile = {
  readonly filename: string
  readonly contentType: string
  readonly contentId: string | null
  readonly sha256: string
}

export type WaitingEnvelope = {
  recipients: string[]
  needsSmtpUtf8: boolean
  headers: { name: string; value: string }[]
  attachments: readonly ReviewedFile[]
  isReply: boolean
  hasUnsubscribe: boolean
  isAutomatic: boolean
  /**
   * Whether the first calendar is another version of the body. Absent in sends that were accepted by
   * earlier versions.
   */
  hasCalendar?: boolean
  /** Absent in sends that were accepted by earlier versions. */
  forwardedThreadId?: string | null
  format?: BodyFormat
}

export type NewWaiting = {
  envelope: WaitingEnvelope
  /** Null if the send is released as soon as it is approved. */
  releaseAtMs: number | null
  /** Whether the send waits only so that it can be cancelled. It is counted when it is accepted. */
  isForUndo: boolean
  hold: NewHold | null
}

/** The caller must store the message in the same transaction. */
export async function insertWaiting(
  tx: Tx,
  message: MessageIds,
  waiting: NewWaiting & { nowMs: number },
): Promise<void> {
  const { envelope, releaseAtMs, isForUndo, hold, nowMs } = waiting
  await tx.query
    .insertInto('waiting_sends')
    .values({
      message_id: message.id,
      account_id: message.account_id,
      inbox_id: message.inbox_id,
      release_at: releaseAtMs,
      review_id: hold?.reviewId ?? null,
      is_counted: hold !== null || isForUndo ? 1 : 0,
      envelope: JSON.stringify(envelope),
      created_at: nowMs,
    })
    .execute()
  if (hold !== null) await holdMessage(tx, message, { hold, nowMs })
}

async function holdMessage(
  tx: Tx,
  message: MessageIds,
  { hold, nowMs }: { hold: NewHold; nowMs: number },
): Promise<void> {
  await insertReview(tx, message, { hold, nowMs })
  const { reviewId: id, reasons, digest, expiresAtMs, eventId } = hold
  const expires_at = new Date(expiresAtMs).toISOString()
  const details = { hold: { id, reasons, digest, expires_at } }
  await recordEvent(tx, message, { id: eventId, kind: 'message.held', details, nowMs })
}

export async function recordEvent(
  tx: Tx,
  message: MessageIds,
  {
    nowMs,
    ...event
  }: { id: string; kind: EventKind; details: Record<string, unknown> | null; nowMs: number },
): Promise<void> {
  const traceParent = tx.traceParent ?? null
  await insertEvents(tx, eventsOf({ message, traceParent, nowMs }, event))
}

export type WaitingSend = Row<'waiting_sends'>

/** Lists due sends that are not held, most overdue first, without the accounts in `except`. */
export async function listDueSends(
  db: ReadDb,
  { nowMs, except, limit }: { nowMs: number; except: readonly string[]; limit: number },
): Promise<WaitingSend[]> {
  const due = db.read
    .selectFrom('waiting_sends')
    .selectAll()
    .where('review_id', 'is', null)
    .where('release_at', '<=', nowMs)
    .orderBy('release_at')
    .limit(limit)
  return (except.length === 0 ? due : due.where('account_id', 'not in', except)).execute()
}

/** The delay equals the time since the send was due, within the bounds. */
export const postponeSend = transaction({
  name: 'postponeSend',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    input: {
      accountId: string
      messageId: string
      nowMs: number
      delayMsMin: number
      delayMsMax: number
    },
  ): Promise<void> {
    const { accountId, messageId, nowMs, delayMsMin, delayMsMax } = input
    const message = await tx.query
      .selectFrom('messages')
      .select('scheduled_at')
      .where('id', '=', messageId)
      .executeTakeFirst()
    const lateMs = nowMs - (message?.scheduled_at ?? nowMs)
    await tx.query
      .updateTable('waiting_sends')
      .set({ release_at: nowMs + Math.min(Math.max(lateMs, delayMsMin), delayMsMax) })
      .where('message_id', '=', messageId)
      .where('account_id', '=', accountId)
      .where('review_id', 'is', null)
      .where('release_at', '<=', nowMs)
      .execute()
  },
})

export async function findWaiting(
  db: ReadDb,
  { accountId, messageId }: { accountId: string; messageId: string },
): Promise<WaitingSend | null> {
  const row = await db.read
    .selectFrom('waiting_sends')
    .selectAll()
    .where('message_id', '=', messageId)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? null
}

/** Lists sends by due time, including those that also wait for approval. */
export async function listScheduled(
  db: ReadDb,
  input: { accountId: string; inboxId: string; limit: number; offset: number },
): Promise<{ messageIds: string[]; total: number }> {
  const scheduled = db.read
    .selectFrom('waiting_sends')
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .where('release_at', 'is not', null)
  const rows = await scheduled
    .select('message_id')
    .orderBy('release_at')
    .orderBy('message_id')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const { total } = await scheduled
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { messageIds: rows.map(({ message_id }) => message_id), total: Number(total) }
}

export type Approval = {
  reviewId: string
  approverId: string
  digest: string
  /** Rules that the approval adds to the inbox. */
  allow?: { podId: string; rules: readonly AllowRule[] }
}

export type Release = LimitCheck & {
  messageId: string
  /** The stored message that was read. An edit replaces it, even if the digest is the same again. */
  rawId: string
  approval: Approval | null
  /** The signed message and its deliveries, or null if it still waits for its time. */
  queued: {
    raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
    deliveries: NewDelivery[]
  } | null
}

export type ReleaseOutcome =
  | { kind: 'released'; blobIds: string[] }
  /** The send was released, held, cancelled or decided by another transaction. */
  | { kind: 'gone' }
  | { kind: 'review_changed'; digest: string }
  | { kind: 'approver_deleted' }
  /** The account has no room for the rules that the approval adds. */
  | { kind: 'too_many_rules' }
  | LimitRefusal

/**
 * Checks the limits again and queues a waiting send, or lets it wait for its time. Deciding the
 * review is part of the transaction. A refusal changes nothing.
 */
export const releaseWaiting = transaction({
  name: 'releaseWaiting',
  accountOf: ({ accountId, approval }) => approval?.approverId ?? accountId,
  async run(tx: Tx, input: Release): Promise<ReleaseOutcome> {
    const { accountId, approval, nowMs } = input
    // Changes of policy lock the account before anything else.
    const account = approval?.allow === undefined ? null : await lockAccount(tx, accountId)
    // Counters are locked first, as in every transaction that sends.
    const checked = await checkRelease(tx, input)
    const [message] = (await lockSentMessages(tx, [input.messageId])).values()
    const waiting = await lockWaiting(tx, input)
    if (waiting === null || waiting.review_id !== (input.approval?.reviewId ?? null)) {
      return { kind: 'gone' }
    }
    if (approval !== null) {
      const { approverId } = approval
      if (!(await lockApprover(tx, { accountId, approverId }))) return { kind: 'approver_deleted' }
      const digest = await findDigest(tx, approval.reviewId)
      if (digest !== approval.digest || message?.raw_id !== input.rawId) {
        return { kind: 'review_changed', digest }
      }
    }
    if (checked.kind !== 'allowed') return checked
    if (approval?.allow !== undefined && account !== null) {
      const isAllowed = await allowRecipients(tx, input, { account, allow: approval.allow })
      if (!isAllowed) return { kind: 'too_many_rules' }
    }
    if (approval !== null) {
      const decision = { status: 'approved', decidedBy: approval.approverId, reason: null } as const
      await endReview(tx, approval.reviewId, { ...decision, nowMs })
    }
    if (input.queued === null) {
      await tx.query
        .updateTable('waiting_sends')
        .set({ review_id: null, approved_at: nowMs })
        .where('message_id', '=', input.messageId)
        .execute()
      return { kind: 'released', blobIds: [] }
    }
    // An approval covers one message and does not make its recipients known to the inbox.
    const makesKnown = approval === null && waiting.approved_at === null
    const { queued } = input
    return {
      kind: 'released',
      blobIds: await queueWaiting(tx, input, { queued, checked, makesKnown }),
    }
  },
})

type AllowRule = { ruleId: string; auditId: string; value: string }

/** Returns false without changes if the account has no room for the rules. */
async function allowRecipients(
  tx: Tx,
  { accountId, inboxId, approval, nowMs }: Release,
  {
    account,
    allow: { podId, rules },
  }: { account: Row<'accounts'>; allow: NonNullable<Approval['allow']> },
): Promise<boolean> {
  if (account.recipient_rule_count + rules.length > POLICY_RULES_MAX) return false
  const actor = { kind: 'approver', approverId: approval?.approverId ?? '' } as const
  const scope = { pod_id: podId, inbox_id: inboxId }
  for (const { ruleId, auditId, value } of rules) {
    const terms = { needs_verified: 0, expires_at: null, note: null }
    const rule = { id: ruleId, type: 'allow', value, ...terms } as const
    const added = await addRule(tx, 'outbound', { account, scope, rule, nowMs })
    if (added === null) return false
    const change = { accountId, actor, nowMs, direction: 'outbound', auditId } as const
    await noteAddedRule(tx, change, added)
  }
  return true
}

async function queueWaiting(
  tx: Tx,
  input: Release,
  {
    queued: { raw, deliveries },
    checked,
    makesKnown,
  }: { queued: NonNullable<Release['queued']>; checked: AllowedSend; makesKnown: boolean },
): Promise<string[]> {
  const { messageId, inboxId } = input
  await deleteWaiting(tx, input)
  const message = await tx.query
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select(['messages.raw_id', 'raw_messages.size_bytes'])
    .where('messages.id', '=', messageId)
    .executeTakeFirstOrThrow()
  await tx.query
    .insertInto('raw_messages')
    .values({ ...raw, reference_count: 1 })
    .execute()
  await tx.query
    .updateTable('messages')
    .set({ raw_id: raw.id })
    .where('id', '=', messageId)
    .execute()
  await tx.query
    .updateTable('long_bodies')
    .set({ raw_id: raw.id })
    .where('raw_id', '=', message.raw_id)
    .execute()
  const stored_bytes = raw.size_bytes - message.size_bytes
  await changeInboxes(tx, { counters: [{ ...NO_CHANGE, inbox_id: inboxId, stored_bytes }] })
  await insertDeliveries(tx, deliveries)
  if (makesKnown) await noteWrittenTo(tx, input)
  await countSend(tx, input, checked)
  return dropRawReferences(tx, [message.raw_id])
}

export async function lockWaiting(
  tx: Tx,
  input: { accountId: string; messageId: string },
): Promise<WaitingSend | null> {
  const selected = tx.query
    .selectFrom('waiting_sends')
    .selectAll()
    .where('message_id', '=', input.messageId)
    .where('account_id', '=', input.accountId)
  return (await lockRows(tx, selected).executeTakeFirst()) ?? null
}

async function deleteWaiting(
  tx: Tx,
  { accountId, messageId }: { accountId: string; messageId: string },
): Promise<void> {
  await tx.query
    .deleteFrom('waiting_sends')
    .where('message_id', '=', messageId)
    .where('account_id', '=', accountId)
    .execute()
}

/**
 * Returns false if the send no longer waits, was held or approved, or the inbox already has
 * `heldMax` messages that wait for approval.
 */
export const holdWaiting = transaction({
  name: 'holdWaiting',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: {
      accountId: string
      inboxId: string
      messageId: string
      heldMax: number
      hold: NewHold
      audit: NewAuditEntry
      nowMs: number
    },
  ): Promise<boolean> {
    const { messageId, hold, nowMs } = input
    // Transactions that hold a send run one after the other, so that the limit is exact.
    await lockCounters(tx, input)
    if ((await refuseHeld(tx, input)) !== null) return false
    const [message] = (await lockSentMessages(tx, [messageId])).values()
    const waiting = await lockWaiting(tx, input)
    if (message === undefined || waiting === null) return false
    if (waiting.review_id !== null || waiting.approved_at !== null) return false
    await tx.query
      .updateTable('waiting_sends')
      .set({ review_id: hold.reviewId })
      .where('message_id', '=', messageId)
      .execute()
    await holdMessage(tx, message, { hold, nowMs })
    await insertAudit(tx, [input.audit])
    return true
  },
})

type WaitingEnd = {
  accountId: string
  messageId: string
  failureReason: string
  /** If this is null, the send ends whether it is held or not. */
  reviewId: string | null
  review: { status: 'rejected' | 'expired'; decidedBy: string | null; reason: string | null }
  event: { id: string; kind: 'message.failed' | 'message.rejected' }
  nowMs: number
}

/** The result is `gone` if the send no longer waits. */
export const endWaiting = transaction({
  name: 'endWaiting',
  accountOf: ({ accountId, review }) => review.decidedBy ?? accountId,
  essential: true,
  run: endWaitingIn,
})

type WaitingEnded = 'ended' | 'gone' | 'approver_deleted'

async function endWaitingIn(tx: Tx, input: WaitingEnd): Promise<WaitingEnded> {
  const { accountId, messageId, failureReason, review, event, nowMs } = input
  const { status, decidedBy, reason } = review
  const [message] = (await lockSentMessages(tx, [messageId])).values()
  const waiting = await lockWaiting(tx, input)
  if (message === undefined || waiting === null) return 'gone'
  if (input.reviewId !== null && waiting.review_id !== input.reviewId) return 'gone'
  if (decidedBy !== null && !(await lockApprover(tx, { accountId, approverId: decidedBy }))) {
    return 'approver_deleted'
  }
  await deleteWaiting(tx, input)
  await failMessage(tx, messageId, failureReason)
  let details: Record<string, unknown> | null = null
  if (waiting.review_id !== null) {
    await endReview(tx, waiting.review_id, { status, decidedBy, reason, nowMs })
    details = { review: { id: waiting.review_id, status, reason } }
  }
  await recordEvent(tx, message, { ...event, details, nowMs })
  return 'ended'
}

async function failMessage(tx: Tx, messageId: string, failureReason: string): Promise<void> {
  await tx.query
    .updateTable('messages')
    .set({ status: 'failed', failure_reason: failureReason })
    .where('id', '=', messageId)
    .execute()
}

/** Idempotent. The result is `already_sending` after the first attempt. */
export const cancelSend = transaction({
  name: 'cancelSend',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    input: { accountId: string; messageId: string; eventId: string; nowMs: number },
  ): Promise<'cancelled' | 'already_sending'> {
    const { messageId, eventId, nowMs } = input
    const review = { status: 'rejected', decidedBy: null, reason: CANCELLED } as const
    const event = { id: eventId, kind: 'message.failed' } as const
    const end = { ...input, failureReason: CANCELLED, reviewId: null, review, event }
    if ((await endWaitingIn(tx, end)) === 'ended') return 'cancelled'
    const [message] = (await lockSentMessages(tx, [messageId])).values()
    if (message === undefined || message.account_id !== input.accountId) return 'already_sending'
    if (message.status === 'failed' && message.failure_reason === CANCELLED) return 'cancelled'
    const deliveries = tx.query
      .selectFrom('deliveries')
      .select(['id', 'queue_state', 'attempts'])
      .where('message_id', '=', messageId)
      .orderBy('id')
    const rows = await lockRows(tx, deliveries).execute()
    const isUntouched = rows.every((row) => row.queue_state === 'ready' && row.attempts === 0)
    if (rows.length === 0 || !isUntouched) return 'already_sending'
    await tx.query
      .updateTable('deliveries')
      .set({ queue_state: null, status: 'failed', next_attempt_at: null, response: CANCELLED })
      .where('message_id', '=', messageId)
      .execute()
    await failMessage(tx, messageId, CANCELLED)
    await recordEvent(tx, message, { ...event, details: null, nowMs })
    return 'cancelled'
  },
})
