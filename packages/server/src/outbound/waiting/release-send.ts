// Releases held and scheduled sends when they are due or approved, and ends those that will never
// be sent.

import { withDate } from '@mailroom/mail/compose/compose-message.ts'
import { approverDeleted } from '#accounts/keys/keys.ts'
import { findAccount } from '#accounts/store/accounts.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { rejectSend, tooManyPerHour } from '#outbound/send/apply-policy.ts'
import { refusalOf } from '#outbound/send/send-refusal.ts'
import {
  deliveriesOf,
  findColdRecipients,
  findSendingDomain,
  limitsOf,
  type SendDeps,
  type Sender,
  sentRaw,
  sign,
} from '#outbound/send/sender.ts'
import type { LimitCheck } from '#outbound/send/store/check-send.ts'
import {
  type Approval,
  cancelSend,
  endWaiting,
  findWaiting,
  listDueSends,
  postponeSend,
  type Release,
  type ReleaseOutcome,
  releaseWaiting,
  type WaitingEnvelope,
  type WaitingSend,
} from '#outbound/waiting/store/waiting-sends.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { addressKey } from '#platform/email-address.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { judgeApproved, type SendJudgement } from '#policy/policy.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { Store } from '#store/store.ts'
import { type Due, holdDue, judgeWaiting } from './judge-waiting.ts'

/** The number is small because each release signs a message. */
const DUE_AT_ONCE = 8
const DUE_PER_LOOK = 64
/**
 * Sends per account and round. They serialize on the account's counters, so a larger batch would
 * stall other accounts.
 */
const DUE_PER_TURN = 16
const ACCOUNTS_PER_ROUND = 256
/** After a failure, the retry delay equals the time since the send was due, within these bounds. */
const RELEASE_RETRY_MS_MIN = 10 * SECOND_MS
const RELEASE_RETRY_MS_MAX = 5 * MINUTE_MS

export function sendWork(deps: SendDeps): FeatureWork {
  return {
    tasks: [
      {
        name: 'scheduled sends',
        everyMs: SECOND_MS,
        by: 'leader',
        run: (signal) => releaseDueSends(deps, signal),
      },
    ],
  }
}

/**
 * Releases due sends, some of each account, and returns true if there may be more. A refused send
 * fails with the code of its refusal; after an internal error it is retried. Several processes may
 * run this. Rejects only if the store fails.
 */
async function releaseDueSends(deps: SendDeps, signal: AbortSignal): Promise<boolean> {
  const turns = new Map<string, number>()
  while (!signal.aborted && turns.size < ACCOUNTS_PER_ROUND) {
    const look = { nowMs: deps.clock.now(), except: [...turns.keys()], limit: DUE_PER_LOOK }
    const due = (await listDueSends(deps.db, look)).filter(({ account_id }) => {
      const count = (turns.get(account_id) ?? 0) + 1
      turns.set(account_id, count)
      return count <= DUE_PER_TURN
    })
    if (due.length === 0) break
    for (let at = 0; at < due.length && !signal.aborted; at += DUE_AT_ONCE) {
      const some = due.slice(at, at + DUE_AT_ONCE)
      const outcomes = await Promise.allSettled(some.map((waiting) => releaseDue(deps, waiting)))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    }
  }
  return turns.size > 0
}

async function releaseDue(deps: SendDeps, waiting: WaitingSend): Promise<void> {
  const { account_id: accountId, message_id: messageId } = waiting
  try {
    if (!(await releaseSend(deps, { waiting, approval: null }))) await postpone(deps, waiting)
  } catch (error) {
    if (!isRefusal(error)) {
      deps.log.warn(
        { error, message: messageId },
        'a scheduled message could not be sent and will be retried',
      )
      await postpone(deps, waiting)
      return
    }
    await deps.db.write(endWaiting, {
      accountId,
      messageId,
      failureReason: error.code,
      reviewId: null,
      review: { status: 'rejected', decidedBy: null, reason: error.code },
      event: { id: deps.makeId('evt'), kind: 'message.failed' },
      nowMs: deps.clock.now(),
    })
    deps.wakeEvents()
  }
}

/** Internal errors are not refusals, nor are files that another process has replaced. */
function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && !['service_unavailable', 'not_found'].includes(error.code)
}

/** Moves a send that failed behind other due ones. */
async function postpone(deps: SendDeps, waiting: WaitingSend): Promise<void> {
  await deps.db.write(postponeSend, {
    accountId: waiting.account_id,
    messageId: waiting.message_id,
    nowMs: deps.clock.now(),
    delayMsMin: RELEASE_RETRY_MS_MIN,
    delayMsMax: RELEASE_RETRY_MS_MAX,
  })
}

export async function approveHeld(
  deps: SendDeps,
  {
    accountId,
    messageId,
    approval,
    allowed,
  }: {
    accountId: string
    messageId: string
    approval: Approval
    /** Recipients for whom the inbox gets rules that allow them. */
    allowed: readonly string[]
  },
): Promise<boolean> {
  const waiting = await findWaiting(deps.db, { accountId, messageId })
  if (waiting === null) return false
  if (allowed.length === 0) return releaseSend(deps, { waiting, approval })
  const inbox = await findInbox(deps.db, accountId, waiting.inbox_id)
  if (inbox === null) return false
  const rules = [...new Set(allowed.map(addressKey))].map((value) => ({
    value,
    ruleId: deps.makeId('rul'),
    auditId: deps.makeId('aud'),
  }))
  const allow = { podId: inbox.podId, rules }
  return releaseSend(deps, { waiting, approval: { ...approval, allow } })
}

/**
 * Queues a waiting send, or lets an approved one wait for its time. Returns false if the send no
 * longer waits. Throws `review_changed`, and every error that a new send can throw.
 */
async function releaseSend(
  deps: SendDeps,
  { waiting, approval }: { waiting: WaitingSend; approval: Approval | null },
): Promise<boolean> {
  const { account_id: accountId, message_id: messageId } = waiting
  const nowMs = deps.clock.now()
  const [inbox, account, message] = await Promise.all([
    findInbox(deps.db, accountId, waiting.inbox_id),
    findAccount(deps.db, accountId),
    findMessage(deps.db, accountId, messageId, { lengthMax: 0 }),
  ])
  // The waiting sends of a deleted inbox are removed with it.
  if (inbox === null || account === null || message === null) return false
  const sender = { inbox, account, domain: await findSendingDomain(deps, inbox) }
  const envelope = JSON.parse(waiting.envelope) as WaitingEnvelope
  const due = { inbox, messageId, envelope }
  const judgement = approval === null ? await judgeDue(deps, { waiting, due, message }) : null
  if (judgement?.decision === 'reject') {
    throw await rejectSend(deps, { inbox, recipients: envelope.recipients, messageId, judgement })
  }
  if (judgement?.decision === 'hold') return holdDue(deps, due, judgement)
  const holdAbovePerHour = judgement?.holdAbovePerHour ?? null
  const isCounted = waiting.is_counted === 1
  const limited = { nowMs, holdAbovePerHour, isCounted }
  const check = await checkOf(deps, sender, { message, envelope, ...limited })
  const isDue = waiting.release_at === null || waiting.release_at <= nowMs
  const release = { ...check, messageId, rawId: message.rawId, approval }
  const outcome = isDue
    ? await queue(deps, sender, { release, message, envelope })
    : await deps.db.write(releaseWaiting, { ...release, queued: null })
  if (outcome.kind === 'gone') return false
  if (outcome.kind === 'review_changed') {
    throw problem('review_changed', undefined, { fields: { digest: outcome.digest } })
  }
  if (outcome.kind === 'approver_deleted') throw approverDeleted()
  if (outcome.kind === 'too_many_rules') throw problem('recipient_rule_limit_reached')
  if (outcome.kind === 'too_many_per_hour') {
    return holdDue(deps, due, { reasons: [tooManyPerHour(outcome.limit)], findingHashes: [] })
  }
  if (outcome.kind !== 'released') throw refusalOf(deps, outcome)
  await removeBlobs(deps, outcome.blobIds)
  if (isDue) deps.wakeDelivery()
  return true
}

/** After an approval, only rules that are newer can stop a send. */
function judgeDue(
  deps: SendDeps,
  { waiting, due, message }: { waiting: WaitingSend; due: Due; message: Message },
): Promise<SendJudgement | null> {
  const approvedAtMs = waiting.approved_at
  if (approvedAtMs === null) return judgeWaiting(deps, due)
  const { inbox, envelope } = due
  const { to, cc, bcc, replyTo } = message
  const addressed = { to, cc, bcc, replyTo, headers: envelope.headers }
  return judgeApproved(deps, { inbox, message: addressed, approvedAtMs })
}

type Releasing = { message: Message; envelope: WaitingEnvelope }

async function checkOf(
  deps: SendDeps,
  sender: Sender,
  {
    message,
    envelope,
    nowMs,
    holdAbovePerHour,
    isCounted,
  }: Releasing & Pick<LimitCheck, 'nowMs' | 'holdAbovePerHour' | 'isCounted'>,
): Promise<LimitCheck> {
  const { inbox } = sender
  return {
    accountId: inbox.accountId,
    nowMs,
    inboxId: inbox.id,
    thread: { kind: 'reply', id: message.threadId, messageCount: null },
    lease: null,
    recipientKeys: envelope.recipients.map(addressKey),
    coldRecipients: await findColdRecipients(deps, inbox, envelope.recipients),
    limits: limitsOf(deps, sender, nowMs),
    holdAbovePerHour,
    isCounted,
  }
}

async function queue(
  deps: SendDeps,
  sender: Sender,
  { release, message, envelope }: Releasing & { release: Omit<Release, 'queued'> },
): Promise<ReleaseOutcome> {
  const { nowMs } = release
  const unsigned = withDate(await readRawBytes(deps, message.rawId), nowMs)
  const raw = await sign(deps, sender, unsigned, nowMs)
  return withRawBytes(deps, raw, {
    write: (row) =>
      deps.db.write(releaseWaiting, {
        ...release,
        queued: {
          raw: sentRaw(row, sender.inbox, nowMs),
          deliveries: deliveriesOf(deps, sender, {
            message_id: release.messageId,
            raw_id: row.id,
            size_bytes: raw.length,
            needs_smtputf8: envelope.needsSmtpUtf8 ? 1 : 0,
            created_at: nowMs,
            recipients: envelope.recipients,
          }),
        },
      }),
    isKept: ({ kind }) => kind === 'released',
  })
}

/** Throws `not_found`, or `already_sending` once the first attempt has begun. */
export async function cancelMessage(
  deps: Store,
  input: { accountId: string; messageId: string },
): Promise<void> {
  const message = await findMessage(deps.db, input.accountId, input.messageId, { lengthMax: 0 })
  if (message === null) throw notFound()
  const eventId = deps.makeId('evt')
  const outcome = await deps.db.write(cancelSend, { ...input, eventId, nowMs: deps.clock.now() })
  if (outcome === 'already_sending') throw problem('already_sending')
  deps.wakeEvents()
}
